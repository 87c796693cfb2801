/* Colour, dash and symbol of each row: Okabe and Ito's colours, as in the report's figures. */
"use strict";
(() => {
  const { state, option, ranked, score, svg } = attnlab;
  const COLOURS = 6;
  const DASHES = [null, "6 3", "2 2.5", "7 2.5 1.5 2.5"];
  const SYMBOLS = ["circle", "square", "triangle", "diamond", "cross", "star", "wye"];

  function style(index) {
    return {
      color: `var(--series-${(index % COLOURS) + 1})`,
      dash: DASHES[Math.floor(index / COLOURS) % DASHES.length],
      symbol: SYMBOLS[index % SYMBOLS.length],
    };
  }

  const BASELINE = { color: "var(--ink)", dash: "5 3", symbol: "cross" };
  const OUTSIDE = { color: "var(--muted)", dash: "2 2.5", symbol: "diamond" };

  /* A row looks the same whatever is filtered: by its place among all rows, or by its group. */
  function looks({ one, axes, baseline }) {
    const order = new Map(ranked(one.rows.filter((row) => score(row) !== null && row !== baseline)).map((row, k) => [row.key, k]));
    const options = [...(axes.find(({ axis }) => axis === state.group)?.counts.keys() ?? [])];
    return (row) => {
      if (options.length) {
        const value = option(row, state.group);
        return value === null ? OUTSIDE : style(options.indexOf(value));
      }
      if (row === baseline) return BASELINE;
      return style(order.get(row.key) ?? 0);
    };
  }

  /* A short line with its symbol, for legends, tables and tips. */
  function swatch(look) {
    return svg(
      "svg",
      { class: "swatch", width: 26, height: 12, viewBox: "-13 -6 26 12", "aria-hidden": "true" },
      svg("line", { x1: -13, x2: 13, stroke: look.color, "stroke-width": 2, "stroke-dasharray": look.dash }),
      svg("path", { d: d3.symbol(symbolType(look.symbol), 34)(), fill: look.color }),
    );
  }

  function symbolType(name) {
    return d3[`symbol${name[0].toUpperCase()}${name.slice(1)}`];
  }

  Object.assign(attnlab, { looks, swatch, groupLook: style });
})();
