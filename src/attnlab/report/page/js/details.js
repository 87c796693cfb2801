/* What is behind a row: a drawer at the side, kept in the address, closed by Escape. */
"use strict";
(() => {
  const { state, choose, h, parts, looks, swatch, badges, number, signed, interval, probability, heatmap, missing } =
    attnlab;
  const drawer = document.getElementById("details");
  let opener = null;

  function details(view) {
    const row = view.byKey.get(state.row);
    if (!row) {
      if (drawer.open) drawer.close();
      return;
    }
    if (!drawer.open) opener = document.activeElement?.dataset?.focus ?? null;
    drawer.replaceChildren(head(view, row), body(view, row));
    if (!drawer.open) drawer.showModal();
    drawer.scrollTop = 0;
  }

  drawer.addEventListener("close", () => {
    choose({ row: "" });
    drawer.replaceChildren();
    if (opener) document.querySelector(`[data-focus="${CSS.escape(opener)}"]`)?.focus({ preventScroll: true });
  });
  // Only the backdrop is the dialog itself; what lies on it is its children.
  drawer.addEventListener("click", (event) => event.target === drawer && drawer.close());

  function head(view, row) {
    const place = view.rows.findIndex((other) => other.key === row.key);
    const turn = (to, label, sign) =>
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": label,
          disabled: place < 0 || !view.rows[to],
          on: { click: () => choose({ row: view.rows[to].key }) },
        },
        sign,
      );
    return h(
      "header",
      { class: "drawer-head" },
      h(
        "h2",
        { id: "details-title", tabindex: "-1", autofocus: true },
        missing(row.bleu?.mean) ? null : swatch(looks(view)(row)),
        row.name,
      ),
      h(
        "div",
        {},
        turn(place - 1, "Previous row", "←"),
        turn(place + 1, "Next row", "→"),
        h(
          "button",
          { type: "button", class: "quiet", "aria-label": "Close", on: { click: () => drawer.close() } },
          "✕",
        ),
      ),
    );
  }

  function body(view, row) {
    return h(
      "div",
      { class: "drawer-body" },
      h("p", {}, row === view.baseline ? h("span", { class: "badge plain" }, "baseline") : null, badges(row)),
      row.kind === "system"
        ? h(
            "p",
            { class: "fine" },
            row.origin ? `Translations from ${row.origin}: ` : "Translations from elsewhere: ",
            "neither their data nor their training is known here.",
          )
        : null,
      row.bleu ? numbers(row) : h("p", { class: "notice" }, "This cell has no finished run."),
      parts.differs(row, view.baseline),
      row.kind === "system" && !row.runs.length ? null : parts.seeds(row),
      parts.overrides(row),
      parts.training(row),
      sample(view, row),
      row.kind === "system" ? null : parts.settings(row, view.one.config_common),
    );
  }

  function numbers(row) {
    const shown = [
      ["BLEU", number(row.bleu.mean), [missing(row.bleu.sd) ? "" : `± ${number(row.bleu.sd)} `, interval(row.bleu.ci)]],
      row.test
        ? [
            "Difference",
            signed(row.test.delta),
            `${interval(row.test.ci)} p ${probability(row.test.p_holm)}${row.test.significant ? " *" : ""}`,
          ]
        : null,
      row.chrf ? ["chrF", number(row.chrf.mean), missing(row.chrf.sd) ? "" : `± ${number(row.chrf.sd)}`] : null,
      ...Object.entries(row.metrics ?? {}).map(([name, value]) => [name, number(value.mean, 4), interval(value.ci, 4)]),
      row.aer ? ["AER", number(row.aer.predicted, 3), `input ${number(row.aer.input, 3)}`] : null,
    ].filter(Boolean);
    return h(
      "dl",
      { class: "numbers" },
      ...shown.map(([term, value, note]) =>
        h("div", {}, h("dt", {}, term), h("dd", {}, h("b", {}, value), h("span", { class: "muted" }, " ", note))),
      ),
    );
  }

  function sample(view, row) {
    const all = (view.one.samples ?? []).filter((sentence) => sentence.rows[row.key]);
    if (!all.length) return null;
    const box = h("div", {});
    const show = (k) => {
      const found = all[k].rows[row.key];
      const line = (term, text) =>
        h("div", {}, h("dt", {}, term), h("dd", { dir: "auto", class: "sentence" }, text || "(empty)"));
      box.replaceChildren(
        h(
          "dl",
          { class: "texts" },
          line("Source", all[k].source),
          line("Reference", all[k].reference),
          line("Translation", found.hypothesis),
        ),
        heatmap(all[k], found, `Attention of ${row.name}, sentence ${all[k].index + 1}`),
      );
    };
    const select = h(
      "select",
      { class: "sentences", "aria-label": "Sentence", on: { change: (event) => show(Number(event.target.value)) } },
      ...all.map((sentence, k) => h("option", { value: k }, `${sentence.index + 1}: ${sentence.source.slice(0, 60)}`)),
    );
    show(0);
    return parts.part("Sentences", select, box);
  }

  Object.assign(attnlab, { details });
})();
