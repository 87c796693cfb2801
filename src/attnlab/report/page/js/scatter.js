/* Quality against cost, and against alignment: a mark a cell. */
"use strict";
(() => {
  const {
    state,
    choose,
    h,
    FONT,
    chart,
    narrow,
    looks,
    groupLook,
    mean,
    swatch,
    number,
    interval,
    short,
    duration,
    memory,
    missing,
    showTip,
    hideTip,
  } = attnlab;
  const COSTS = {
    wall_s: ["Training time", duration],
    parameters: ["Parameters", short],
    attention: ["Attention parameters", short],
    tokens_per_s: ["Tokens a second", short],
    peak_memory: ["Peak memory", memory],
    updates: ["Updates", short],
  };

  /* The colours of the groups; without groups a mark says its own name under the pointer. */
  function key(view) {
    const shown = view.groups.filter(({ rows }) => rows.some((row) => view.scored.includes(row)));
    if (!shown.length) return "";
    const large = state.average ? "Large: the mean of the group." : null;
    return h(
      "ul",
      { class: "key", "aria-label": "Colours" },
      ...shown.map((group) => h("li", {}, h("i", { style: { background: groupLook(group).color } }), group.name)),
      large && h("li", { class: "muted" }, large),
    );
  }

  /* What the axis counts in, so that its numbers are short: a divisor and its name. */
  function unit(cost, most) {
    const units = {
      wall_s: [
        [3600, "h"],
        [60, "min"],
        [1, "s"],
      ],
      peak_memory: [
        [2 ** 30, "GiB"],
        [2 ** 20, "MiB"],
      ],
    }[cost];
    return (
      (
        units ?? [
          [1e6, "million"],
          [1e3, "thousand"],
        ]
      ).find(([size]) => most >= 2 * size) ?? [1, ""]
    );
  }

  function trade(view, body) {
    const costs = Object.keys(COSTS).filter((key) => view.scored.some((row) => !missing(row.cost?.[key])));
    const aligned = view.scored.some((row) => !missing(row.aer?.predicted));
    if (!costs.length && !aligned) return false;
    const cost = costs.includes(state.cost) ? state.cost : costs[0];
    const parts = [];
    if (cost) {
      const [label, say] = COSTS[cost];
      const select = h(
        "select",
        { "aria-label": "Cost", "data-focus": "cost", on: { change: (event) => choose({ cost: event.target.value }) } },
        ...costs.map((key) => h("option", { value: key, selected: key === cost }, COSTS[key][0])),
      );
      parts.push(panel(view, "Quality against cost", select, { x: (row) => row.cost?.[cost], cost, label, say }));
    }
    if (aligned)
      parts.push(
        panel(view, "Quality against alignment error", null, {
          x: (row) => row.aer?.predicted,
          label: "AER (lower is better)",
          say: (value) => number(value, 2),
        }),
      );
    body.replaceChildren(key(view), h("div", { class: "pair" }, ...parts));
    return true;
  }

  function panel(view, title, control, { x, cost, label, say }) {
    const able = view.scored.filter((row) => !missing(x(row)));
    const [size, name] = cost ? unit(cost, d3.max(able, x)) : [1, ""];
    const points = able.map((row) => ({
      row,
      x: x(row) / size,
      said: say(x(row)),
      y: row.bleu.mean,
      low: row.bleu.ci?.[0],
      high: row.bleu.ci?.[1],
    }));
    const figure = chart({
      label: `BLEU against ${label}`,
      className: "scatter",
      draw: (width) =>
        interactive(plot(view, points, { width, label: name ? `${label} (${name})` : label }), view, label),
      table: () => ({
        head: ["Cell", label, "BLEU"],
        rows: points.map((point) => [point.row.name, point.said, `${number(point.y)} ${interval(point.row.bleu.ci)}`]),
      }),
    });
    return h("div", {}, h("div", { class: "panel-head" }, h("h3", {}, title), control), figure);
  }

  function plot(view, points, { width, label }) {
    const look = looks(view);
    const means = state.average ? groupMeans(view, points) : [];
    const faint = means.length ? 0.25 : points.length > 60 ? 0.6 : 0.95;
    const [low, high] = d3.extent(points, (point) => point.x);
    const log = low > 0 && high / low > 30;
    const bySymbol = d3.group(points, ({ row }) => look(row).symbol);
    const color = ({ row }) => look(row).color;
    return Plot.plot({
      width,
      height: narrow() ? 280 : 330,
      marginLeft: 44,
      marginBottom: 50,
      marginTop: 30,
      marginRight: 16,
      style: FONT,
      x: {
        type: log ? "log" : "linear",
        nice: !log,
        inset: 8,
        ticks: Math.max(3, Math.floor(width / 90)),
        tickSize: 0,
        label,
        labelAnchor: "center",
        labelOffset: 38,
        labelArrow: "none",
      },
      y: { nice: true, inset: 4, axis: null },
      marks: [
        Plot.gridY({ ticks: 6, stroke: "var(--line)", strokeOpacity: 1 }),
        Plot.axisY({ ticks: 6, tickSize: 0, label: "BLEU", labelArrow: "none" }),
        Plot.ruleX(points, {
          x: "x",
          y1: "low",
          y2: "high",
          stroke: color,
          strokeOpacity: faint / (points.length > 60 ? 4 : 2),
          strokeWidth: 1.5,
        }),
        ...[...bySymbol].map(([symbol, some]) =>
          Plot.dot(some, {
            x: "x",
            y: "y",
            symbol,
            r: 4.5,
            fill: color,
            fillOpacity: faint,
            stroke: "var(--surface)",
            strokeWidth: 1,
          }),
        ),
        Plot.dot(means, {
          x: "x",
          y: "y",
          r: 8,
          fill: (group) => group.look.color,
          stroke: "var(--surface)",
          strokeWidth: 1.5,
        }),
        Plot.dot(points, Plot.pointer({ x: "x", y: "y", r: 8, stroke: "var(--ink)", strokeWidth: 1.5, maxRadius: 40 })),
      ],
    });
  }

  function groupMeans(view, points) {
    return view.groups
      .map((group) => {
        const own = points.filter(({ row }) => group.rows.includes(row));
        return { look: groupLook(group), x: mean(own.map(({ x }) => x)), y: mean(own.map(({ y }) => y)) };
      })
      .filter(({ x }) => x !== null);
  }

  function interactive(drawn, view, label) {
    const svg = drawn.tagName === "svg" ? drawn : drawn.querySelector("svg");
    const look = looks(view);
    drawn.addEventListener("input", () => {
      const point = drawn.value;
      svg.style.cursor = point ? "pointer" : "";
      if (!point) return hideTip();
      const box = svg.getBoundingClientRect();
      const unit = box.width / Number(svg.getAttribute("width"));
      showTip(
        box.left + drawn.scale("x").apply(point.x) * unit,
        box.top + drawn.scale("y").apply(point.y) * unit,
        h("p", { class: "tip-title" }, swatch(look(point.row)), point.row.name),
        h("p", {}, `BLEU ${number(point.y)} ${interval(point.row.bleu.ci)}`),
        h("p", {}, `${label}: ${point.said}`),
      );
    });
    svg.addEventListener("pointerleave", hideTip);
    svg.addEventListener("click", () => {
      if (drawn.value) choose({ row: drawn.value.row.key });
    });
    return drawn;
  }

  Object.assign(attnlab, { trade });
})();
