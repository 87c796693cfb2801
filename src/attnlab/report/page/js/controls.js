/* The bar of filters: options as chips, grouping, search. It acts on all charts and tables at once. */
"use strict";
(() => {
  const { state, choose, h, words, count } = attnlab;
  const host = document.getElementById("controls");
  const SELECTION = ["filters", "group", "average", "query", "off"];
  // Made once, and only filled anew: a field that leaves the page while one types loses the cursor.
  const search = h("input", {
    type: "search",
    placeholder: "Search cells",
    "aria-label": "Search cells",
    class: "search",
    on: { input: (event) => choose({ query: event.target.value, page: 0 }) },
  });
  const groupingPlace = h("div", { class: "control-line" });
  const shown = h("output", { class: "shown", "aria-live": "polite" });
  const resetButton = h(
    "button",
    { type: "button", class: "quiet", "data-focus": "reset", on: { click: reset } },
    "Reset",
  );
  const filterPlace = h("div", {});
  host.append(h("div", { class: "control-line" }, search, groupingPlace, shown, resetButton), filterPlace);

  function controls(view) {
    const focused = document.activeElement?.dataset?.focus;
    const panel = host.querySelector("details");
    const open = panel ? panel.open : Object.keys(state.filters).length > 0;
    if (document.activeElement !== search) search.value = state.query;
    groupingPlace.replaceChildren(...[grouping(view) ?? []].flat().filter(Boolean));
    shown.textContent =
      view.rows.length === view.one.rows.length
        ? count(view.rows.length, "row")
        : `${view.rows.length} of ${count(view.one.rows.length, "row")}`;
    resetButton.disabled = !SELECTION.some((key) => chosen(state[key]));
    filterPlace.replaceChildren(filters(view, open) ?? "");
    if (focused) host.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  }

  const chosen = (value) =>
    typeof value === "object" ? Object.values(value).some((item) => item.length) : Boolean(value);

  function reset() {
    choose({ filters: {}, group: "", average: false, query: "", off: [], page: 0 });
    search.value = "";
  }

  function grouping(view) {
    if (!view.axes.length) return null;
    const select = h(
      "select",
      {
        "aria-label": "Group and colour by",
        "data-focus": "group",
        on: {
          change: (event) =>
            choose({
              group: event.target.value,
              average: event.target.value ? state.average : false,
              off: [],
              page: 0,
            }),
        },
      },
      h("option", { value: "" }, "cell"),
      ...view.axes.map(({ axis, label }) => h("option", { value: axis, selected: axis === state.group }, label)),
    );
    const average =
      state.group &&
      h(
        "label",
        { class: "check" },
        h("input", {
          type: "checkbox",
          checked: state.average,
          "data-focus": "average",
          on: { change: (event) => choose({ average: event.target.checked, off: [] }) },
        }),
        "group means",
      );
    return [h("label", { class: "labelled" }, h("span", {}, "Colour by"), select), average];
  }

  function filters(view, open) {
    if (!view.axes.length) return null;
    const active = Object.entries(state.filters).filter(([, options]) => options.length);
    const title = active.length
      ? `Filter: ${active.map(([axis, options]) => `${words(axis)} ${options.join(", ")}`).join("; ")}`
      : "Filter";
    return h(
      "details",
      { class: "filters", open },
      h("summary", {}, title),
      h("div", { class: "axes" }, ...view.axes.map(chips)),
    );
  }

  function chips({ axis, label, counts }) {
    const chosen = state.filters[axis] ?? [];
    return h(
      "div",
      { class: "axis", role: "group", "aria-label": `Filter by ${label}` },
      h("span", { class: "axis-name" }, label),
      ...[...counts].map(([option, n]) =>
        h(
          "button",
          {
            type: "button",
            class: "chip",
            "aria-pressed": String(chosen.includes(option)),
            "data-focus": `${axis}=${option}`,
            on: { click: () => toggle(axis, option) },
          },
          option,
          h("span", { class: "chip-count", "aria-label": count(n, "row") }, String(n)),
        ),
      ),
    );
  }

  function toggle(axis, option) {
    const chosen = state.filters[axis] ?? [];
    const next = chosen.includes(option) ? chosen.filter((other) => other !== option) : [...chosen, option];
    const filters = { ...state.filters, [axis]: next };
    if (!next.length) delete filters[axis];
    choose({ filters, page: 0 });
  }

  Object.assign(attnlab, { controls });
})();
