/* Published results, in a table of their own: never a row beside the cells, never in a chart of theirs. */
"use strict";
(() => {
  const { data, h, missing, scrolled, webLink } = attnlab;
  const MARKS = { verified: "✓ verified", "second hand": "second hand", "from memory": "from memory" };
  const HEAD = ["Paper", "System", "Task", "Test set", "Metric", "How computed", "Value", "How sure", "Note"];

  function published(view, body) {
    const anchors = data.anchors ?? [];
    if (!anchors.length) return false;
    if (body.childElementCount) return true; // the same whatever is in view
    const head = h(
      "tr",
      {},
      ...HEAD.map((name) => h("th", { scope: "col", class: name === "Value" ? "number" : null }, name)),
    );
    const table = h("table", { class: "plain published" }, h("thead", {}, head), h("tbody", {}, ...anchors.map(line)));
    body.append(
      scrolled("Table of published results", table),
      h(
        "p",
        { class: "fine" },
        "Other data, other tokens, other scorers: for orientation only. The mark says how the number was checked.",
      ),
    );
    return true;
  }

  function line(anchor) {
    const value = `${show(anchor.value)}${missing(anchor.sd) ? "" : ` ± ${show(anchor.sd)}`}`;
    return h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        webLink(anchor.url, anchor.paper),
        anchor.table ? h("span", { class: "muted" }, `, ${anchor.table}`) : null,
      ),
      ...[anchor.system, anchor.task, place(anchor), anchor.metric, anchor.flavour].map((text) => h("td", {}, text ?? "–")),
      h("td", { class: "number" }, value),
      h(
        "td",
        {},
        h(
          "span",
          { class: `badge ${anchor.verified === "verified" ? "good" : "warn"}` },
          MARKS[anchor.verified] ?? anchor.verified,
        ),
      ),
      h("td", { class: "note" }, anchor.note ?? ""),
    );
  }

  const place = ({ test_set: set, languages }) => [set, languages].filter(Boolean).join(", ");
  const show = (value) => (missing(value) ? "–" : String(value)); // no digit that was not printed

  Object.assign(attnlab, { published });
})();
