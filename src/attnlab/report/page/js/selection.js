/* Which rows are in view: filters by option, text search; and the groups that they fall into. */
"use strict";
(() => {
  const { data, state, words, mean } = attnlab;
  const OUTSIDE = "outside systems";
  const GROUPABLE = ["kind", "settings"];

  function comparison() {
    return data.comparisons.find((one) => one.id === state.comparison) ?? data.comparisons[0];
  }

  /* The option of a row on an axis, as text; null where the axis does not apply to it. */
  function option(row, axis) {
    if (axis === "kind")
      return { cell: "own cells", system: OUTSIDE, missing: "without numbers" }[row.kind] ?? row.kind;
    if (axis === "settings") return row.kind === "system" ? null : row.settings || "as all";
    return row.kind === "system" ? null : (row.axes[axis] ?? "none");
  }

  /* The axes on which the rows differ, each with its options by name, "none" last, and their counts. */
  function axes(one) {
    return [...data.axes, ...GROUPABLE]
      .map((axis) => {
        const counts = new Map();
        for (const row of one.rows) {
          const value = option(row, axis);
          if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
        }
        return {
          axis,
          label: { kind: "rows" }[axis] ?? words(axis),
          counts: axis === "kind" ? counts : new Map([...counts].sort(byName)),
        };
      })
      .filter(({ counts }) => counts.size > 1);
  }

  const byName = ([a], [b]) => (a === "none") - (b === "none") || a.localeCompare(b);

  function matches(row, query) {
    if (!query) return true;
    const text = [row.name, row.key, row.settings, ...Object.values(row.axes ?? {})].join(" ").toLowerCase();
    return query
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word));
  }

  function visible(one) {
    const asked = Object.entries(state.filters).filter(([, options]) => options.length);
    return one.rows.filter(
      (row) =>
        matches(row, state.query.trim()) && asked.every(([axis, options]) => options.includes(option(row, axis))),
    );
  }

  const score = (row) => row.bleu?.mean ?? null;
  const ranked = (rows) => rows.toSorted((a, b) => (score(b) ?? -Infinity) - (score(a) ?? -Infinity));

  /* Groups of the axis that the reader named: in the order of the options; [] where none is named. */
  function groups(one, rows) {
    const found = axes(one).find(({ axis }) => axis === state.group);
    if (!found) return [];
    const names = [...found.counts.keys()];
    if (one.rows.some((row) => option(row, state.group) === null)) names.push(OUTSIDE);
    return names
      .map((name, index) => ({
        name,
        index,
        rows: rows.filter((row) => (option(row, state.group) ?? OUTSIDE) === name),
      }))
      .filter((group) => group.rows.length);
  }

  /* Everything that the sections draw from, made once for each change of what is in view. */
  function view() {
    const one = comparison();
    const rows = visible(one);
    const scored = ranked(rows.filter((row) => score(row) !== null));
    const baseline = one.rows.find((row) => row.key === one.baseline) ?? null;
    return {
      one,
      rows,
      scored,
      baseline,
      groups: groups(one, rows),
      axes: axes(one),
      byKey: new Map(one.rows.map((row) => [row.key, row])),
    };
  }

  const groupMean = (rows) => mean(rows.map(score));

  Object.assign(attnlab, { OUTSIDE, comparison, option, view, ranked, score, groupMean });
})();
