/* The drawing of quality over length: lines, bands, marks; values of all lines under the pointer or the arrow keys. */
"use strict";
(() => {
  const { h, FONT, chart, keyed, narrow, number, signed, interval, swatch, words, showTip, hideTip } = attnlab;
  const CROWD = 10; // lines; the bands of more hide each other
  const SHOWN = 14; // lines in the panel; more would leave the window

  function lengthChart({ lines, unit, difference, baseline }) {
    const buckets = shared(lines);
    const y = difference ? `BLEU minus ${baseline?.name ?? "baseline"}` : "BLEU";
    return chart({
      label: `${y} over length in ${unit}`,
      caption: caption(lines, buckets),
      className: "length-chart",
      draw: (width) =>
        interactive(plot(lines, buckets, { width, unit, difference }), lines, buckets, { unit, difference }),
      table: () => ({
        head: [`${unit}`, "n", ...lines.map((line) => line.name)],
        rows: buckets.map((bucket, k) => [
          bucket.label,
          sentences(bucket),
          ...lines.map((line) => cell(at(line, bucket), difference)),
        ]),
      }),
    });
  }

  /* The buckets in which any line has a sentence. Lengths in pieces depend on a cell's tokens, and so does n. */
  function shared(lines) {
    const points = d3.sort(
      lines.flatMap((line) => line.points).filter((point) => point.n > 0),
      (point) => point.lo,
    );
    return d3
      .groups(points, (point) => point.label)
      .map(([, some]) => ({ ...some[0], least: d3.min(some, ({ n }) => n), n: d3.max(some, ({ n }) => n) }));
  }

  const sentences = ({ least, n }) =>
    least === n ? n.toLocaleString("en") : `${least.toLocaleString("en")} to ${n.toLocaleString("en")}`;

  const at = (line, bucket) => line.points.find((point) => point.label === bucket.label);
  const cell = (point, difference) =>
    point
      ? `${(difference ? signed : number)(point.y)} ${interval([point.low, point.high].includes(null) ? null : [point.low, point.high])}`
      : "–";

  function caption(lines, buckets) {
    const marked = (mark) =>
      buckets.filter((bucket) => lines.some((line) => at(line, bucket)?.mark === mark)).map((bucket) => bucket.label);
    const [few, short] = [marked("few"), marked("too_short")];
    const said = [];
    if (lines.length > CROWD)
      said.push("Bands are faint among so many lines: point at a line of the list to bring its own forward.");
    if (lines.some((line) => line.range)) said.push("Bands: the range of the group's cells, not an interval.");
    if (few.length) said.push(`Hollow marks: few sentences (${few.join(", ")}); read them with care.`);
    if (short.length) said.push(`No score: too short for the longest n-gram (${short.join(", ")}).`);
    return said.join(" ") || null;
  }

  function plot(lines, buckets, { width, unit, difference }) {
    const crowd = lines.length > CROWD;
    const layers = lines.flatMap((line) => {
      const points = line.points.filter((point) => point.n > 0);
      const known = points.filter((point) => point.y !== null);
      const render = keyed(line.key);
      const thick = line.baseline || line.look.heavy ? 2.8 : 1.9;
      return [
        Plot.areaY(points, {
          x: "x",
          y1: "low",
          y2: "high",
          fill: line.look.color,
          fillOpacity: crowd ? 0.03 : 0.12,
          render: keyed(line.key, "band"),
        }),
        Plot.lineY(points, {
          x: "x",
          y: "y",
          stroke: line.look.color,
          strokeWidth: thick,
          strokeDasharray: line.look.dash,
          strokeLinejoin: "round",
          render,
        }),
        Plot.dot(known, {
          x: "x",
          y: "y",
          symbol: line.look.symbol,
          r: 3.6,
          stroke: line.look.color,
          strokeWidth: 1.6,
          fill: (point) => (point.mark === "few" ? "var(--surface)" : line.look.color),
          render,
        }),
      ];
    });
    return Plot.plot({
      width,
      height: narrow() ? 320 : 430,
      marginLeft: 44,
      marginRight: 14,
      marginBottom: 50,
      marginTop: 30,
      style: FONT,
      x: {
        domain: extent(buckets),
        ticks: buckets.map((bucket) => bucket.centre),
        tickFormat: (x) => buckets.find((bucket) => bucket.centre === x)?.label ?? "",
        tickSize: 0,
        label: `Length in ${unit}`,
        labelAnchor: "center",
        labelOffset: 38,
        labelArrow: "none",
      },
      y: { nice: true, axis: null },
      marks: [
        Plot.gridY({ ticks: 7, stroke: "var(--line)", strokeOpacity: 1 }),
        Plot.axisY({ tickSize: 0, ticks: 7, label: difference ? "Difference in BLEU" : "BLEU", labelArrow: "none" }),
        ...(difference ? [Plot.ruleY([0], { stroke: "var(--ink)", strokeDasharray: "5 3" })] : []),
        ...layers,
        Plot.ruleX(buckets, Plot.pointerX({ x: "centre", stroke: "var(--muted)", strokeWidth: 1, maxRadius: 1e4 })),
      ],
    });
  }

  function extent(buckets) {
    if (buckets.length < 2) return buckets.map((bucket) => [bucket.centre - 5, bucket.centre + 5]).flat();
    const [low, high] = d3.extent(buckets, (bucket) => bucket.centre);
    const aside = (high - low) * 0.03;
    return [low - aside, high + aside];
  }

  /* The panel beside the rule, and the arrow keys that move the rule. */
  function interactive(drawn, lines, buckets, { unit, difference }) {
    const svg = drawn.tagName === "svg" ? drawn : drawn.querySelector("svg");
    const scale = drawn.scale("x");
    const place = (bucket) => {
      const box = svg.getBoundingClientRect();
      const unit = box.width / Number(svg.getAttribute("width"));
      return { x: box.left + scale.apply(bucket.centre) * unit, y: box.top + box.height * 0.45 };
    };
    drawn.addEventListener("input", () => {
      if (!drawn.value) return hideTip();
      const { x, y } = place(drawn.value);
      showTip(x, y, panel(drawn.value, lines, unit, difference));
    });
    svg.addEventListener("pointerleave", hideTip);
    svg.setAttribute("tabindex", "0");
    let current = -1;
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || !buckets.length) return;
      event.preventDefault();
      current = Math.max(0, Math.min(buckets.length - 1, current + step));
      const { x, y } = place(buckets[current]);
      const options = { clientX: x, clientY: y, pointerType: "mouse", bubbles: true };
      svg.dispatchEvent(new PointerEvent("pointerenter", options));
      svg.dispatchEvent(new PointerEvent("pointermove", options));
    });
    svg.addEventListener("blur", hideTip);
    return drawn;
  }

  function panel(bucket, lines, unit, difference) {
    const values = lines
      .map((line) => ({ line, point: at(line, bucket) }))
      .filter(({ point }) => point && point.y !== null)
      .sort((a, b) => b.point.y - a.point.y);
    const rows = values
      .slice(0, SHOWN)
      .map(({ line, point }) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, swatch(line.look), line.name),
          h("td", { class: "number" }, (difference ? signed : number)(point.y)),
          h("td", { class: "number muted" }, point.low === null ? "" : interval([point.low, point.high], 1)),
        ),
      );
    const left = values.length - rows.length;
    return [
      h(
        "p",
        { class: "tip-title" },
        `${bucket.label} ${unit}`,
        h(
          "span",
          { class: "muted" },
          ` n = ${sentences(bucket)}${bucket.mark ? `, ${words(bucket.mark)}` : ""}`,
        ),
      ),
      h("table", {}, h("tbody", {}, ...rows)),
      left > 0 ? h("p", { class: "muted" }, `and ${left} more`) : null,
    ].filter(Boolean);
  }

  Object.assign(attnlab, { lengthChart });
})();
