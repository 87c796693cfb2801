/* The table of all cells: sorted by a column, in groups where asked for, a page of rows at a time. */
"use strict";
(() => {
  const {
    state,
    choose,
    h,
    columns,
    confounded,
    dagger,
    badges,
    looks,
    swatch,
    groupLook,
    missing,
    number,
    groupMean,
    scrolled,
    count,
    sortHead,
  } = attnlab;
  const PAGE = 100; // rows
  const LOWER_FIRST = ["p", "aer", "aer_input", "ter", "perplexity"]; // where lower is better

  function table(view, body) {
    const listed = columns(view, state.kind);
    const sorted = listed.find(({ id }) => id === state.sort) ?? listed[0];
    const rows = ordered(view, sorted);
    const pages = Math.max(1, Math.ceil(rows.length / PAGE));
    const page = Math.min(state.page, pages - 1);
    const shown = rows.slice(page * PAGE, (page + 1) * PAGE);
    const region = body.querySelector(".scrolled");
    const [left, top] = region ? [region.scrollLeft, region.scrollTop] : [0, 0];
    const focused = document.activeElement?.dataset?.focus;
    const fresh = scrolled(
      "Table of all cells",
      h(
        "table",
        { class: "cells", style: { "--name": `${width(view)}ch` } },
        head(listed, sorted),
        lines(view, listed, shown),
      ),
    );
    body.replaceChildren(fresh, ...foot(view, rows, page, pages));
    fresh.scrollTo(left, top);
    if (focused) body.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    return true;
  }

  /* Rows without the value come last in both directions; equal ones keep their order. */
  function ordered(view, { value }) {
    const sign = state.descending ? -1 : 1;
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (missing(x) || missing(y)) return missing(x) - missing(y);
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
    };
    if (!view.groups.length) return view.rows.toSorted(compare).map((row) => ({ row }));
    return view.groups.flatMap((group) =>
      group.rows.toSorted(compare).map((row, k) => ({ row, group: k === 0 ? group : null })),
    );
  }

  /* Of the first column: what the longest name needs, within reason. */
  function width(view) {
    return Math.min(52, 10 + (d3.max(view.rows, (row) => row.name.length + (row === view.baseline ? 8 : 0)) ?? 0));
  }

  function head(listed, sorted) {
    return h("thead", {}, h("tr", {}, ...listed.map((column) => header(column, column === sorted))));
  }

  function header({ id, label, title, text }, isSorted) {
    const sorted = isSorted ? (state.descending ? "descending" : "ascending") : null;
    const sort = () =>
      choose({ sort: id, descending: sorted ? !state.descending : !text && !LOWER_FIRST.includes(id), page: 0 });
    return sortHead({ label, title, text, focus: `sort=${id}`, sorted, sort });
  }

  function lines(view, listed, shown) {
    const look = looks(view);
    const parts = [];
    for (const { row, group } of shown) {
      if (group) parts.push(groupLine(group, listed.length));
      parts.push(line(row, listed, look(row), row === view.baseline));
    }
    if (!parts.length)
      parts.push(
        h(
          "tr",
          {},
          h("td", { colspan: listed.length, class: "nothing" }, "No cell is in view: change the filter or the search."),
        ),
      );
    return h("tbody", {}, ...parts);
  }

  function groupLine(group, width) {
    const average = groupMean(group.rows);
    return h(
      "tr",
      { class: "group" },
      h("th", { scope: "rowgroup" }, swatch(groupLook(group)), group.name),
      h(
        "td",
        { class: "number" },
        missing(average) ? "–" : h("span", { title: "Mean over the cells of the group" }, `mean ${number(average)}`),
      ),
      h("td", { colspan: width - 2 }, count(group.rows.length, "row")),
    );
  }

  function line(row, listed, look, baseline) {
    const [, ...rest] = listed;
    const open = h(
      "button",
      { type: "button", class: "open", "data-focus": `row=${row.key}`, on: { click: () => choose({ row: row.key }) } },
      row.name,
    );
    return h(
      "tr",
      { class: `${row.kind}${baseline ? " baseline" : ""}`, "data-row": row.key },
      h(
        "th",
        { scope: "row", class: "name" },
        h(
          "span",
          { class: "name-line" },
          missing(row.bleu?.mean) ? h("span") : swatch(look),
          h(
            "span",
            {},
            open,
            dagger(row),
            baseline ? h("span", { class: "badge plain" }, "baseline") : null,
            badges(row),
          ),
        ),
      ),
      ...rest.map(({ id, cell }) =>
        h("td", { class: id === "seeds" ? "seeds" : "number" }, cell({ ...row, isBaseline: baseline })),
      ),
    );
  }

  function foot(view, rows, page, pages) {
    const said = [];
    const turn = (to, label) =>
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          disabled: to < 0 || to >= pages,
          "data-focus": label,
          on: { click: () => choose({ page: to }) },
        },
        label,
      );
    if (pages > 1) {
      said.push(
        h(
          "nav",
          { class: "pages", "aria-label": "Pages of the table" },
          turn(page - 1, "Previous"),
          h(
            "span",
            {},
            `Rows ${page * PAGE + 1} to ${Math.min(rows.length, (page + 1) * PAGE)} of ${rows.length.toLocaleString("en")}`,
          ),
          turn(page + 1, "Next"),
        ),
      );
    }
    const marks = [];
    if (view.rows.some((row) => row.test?.significant))
      marks.push("* significantly different from the baseline after Holm's correction.");
    if (view.rows.some((row) => row.test?.one_seed))
      marks.push("¹ one seed on a side: the test speaks of these runs only and carries no mark.");
    if (view.rows.some(confounded))
      marks.push(
        view.baseline?.controlled === false
          ? "† the baseline is a system from outside: a difference from it cannot be put down to any one factor."
          : "† confounded: more than one factor differs from the baseline; hover, focus or open the row for the list.",
      );
    if (view.rows.some((row) => row.kind === "system"))
      marks.push("Not controlled: translations from elsewhere, of unknown data and training.");
    if (marks.length) said.push(h("p", { class: "fine" }, marks.join(" ")));
    return said;
  }

  Object.assign(attnlab, { table });
})();
