/* A sentence through several cells: source, reference, each translation, each map of its attention. */
"use strict";
(() => {
  const { state, choose, h, heatmap, looks, swatch, number, dagger } = attnlab;
  const STEP = 4; // cells at once
  const WORDS = 12; // of a sentence in the list

  function samples(view, body) {
    const all = view.one.samples ?? [];
    if (!all.length) return false;
    const place = Math.min(state.sentence, all.length - 1);
    const sentence = all[place];
    const rows = order(view).filter((row) => sentence.rows[row.key]);
    const shown = rows.slice(0, Math.max(STEP, state.shown));
    const focused = document.activeElement?.dataset?.focus;
    body.replaceChildren(
      picker(all, place),
      texts(sentence),
      rows.length
        ? h("div", { class: "cards" }, ...shown.map((row) => card(view, sentence, row)))
        : h("p", { class: "nothing" }, "No cell in view has this sentence."),
      more(rows.length, shown.length),
    );
    if (focused) body.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    return true;
  }

  /* The baseline first, then the best. */
  function order(view) {
    const rest = [...view.scored, ...view.rows.filter((row) => !view.scored.includes(row))];
    return view.rows.includes(view.baseline) ? [view.baseline, ...rest.filter((row) => row !== view.baseline)] : rest;
  }

  function picker(all, place) {
    const turn = (to, label, sign) =>
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": label,
          "data-focus": label,
          disabled: to < 0 || to >= all.length,
          on: { click: () => choose({ sentence: to }) },
        },
        sign,
      );
    return h(
      "div",
      { class: "control-line" },
      turn(place - 1, "Previous sentence", "←"),
      h(
        "select",
        {
          class: "sentences",
          "aria-label": "Sentence",
          "data-focus": "sentence",
          on: { change: (event) => choose({ sentence: Number(event.target.value) }) },
        },
        ...all.map((sentence, k) =>
          h("option", { value: k, selected: k === place }, `${sentence.index + 1}: ${beginning(sentence.source)}`),
        ),
      ),
      turn(place + 1, "Next sentence", "→"),
      h("span", { class: "shown" }, `${place + 1} of ${all.length}`),
    );
  }

  function beginning(text) {
    const parts = text.split(/\s+/u);
    const begun = parts.slice(0, WORDS).join(" ");
    return begun.length > 60 || parts.length > WORDS ? `${begun.slice(0, 60)}…` : begun;
  }

  function texts(sentence) {
    const line = (term, text) =>
      h("div", {}, h("dt", {}, term), h("dd", { dir: "auto", class: "sentence" }, text || "(empty)"));
    return h("dl", { class: "texts" }, line("Source", sentence.source), line("Reference", sentence.reference));
  }

  function card(view, sentence, row) {
    const found = sentence.rows[row.key];
    const name = h(
      "button",
      { type: "button", class: "open", "data-focus": `card=${row.key}`, on: { click: () => choose({ row: row.key }) } },
      row.name,
    );
    const score = row.bleu ? h("span", { class: "muted" }, `BLEU ${number(row.bleu.mean)}`) : null;
    return h(
      "article",
      { class: "card", "aria-label": row.name },
      h(
        "h3",
        {},
        swatch(looks(view)(row)),
        name,
        dagger(row),
        row === view.baseline ? h("span", { class: "badge plain" }, "baseline") : null,
        score,
      ),
      h("p", { class: "sentence", dir: "auto" }, found.hypothesis || "(empty)"),
      heatmap(sentence, found, `Attention of ${row.name}, sentence ${sentence.index + 1}`),
    );
  }

  function more(all, shown) {
    if (all <= shown) return "";
    return h(
      "p",
      {},
      h(
        "button",
        { type: "button", class: "quiet", "data-focus": "more", on: { click: () => choose({ shown: shown + STEP }) } },
        `Show ${Math.min(STEP, all - shown)} more of ${all - shown}`,
      ),
    );
  }

  Object.assign(attnlab, { samples });
})();
