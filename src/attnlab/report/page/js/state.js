/* What the reader chose, kept in the address behind '#', so that a link shows the same view. */
"use strict";
(() => {
  const START = {
    comparison: "",
    filters: {},
    group: "",
    average: false,
    kind: "source_words",
    difference: false,
    lines: 12,
    query: "",
    sort: "bleu",
    descending: true,
    page: 0,
    off: [],
    row: "",
    sentence: 0,
    shown: 4,
    cost: "",
    metric: "",
    tests: "",
    controlled: false,
    testSort: "p_holm",
    testDescending: false,
    effect: "",
  };
  const listeners = [];
  const state = { ...structuredClone(START), ...read() };

  function read() {
    const found = {};
    const parts = new URLSearchParams(location.hash.slice(1));
    for (const [key, text] of parts) {
      if (key.startsWith("f.")) (found.filters ??= {})[key.slice(2)] = unpack(text);
      else if (!Object.hasOwn(START, key) || key === "filters") continue;
      else if (Array.isArray(START[key])) found[key] = unpack(text);
      else if (typeof START[key] === "boolean") found[key] = text === "1";
      else if (typeof START[key] === "number") found[key] = Math.max(0, Number.parseInt(text, 10) || 0);
      else found[key] = text;
    }
    return found;
  }

  function write() {
    const parts = new URLSearchParams();
    for (const [axis, options] of Object.entries(state.filters))
      if (options.length) parts.set(`f.${axis}`, pack(options));
    for (const [key, start] of Object.entries(START)) {
      const value = state[key];
      if (key === "filters" || JSON.stringify(value) === JSON.stringify(start)) continue;
      parts.set(key, Array.isArray(value) ? pack(value) : typeof value === "boolean" ? Number(value) : value);
    }
    const text = parts.toString();
    if (text !== location.hash.slice(1))
      history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  /* Lists in one parameter: a comma parts, and one inside a value is doubled by a backslash. */
  function pack(values) {
    return values.map((value) => value.replace(/[\\,]/g, "\\$&")).join(",");
  }

  function unpack(text) {
    return text ? (text.match(/(?:\\.|[^,\\])+/gu) ?? []).map((value) => value.replace(/\\(.)/gu, "$1")) : [];
  }

  /* Takes over some choices and tells who listens which ones changed. */
  function choose(patch) {
    const changed = new Set();
    for (const [key, value] of Object.entries(patch)) {
      if (JSON.stringify(state[key]) !== JSON.stringify(value)) changed.add(key);
      state[key] = value;
    }
    if (!changed.size) return;
    write();
    for (const run of listeners) run(changed);
  }

  addEventListener("hashchange", () => choose({ ...structuredClone(START), ...read() }));

  Object.assign(attnlab, { state, choose, onChoice: (run) => listeners.push(run) });
})();
