/* The tests: which pairs differ, by how much and how surely; controlled ones differ in one factor only. */
"use strict";
(() => {
  const {
    state,
    choose,
    h,
    count,
    signed,
    interval,
    probability,
    missing,
    scrolled,
    difference,
    whisker,
    factorSign,
    sortHead,
  } = attnlab;
  const SHOWN = 100; // lines at once
  const NAMES = { bleu: "BLEU", chrf: "chrF" };
  const COLUMNS = [
    ["first", "First", (test) => test.first],
    ["second", "Second", (test) => test.second],
    ["delta", "Difference", (test) => test.delta],
    ["range", "Interval", (test) => test.low],
    ["p_bootstrap", "p, bootstrap", (test) => test.p_bootstrap],
    ["p_randomisation", "p, randomisation", (test) => test.p_randomisation],
    ["p_holm", "p, Holm", (test) => test.p_holm],
    ["differs", "Differs in", (test) => test.differs?.length ?? null],
  ];

  function comparisons(view, body) {
    const every = tests(view);
    if (!every.length) return false;
    const metrics = [...new Set(every.map((test) => test.metric))];
    const metric = metrics.includes(state.metric) ? state.metric : metrics[0];
    const all = every.filter((test) => test.metric === metric);
    const inView = new Set(view.rows.map((row) => row.key));
    const controllable = all.some((test) => test.differs);
    const words = state.tests.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all
      .filter(
        (test) => inView.has(test.firstKey) && (inView.has(test.secondKey) || test.secondKey === view.one.baseline),
      )
      .filter((test) => !state.controlled || test.differs?.length === 1)
      .filter((test) => words.every((word) => `${test.first} ${test.second}`.toLowerCase().includes(word)));
    const pick = COLUMNS.find(([id]) => id === state.testSort)?.[2] ?? COLUMNS[6][2];
    const sorted = found.toSorted((a, b) => compare(pick(a), pick(b)));
    const list = parts(body);
    body.querySelector(".check").hidden = !controllable;
    body.querySelector(".check input").checked = state.controlled;
    const search = body.querySelector(".search");
    if (document.activeElement !== search) search.value = state.tests;
    choices(body.querySelector("select"), metrics, metric);
    body.querySelector("output").textContent = `${sorted.length} of ${count(all.length, "test")}`;
    const most = extent(all);
    const stem = (view.one.files ?? "table").replace(/^table/, "tests");
    const focused = document.activeElement?.dataset?.focus;
    const table = scrolled(
      "Table of tests",
      h(
        "table",
        { class: "cells tests" },
        head(),
        h("tbody", {}, ...sorted.slice(0, SHOWN).map((test) => line(test, most))),
      ),
    );
    const left = sorted.length - SHOWN;
    list.replaceChildren(
      table,
      view.one.note_on_tests ? h("p", { class: "fine sentence-case" }, view.one.note_on_tests) : "",
      left > 0 ? h("p", { class: "fine" }, `The first ${SHOWN} in this order; all are in ${stem}.csv.`) : "",
    );
    if (focused) body.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    return true;
  }

  /* The place of the table, below a bar that is made once: its field keeps the cursor. */
  function parts(body) {
    if (!body.childElementCount) body.append(controls(), h("div", { class: "list" }));
    return body.querySelector(".list");
  }

  function compare(x, y) {
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    const order = typeof x === "string" ? x.localeCompare(y) : x - y;
    return state.testDescending ? -order : order;
  }

  /* The list of the data, or where only a baseline was tested against, the tests of the rows. */
  function tests(view) {
    const name = (key) => view.byKey.get(key)?.name ?? key;
    const given = view.one.tests?.length
      ? view.one.tests
      : view.one.rows
          .filter((row) => row.test)
          .map((row) => ({ metric: "bleu", first: row.key, second: view.one.baseline, ...row.test }));
    return given.map((test) => {
      const [low, high] = test.ci ?? [test.low ?? null, test.high ?? null];
      return {
        ...test,
        low,
        high,
        firstKey: test.first,
        secondKey: test.second,
        first: name(test.first),
        second: name(test.second),
        differs: test.differs ?? view.byKey.get(test.first)?.differs ?? null,
      };
    });
  }

  function controls() {
    const search = h("input", {
      type: "search",
      class: "search",
      value: state.tests,
      placeholder: "Search tests",
      "aria-label": "Search tests",
      on: { input: (event) => choose({ tests: event.target.value }) },
    });
    const only = h(
      "label",
      { class: "check" },
      h("input", {
        type: "checkbox",
        checked: state.controlled,
        on: { change: (event) => choose({ controlled: event.target.checked }) },
      }),
      "only pairs that differ in one factor",
    );
    const metric = h("select", {
      "aria-label": "Metric of the tests",
      on: { change: (event) => choose({ metric: event.target.value }) },
    });
    return h(
      "div",
      { class: "control-line" },
      search,
      metric,
      only,
      h("output", { class: "shown", "aria-live": "polite" }),
    );
  }

  function choices(select, metrics, metric) {
    select.hidden = metrics.length < 2;
    select.replaceChildren(
      ...metrics.map((name) => h("option", { value: name, selected: name === metric }, NAMES[name] ?? name)),
    );
  }

  function head() {
    const direction = state.testDescending ? "descending" : "ascending";
    const columns = COLUMNS.map(([id, label]) => {
      const sorted = id === state.testSort ? direction : null;
      const sort = () => choose({ testSort: id, testDescending: sorted ? !state.testDescending : id === "delta" });
      return sortHead({ label, text: ["first", "second"].includes(id), focus: `test=${id}`, sorted, sort });
    });
    return h("thead", {}, h("tr", {}, ...columns));
  }

  const extent = (all) =>
    d3.max(all.flatMap((test) => [test.low ?? test.delta, test.high ?? test.delta].map(Math.abs))) || 1;

  function line(test, most) {
    const digits = ["bleu", "chrf"].includes(test.metric) ? 2 : 4;
    const scale = d3.scaleLinear([-most, most], [3, 97]);
    const ci = missing(test.low) ? null : [test.low, test.high];
    const label = `${signed(test.delta, digits)} ${interval(ci, digits)}`;
    return h(
      "tr",
      {},
      h("th", { scope: "row", class: "name" }, test.first),
      h("td", { class: "name" }, test.second),
      h("td", { class: "number" }, difference({ ...test, ci }, digits)),
      h("td", { class: "number" }, ci ? whisker({ value: test.delta, ci, base: 0, scale, label }) : "–"),
      ...["p_bootstrap", "p_randomisation", "p_holm"].map((key) =>
        h("td", { class: "number" }, probability(test[key])),
      ),
      h("td", { class: "number" }, test.differs ? differing(test.differs) : "–"),
    );
  }

  function differing(factors) {
    return factors.length < 2 ? (factors[0] ?? "nothing") : factorSign(factors, `${factors.length} factors †`);
  }

  Object.assign(attnlab, { comparisons });
})();
