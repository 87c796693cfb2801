/* Parts of a row's details: its seeds, its settings, tampered attention, and its training. */
"use strict";
(() => {
  const { h, FONT, chart, plainTable, scrolled, fileLink, number, signed, duration, short, words, show, missing } =
    attnlab;

  function seeds(row) {
    const lost = [
      ["failed", row.failed],
      ["interrupted", row.interrupted],
      ["missing", row.missing],
    ].flatMap(([word, some]) => (some ?? []).map((seed) => [seed, word]));
    const head = ["Seed", "BLEU", "chrF", "Updates", "Time", "Code", "Record"];
    const lines = row.runs.map((run) => [
      run.seed,
      number(run.bleu),
      number(run.chrf),
      missing(run.updates) ? "–" : run.updates.toLocaleString("en"),
      duration(run.wall_s),
      run.commit
        ? h(
            "code",
            { title: run.dirty ? "With changes that were not committed" : null },
            `${run.commit.slice(0, 7)}${run.dirty ? "+" : ""}`,
          )
        : "–",
      fileLink(run.record, "record") ?? "–",
    ]);
    const table = plainTable(head, [
      ...lines,
      ...lost.map(([seed, word]) => [seed, h("span", { class: "lost" }, word), "", "", "", "", ""]),
    ]);
    return part("Seeds", scrolled("Seeds of the cell", table));
  }

  function settings(row, common) {
    const own = Object.entries(row.config ?? {});
    return part(
      "Settings",
      definitions({ ...row.axes, ...row.factors }),
      own.length ? h("h4", {}, "What differs between the cells") : null,
      own.length ? definitions(row.config) : null,
      Object.keys(common ?? {}).length
        ? h(
            "details",
            {},
            h("summary", {}, `In common with all cells (${Object.keys(common).length})`),
            definitions(common),
          )
        : null,
    );
  }

  function definitions(values) {
    return h(
      "dl",
      { class: "settings" },
      ...Object.entries(values ?? {}).map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, show(value)))),
    );
  }

  function differs(row, baseline) {
    if (!row.differs?.length || row.kind === "system") return null;
    const several = row.differs.length > 1;
    const outside = baseline?.controlled === false;
    const title = several
      ? `† Confounded: ${row.differs.length} factors differ from the baseline`
      : outside
        ? "† The baseline is a system from outside"
        : "Differs from the baseline in one factor";
    const note = row.confounded ? "A difference in BLEU cannot be put down to one factor." : null;
    return part(
      title,
      h("ul", { class: "factors" }, ...row.differs.map((factor) => h("li", {}, factor))),
      note && h("p", { class: "fine" }, note),
      baseline && h("p", { class: "fine" }, `Baseline: ${baseline.name}.`),
    );
  }

  function overrides(row) {
    const given = Object.entries(row.overrides ?? {});
    if (!given.length) return null;
    const bars = [
      { name: "as trained", bleu: row.bleu?.mean, delta: null },
      ...given.map(([name, value]) => ({ name: words(name), ...value })),
    ].filter((bar) => !missing(bar.bleu));
    const figure = chart({
      label: `BLEU of ${row.name} with the attention replaced`,
      draw: (width) =>
        Plot.plot({
          width,
          height: 34 + 28 * bars.length,
          marginLeft: 92,
          marginRight: 84,
          marginBottom: 8,
          marginTop: 8,
          style: FONT,
          x: { axis: null, domain: [0, d3.max(bars, (bar) => bar.bleu) || 1] },
          y: { domain: bars.map((bar) => bar.name), label: null, tickSize: 0, padding: 0.3 },
          marks: [
            Plot.barX(bars, {
              x: "bleu",
              y: "name",
              fill: (bar) => (bar.delta === null ? "var(--series-1)" : "var(--series-quiet)"),
              rx: 2,
            }),
            Plot.text(bars, {
              x: "bleu",
              y: "name",
              text: (bar) => `${number(bar.bleu)}${bar.delta === null ? "" : ` (${signed(bar.delta)})`}`,
              textAnchor: "start",
              dx: 6,
              fill: "var(--ink)",
            }),
          ],
        }),
      table: () => ({
        head: ["Attention", "BLEU", "Difference"],
        rows: bars.map((bar) => [bar.name, number(bar.bleu), signed(bar.delta)]),
      }),
    });
    return part(
      "Is it attention?",
      h("p", { class: "fine" }, "The trained model, translating with other weights than its own."),
      figure,
    );
  }

  function training(row) {
    const curve = (row.curve ?? []).map(([updates, bleu, loss]) => ({ updates, bleu, loss }));
    const shown = [
      ["bleu", "Validation BLEU"],
      ["loss", "Validation loss"],
    ].filter(([key]) => curve.some((point) => !missing(point[key])));
    if (!shown.length) return null;
    return part(
      `Training, seed ${row.runs[0]?.seed ?? "–"}`,
      h("div", { class: "pair small" }, ...shown.map(([key, label]) => trainingCurve(curve, key, label))),
    );
  }

  function trainingCurve(curve, key, label) {
    const points = curve.filter((point) => !missing(point[key]));
    return chart({
      label: `${label} over updates`,
      draw: (width) =>
        Plot.plot({
          width,
          height: 204,
          marginLeft: 40,
          marginTop: 30,
          marginBottom: 46,
          style: FONT,
          x: {
            label: "Updates",
            labelAnchor: "center",
            labelOffset: 36,
            labelArrow: "none",
            tickSize: 0,
            ticks: 4,
            tickFormat: short,
          },
          y: { label, labelArrow: "none", tickSize: 0, ticks: 4, grid: true, nice: true },
          marks: [
            Plot.lineY(points, { x: "updates", y: key, stroke: "var(--series-1)", strokeWidth: 2 }),
            Plot.dot(points, { x: "updates", y: key, r: 2, fill: "var(--series-1)" }),
            Plot.tip(
              points,
              Plot.pointerX({
                x: "updates",
                y: key,
                fill: "var(--surface)",
                stroke: "var(--line-strong)",
                title: (point) => `${number(point[key])} at ${point.updates.toLocaleString("en")}`,
              }),
            ),
          ],
        }),
      table: () => ({
        head: ["Updates", label],
        rows: points.map((point) => [point.updates.toLocaleString("en"), number(point[key], 3)]),
      }),
    });
  }

  function part(title, ...content) {
    return h("section", { class: "part" }, h("h3", {}, title), ...content);
  }

  Object.assign(attnlab, { parts: { seeds, settings, differs, overrides, training, part } });
})();
