/* Quality over sentence length: which lines are drawn and from which numbers. */
"use strict";
(() => {
  const { state, choose, h, mean, missing, number, signed, interval, looks, groupLook, legend, lengthChart } = attnlab;
  const KINDS = {
    source_words: "source words",
    reference_words: "reference words",
    source_pieces: "source pieces",
    reference_pieces: "reference pieces",
  };
  const LIMITS = [12, 30, 60];

  function lengths(view, body) {
    const kinds = Object.keys(KINDS).filter((kind) =>
      view.one.rows.some((row) => row.lengths?.[kind]?.buckets?.length),
    );
    if (!kinds.length) return false;
    const kind = kinds.includes(state.kind) ? state.kind : kinds[0];
    const differences = view.one.rows.some((row) =>
      row.lengths?.[kind]?.buckets?.some((bucket) => !missing(bucket.delta)),
    );
    const difference = state.difference && differences;
    const { lines, left } =
      state.group && state.average ? groupLines(view, kind, difference) : cellLines(view, kind, difference);
    const drawn = lines.filter((line) => !state.off.includes(line.key));
    const figure = lengthChart({ lines: drawn, unit: KINDS[kind], difference, baseline: view.baseline });
    body.replaceChildren(
      options(kinds, kind, differences, difference, left > 0 || state.lines !== LIMITS[0]),
      h(
        "div",
        { class: "with-legend" },
        figure,
        h("div", {}, legendHead(KINDS[kind]), legend("Lines of the chart", lines.map(entry), figure), more(left)),
      ),
    );
    return true;
  }

  function cellLines(view, kind, difference) {
    const look = looks(view);
    const able = view.scored.filter(
      (row) => row.lengths?.[kind]?.buckets?.length && !(difference && row === view.baseline),
    );
    const best = able.slice(0, state.lines);
    const baseline = able.includes(view.baseline) && !best.includes(view.baseline) ? [view.baseline] : [];
    const lines = [...best, ...baseline].map((row) => ({
      key: row.key,
      name: row.name,
      look: look(row),
      baseline: row === view.baseline,
      bleu: row.bleu.mean,
      slope: row.lengths[kind].slope,
      points: row.lengths[kind].buckets.map((bucket) => point(bucket, difference)),
    }));
    return { lines, left: able.length - lines.length };
  }

  function point(bucket, difference) {
    const value = difference ? bucket.delta : bucket.bleu;
    const band = difference ? bucket.delta_ci : bucket.ci;
    return { ...bucket, x: bucket.centre, y: value ?? null, low: band?.[0] ?? null, high: band?.[1] ?? null };
  }

  /* A line a group: the mean over its cells; the band is their range, which is no interval. */
  function groupLines(view, kind, difference) {
    const lines = view.groups
      .map((group) => {
        const rows = group.rows.filter((row) => row.bleu?.mean !== undefined && row.lengths?.[kind]?.buckets?.length);
        if (!rows.length) return null;
        const points = rows[0].lengths[kind].buckets.map((bucket, k) => {
          const values = rows
            .map((row) => point(row.lengths[kind].buckets[k] ?? {}, difference).y)
            .filter((y) => y !== null);
          return {
            ...bucket,
            x: bucket.centre,
            y: mean(values),
            low: d3.min(values) ?? null,
            high: d3.max(values) ?? null,
            cells: values.length,
          };
        });
        const slope = mean(rows.map((row) => row.lengths[kind].slope?.value ?? null));
        return {
          key: group.name,
          name: `${group.name} (mean of ${rows.length})`,
          look: groupLook(group),
          bleu: mean(rows.map((row) => row.bleu.mean)),
          slope: slope === null ? null : { value: slope },
          points,
          range: true,
        };
      })
      .filter(Boolean);
    return { lines: lines.toSorted((a, b) => b.bleu - a.bleu), left: 0 };
  }

  function entry(line) {
    const known = line.slope && !missing(line.slope.value);
    return {
      ...line,
      name: line.baseline ? `${line.name} (baseline)` : line.name,
      value: number(line.bleu),
      slope: known ? signed(line.slope.value) : "–",
      note: known ? `Slope: ${signed(line.slope.value)} BLEU per 10 ${interval(line.slope.ci)}` : null,
    };
  }

  function legendHead(unit) {
    const slope = h("span", { title: `BLEU per 10 more ${unit}` }, "slope");
    return h("p", { class: "legend-head", "aria-hidden": "true" }, h("span", {}, "Cell"), h("span", {}, "BLEU"), slope);
  }

  function more(left) {
    return left > 0
      ? h("p", { class: "fine" }, `The best ${state.lines} and the baseline are drawn; ${left} more are in view.`)
      : null;
  }

  function options(kinds, kind, differences, difference, limited) {
    const choice = (name, options, chosen, pick) =>
      h(
        "label",
        { class: "labelled" },
        h("span", {}, name),
        h(
          "select",
          { "data-focus": name, on: { change: (event) => pick(event.target.value) } },
          ...options.map(([value, label]) => h("option", { value, selected: value === chosen }, label)),
        ),
      );
    return h(
      "div",
      { class: "control-line" },
      choice(
        "Length in",
        kinds.map((one) => [one, KINDS[one]]),
        kind,
        (value) => choose({ kind: value }),
      ),
      differences
        ? choice(
            "Show",
            [
              ["", "BLEU"],
              ["1", "difference from the baseline"],
            ],
            difference ? "1" : "",
            (value) => choose({ difference: value === "1" }),
          )
        : null,
      limited
        ? choice(
            "Lines",
            LIMITS.map((n) => [String(n), `best ${n}`]),
            String(state.lines),
            (value) => choose({ lines: Number(value) }),
          )
        : null,
    );
  }

  Object.assign(attnlab, { lengths });
})();
