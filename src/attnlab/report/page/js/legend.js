/* The list beside a chart: a button a line, which hides it, and which brings it forward under the pointer. */
"use strict";
(() => {
  const { state, choose, h, swatch } = attnlab;

  /* entries: {key, name, look, value, slope, note}; `chart` is the figure whose layers carry the keys. */
  function legend(label, entries, chart) {
    const focused = document.activeElement?.dataset?.focus;
    const list = h(
      "ul",
      { class: "legend", "aria-label": label },
      ...entries.map((entry) => h("li", {}, item(entry, chart))),
    );
    if (focused?.startsWith("line=")) {
      requestAnimationFrame(() => list.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus());
    }
    return list;
  }

  function item({ key, name, look, value, slope, note }, chart) {
    const off = state.off.includes(key);
    const forward = (on) => bringForward(chart, on && !off ? key : null);
    return h(
      "button",
      {
        type: "button",
        class: "legend-item",
        "aria-pressed": String(!off),
        "data-focus": `line=${key}`,
        title: off ? "Show this line" : "Hide this line",
        on: {
          click: () => choose({ off: off ? state.off.filter((other) => other !== key) : [...state.off, key] }),
          pointerenter: () => forward(true),
          pointerleave: () => forward(false),
          focus: () => forward(true),
          blur: () => forward(false),
        },
      },
      swatch(look),
      h("span", { class: "legend-name" }, name),
      h("span", { class: "legend-value" }, value),
      h("span", { class: "legend-value muted", title: note }, slope),
    );
  }

  function bringForward(chart, key) {
    for (const layer of chart.querySelectorAll("[data-key]")) {
      layer.classList.toggle("faded", key !== null && layer.dataset.key !== key);
      layer.classList.toggle("forward", layer.dataset.key === key);
    }
  }

  Object.assign(attnlab, { legend, bringForward });
})();
