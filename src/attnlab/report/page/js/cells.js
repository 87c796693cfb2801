/* What stands in the cells of the tables: differences with their marks, intervals as whiskers, seeds, signs. */
"use strict";
(() => {
  const { h, count, number, signed, interval, missing, explains, fileLink } = attnlab;

  function seedCell(row) {
    const lost = [
      ["failed", row.failed],
      ["interrupted", row.interrupted],
      ["missing", row.missing],
    ].filter(([, some]) => some?.length);
    const finished = row.runs.map((run, k) => [k ? ", " : "", fileLink(run.record, run.seed) ?? run.seed]);
    return [
      finished.length ? finished : "–",
      ...lost.map(([word, some]) =>
        h("span", { class: "lost" }, `${row.runs.length ? "; " : " "}${word}: ${some.join(", ")}`),
      ),
    ];
  }

  /* Mean ± deviation over the seeds. */
  function spread(value, digits = 2) {
    if (missing(value?.mean)) return "–";
    return [
      number(value.mean, digits),
      missing(value.sd) ? null : h("span", { class: "muted" }, ` ± ${number(value.sd, digits)}`),
    ];
  }

  /* A tested difference: * where it is significant, ¹ where one seed cannot speak for its cell. */
  function difference({ delta, ci, significant, one_seed: single }, digits = 2) {
    return [
      signed(delta, digits),
      significant ? h("abbr", { class: "star", title: "Significant after Holm's correction" }, "*") : null,
      single
        ? h("abbr", { class: "muted", title: "One seed on a side: the test speaks of these runs only" }, "¹")
        : null,
      ci ? h("span", { class: "muted small" }, ` ${interval(ci, digits)}`) : null,
    ];
  }

  /* A value and its interval on the scale of the column, so that rows can be compared down it; a line at `base`. */
  function whisker({ value, ci, base, scale, label }) {
    if (missing(value)) return "–";
    const [low, high] = ci ?? [value, value];
    return h(
      "span",
      { class: "whisker", role: "img", "aria-label": label, title: label },
      missing(base) ? null : h("i", { class: "whisker-base", style: { left: `${scale(base)}%` } }),
      h("i", { class: "whisker-line", style: { left: `${scale(low)}%`, width: `${scale(high) - scale(low)}%` } }),
      h("i", { class: "whisker-dot", style: { left: `${scale(value)}%` } }),
    );
  }

  /* A sign that lists, on hover and focus, every factor in which two rows differ. */
  function factorSign(factors, text) {
    const sign = h(
      "button",
      { type: "button", class: "dagger", "aria-label": `Differs in: ${factors.join("; ")}` },
      text,
    );
    return explains(sign, () => [
      h("p", { class: "tip-title" }, `Differs in ${count(factors.length, "factor")}`),
      h("ul", {}, ...factors.map((factor) => h("li", {}, factor))),
    ]);
  }

  /* Of our own cells with numbers: a system from elsewhere has its own sign. */
  const confounded = (row) => row.confounded && row.kind === "cell";
  const dagger = (row) => (confounded(row) ? factorSign(row.differs, "†") : null);

  function badges(row) {
    if (row.kind === "missing")
      return h(
        "span",
        { class: "badge warn" },
        ["failed", "interrupted"].find((state) => row[state]?.length) ?? "missing",
      );
    return row.kind === "system" || row.controlled === false ? h("span", { class: "badge" }, "not controlled") : null;
  }

  /* The head of a column that sorts by it; `sorted` is "ascending", "descending" or null. */
  function sortHead({ label, title, text, focus, sorted, sort }) {
    const arrow = { ascending: "▴", descending: "▾" }[sorted] ?? "";
    return h(
      "th",
      { scope: "col", class: text ? "name" : "number", "aria-sort": sorted ?? "none", title },
      h(
        "button",
        { type: "button", class: "sort", "data-focus": focus, on: { click: sort } },
        label,
        h("span", { class: "arrow", "aria-hidden": "true" }, arrow),
      ),
    );
  }

  Object.assign(attnlab, { seedCell, spread, difference, whisker, factorSign, confounded, dagger, badges, sortHead });
})();
