/* Colour, dash and symbol of each row, by the rules of the report's figures (`figures/styles.py`), so that a cell
   looks the same there and here: colour tells the axis with most options, dash the others, the symbol the cell. */
"use strict";
(() => {
  const { data, state, option, svg, OUTSIDE } = attnlab;
  const COLOURS = 6;
  const DASHES = [null, "10 4", "2 3", "10 3 2 3"];

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
  const SYMBOLS = [
    d3.symbolCircle,
    d3.symbolSquare,
    d3.symbolTriangle,
    d3.symbolDiamond,
    corners(around(3, 0.5), [1.25]),
    corners(plus(0), PLUS),
    d3.symbolStar,
    corners(around(6)),
    corners(around(3, 0.75), [1.25]),
    corners(around(5)),
    corners(around(3, 0.25), [1.25]),
    corners(plus(0.125), PLUS),
  ];
  const BLACK = [11, 5, 6]; // symbols of the cells without attention

  const style = (colour, dash, symbol) => ({
    color: `var(--series-${(colour % COLOURS) + 1})`,
    dash: DASHES[dash % DASHES.length],
    symbol: SYMBOLS[symbol % SYMBOLS.length],
  });
  const outside = (number) => ({
    color: "var(--muted)",
    dash: "2 2",
    symbol: SYMBOLS.at(-1 - (number % SYMBOLS.length)),
  });
  const black = (number) => ({
    color: "var(--ink)",
    dash: "8 4",
    symbol: SYMBOLS[BLACK[number % BLACK.length]],
    heavy: true,
  });
  /* Of a group, by its name and its place: what has no such option is black, what is not known is grey. */
  function groupLook({ name, index }) {
    if (name === OUTSIDE) return outside(0);
    return name === "none" ? black(0) : style(index, Math.floor(index / COLOURS), index);
  }

  const attends = (row) => row.kind !== "system" && (row.axes.scorer ?? null) !== null;

  const known = new WeakMap(); // by comparison: rows never change

  function own(one) {
    if (known.has(one)) return known.get(one);
    const found = new Map();
    const attending = one.rows.filter(attends);
    const text = (row, axis) => String(row.axes[axis]);
    const options = new Map(
      data.axes.map((axis) => [axis, [...new Set(attending.map((row) => text(row, axis)))].sort()]),
    );
    const ranked = data.axes
      .filter((axis) => options.get(axis).length > 1)
      .sort((a, b) => options.get(b).length - options.get(a).length);
    const alike =
      new Set(attending.map((row) => JSON.stringify(data.axes.map((axis) => text(row, axis))))).size < attending.length;
    let [number, without, grey] = [0, 0, 0];
    for (const row of one.rows) {
      if (row.kind === "system") found.set(row.key, outside(grey++));
      else if (!attends(row)) found.set(row.key, black(without++));
      else {
        const ranks = ranked.map((axis) => options.get(axis).indexOf(text(row, axis)));
        const [colour, dash] =
          alike || !ranks.length
            ? [number, Math.floor(number / SYMBOLS.length)]
            : [ranks[0], ranks.length === 1 ? ranks[0] : d3.sum(ranks.slice(1), (rank, place) => rank * 2 ** place)];
        found.set(row.key, style(colour, dash, number));
        number += 1;
      }
    }
    known.set(one, found);
    return found;
  }

  /* The look of a row whatever is filtered: its own, or that of its group where the reader named an axis. */
  function looks({ one, axes }) {
    const rows = own(one);
    const options = [...(axes.find(({ axis }) => axis === state.group)?.counts.keys() ?? [])];
    return (row) => {
      const value = options.length ? option(row, state.group) : null;
      return value === null
        ? rows.get(row.key)
        : { ...groupLook({ name: value, index: options.indexOf(value) }), symbol: rows.get(row.key).symbol };
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
