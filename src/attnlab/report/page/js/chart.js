/* What every chart has: a frame that follows the width, a caption, and its numbers as a table. */
"use strict";
(() => {
  const { h, hideTip } = attnlab;

  const FONT = {
    fontFamily: "inherit",
    fontSize: "12px",
    color: "var(--ink)",
    background: "none",
    overflow: "visible",
  };

  /* A figure; `draw(width)` gives its SVG, `table()` {head, rows} with the same numbers. */
  function chart({ label, caption, draw, table, className = "" }) {
    const holder = h("div", { class: "plot" });
    const figure = h("figure", { class: `chart ${className}`, "aria-label": label }, holder);
    if (caption) figure.append(h("figcaption", {}, caption));
    if (table) figure.append(asTable(label, table));
    let width = 0;
    const redraw = () => {
      hideTip();
      const drawn = draw(width);
      if (!drawn.hasAttribute("aria-label")) drawn.setAttribute("aria-label", label);
      drawn.setAttribute("role", "img");
      holder.replaceChildren(drawn);
    };
    // Once a frame: a chart changes the height of the page, and so may change its own width.
    const watcher = new ResizeObserver(([entry]) => {
      const now = Math.floor(entry.contentRect.width);
      if (now < 10 || now === width) return;
      width = now;
      requestAnimationFrame(redraw);
    });
    watcher.observe(holder);
    // The first time without waiting for a frame, which a page that is only printed or captured may never have.
    queueMicrotask(() => {
      const now = Math.floor(holder.clientWidth);
      if (width || now < 10) return;
      width = now;
      redraw();
    });
    return figure;
  }

  /* Filled when it is opened: most readers look at the chart. */
  function asTable(label, table) {
    const box = h("details", { class: "as-table" }, h("summary", {}, "As a table"));
    box.addEventListener("toggle", () => {
      if (!box.open || box.querySelector("table")) return;
      const { head, rows } = table();
      box.append(scrolled(`Table: ${label}`, plainTable(head, rows)));
    });
    return box;
  }

  function plainTable(head, rows) {
    const cells = ([first, ...rest]) => [
      h("th", { scope: "row" }, first),
      ...rest.map((cell) => h("td", { class: "number" }, cell)),
    ];
    return h(
      "table",
      { class: "plain" },
      h(
        "thead",
        {},
        h("tr", {}, ...head.map((name, k) => h("th", { scope: "col", class: k ? "number" : null }, name))),
      ),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...cells(row)))),
    );
  }

  /* A region that scrolls by itself, with the keyboard too. */
  function scrolled(label, ...content) {
    return h("div", { class: "scrolled", role: "region", "aria-label": label, tabindex: "0" }, ...content);
  }

  /* Marks a layer of a plot with the key of its row, so that a legend can find it. */
  function keyed(key, className) {
    return (index, scales, values, dimensions, context, next) => {
      const layer = next(index, scales, values, dimensions, context);
      layer?.setAttribute("data-key", key);
      if (className) layer?.setAttribute("class", className);
      return layer;
    };
  }

  Object.assign(attnlab, { FONT, chart, plainTable, scrolled, keyed });
})();
