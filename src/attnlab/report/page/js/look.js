/* Colour, dash and symbol of each row as the report's figures have them: the data says which, here they are drawn.
   On dark a colour has a lighter twin. */
"use strict";
(() => {
  const { data, state, option, svg, OUTSIDE } = attnlab;
  const { series, baseline, outside } = data.palette;
  const DASHES = [[], [5, 2], [1, 1.5], [5, 1.5, 1, 1.5]]; // of groups, in widths of a line

  /* A symbol from corners at angles (turns) and radii, as D3 and Plot draw them: of a given area, about. */
  const corners = (turns, radii = [1]) => ({
    draw(context, size) {
      const unit = Math.sqrt(size / 2.4);
      turns.forEach((turn, k) => {
        const radius = unit * radii[k % radii.length];
        const [x, y] = [radius * Math.sin(2 * Math.PI * turn), -radius * Math.cos(2 * Math.PI * turn)];
        if (k) context.lineTo(x, y);
        else context.moveTo(x, y);
      });
      context.closePath();
    },
  });
  const around = (n, start = 0) => Array.from({ length: n }, (_, k) => start + k / n);
  // The twelve corners of a plus sign, and the same turned by an eighth.
  const plus = (start) => {
    const aside = Math.atan2(1, 3) / (2 * Math.PI);
    return Array.from({ length: 4 }, (_, k) =>
      [k / 4 - aside, k / 4 + aside, k / 4 + 0.125].map((turn) => turn + start),
    ).flat();
  };
  const PLUS = [1.1, 1.1, 0.49];
  const SYMBOLS = {
    circle: d3.symbolCircle,
    square: d3.symbolSquare,
    triangle: d3.symbolTriangle,
    diamond: d3.symbolDiamond,
    down: corners(around(3, 0.5), [1.25]),
    plus: corners(plus(0), PLUS),
    star: d3.symbolStar,
    hexagon: corners(around(6)),
    left: corners(around(3, 0.75), [1.25]),
    pentagon: corners(around(5)),
    right: corners(around(3, 0.25), [1.25]),
    cross: corners(plus(0.125), PLUS),
  };

  function ink(color) {
    if (color === baseline) return "var(--ink)";
    return color === outside ? "var(--muted)" : `var(--series-${series.indexOf(color) + 1})`;
  }

  const LINE = 2; // pixels
  const drawn = ({ color, marker, dash, heavy }) => ({
    color: ink(color),
    symbol: SYMBOLS[marker],
    dash: dash.length ? dash.map((part) => LINE * part).join(" ") : null,
    heavy,
  });

  /* Of a group, by its name and its place: what has no such option is black, what is not known is grey. */
  function groupLook({ name, index }) {
    const marker = Object.keys(SYMBOLS)[index % Object.keys(SYMBOLS).length];
    if (name === OUTSIDE) return drawn({ color: outside, marker, dash: [1, 1] });
    if (name === "none") return drawn({ color: baseline, marker, dash: [4, 2], heavy: true });
    const dash = DASHES[Math.floor(index / series.length) % DASHES.length];
    return drawn({ color: series[index % series.length], marker, dash });
  }

  /* The look of a row whatever is filtered: its own, or that of its group where the reader named an axis. */
  function looks({ axes }) {
    const options = [...(axes.find(({ axis }) => axis === state.group)?.counts.keys() ?? [])];
    return (row) => {
      const own = drawn(row.look);
      const value = options.length ? option(row, state.group) : null;
      return value === null ? own : { ...groupLook({ name: value, index: options.indexOf(value) }), symbol: own.symbol };
    };
  }

  /* A short line with its symbol, for legends, tables and tips. */
  function swatch(look) {
    return svg(
      "svg",
      { class: "swatch", width: 30, height: 12, viewBox: "-15 -6 30 12", "aria-hidden": "true" },
      svg("line", {
        x1: -15,
        x2: 15,
        stroke: look.color,
        "stroke-width": look.heavy ? 2.6 : 2,
        "stroke-dasharray": look.dash,
      }),
      svg("path", { d: d3.symbol(look.symbol, 38)(), fill: look.color }),
    );
  }

  Object.assign(attnlab, { looks, swatch, groupLook });
})();
