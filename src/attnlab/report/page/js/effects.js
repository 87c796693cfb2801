/* Main effects and interactions of the axes: the table of the model, and each level with its interval. */
"use strict";
(() => {
  const {
    state,
    choose,
    h,
    FONT,
    chart,
    plainTable,
    scrolled,
    number,
    signed,
    interval,
    probability,
    missing,
    words,
    showTip,
    hideTip,
  } = attnlab;
  const ROW = 26; // pixels a level

  function effects(view, body) {
    const found = view.one.effects && { ...view.one.effects, note: view.one.effects_note };
    if (!found?.terms?.length) return false;
    const terms = [...new Set(found.levels.map((level) => level.factors.join(" × ")))];
    const term = terms.includes(state.effect) ? state.effect : terms[0];
    const levels = found.levels.filter((level) => level.factors.join(" × ") === term);
    body.replaceChildren(
      h(
        "div",
        { class: "pair" },
        h(
          "div",
          {},
          h("h3", {}, "How much each axis explains"),
          scrolled("Table of effects", model(found)),
          dropped(found),
        ),
        terms.length
          ? h(
              "div",
              {},
              h("div", { class: "panel-head" }, h("h3", {}, "Levels"), picker(terms, term)),
              dots(levels, term),
            )
          : null,
      ),
    );
    return true;
  }

  const name = (factors) => factors.map(words).join(" × ");

  function model(found) {
    const rows = found.terms.map((term) => [
      name(term.factors),
      String(term.df),
      number(term.F),
      probability(term.p),
      number(term.share, 3),
    ]);
    return plainTable(["Term", "df", "F", "p", "Partial η²"], rows);
  }

  function dropped(found) {
    const said = [];
    if (!missing(found.n)) said.push(`${found.n} runs, ${found.residual_df} residual degrees of freedom.`);
    if (found.dropped?.length) said.push(`${found.dropped.join("; ")}.`);
    if (found.note) said.push(found.note);
    return said.length ? h("p", { class: "fine" }, said.join(" ")) : null;
  }

  function picker(terms, term) {
    return h(
      "select",
      {
        "aria-label": "Effect",
        "data-focus": "effect",
        on: { change: (event) => choose({ effect: event.target.value }) },
      },
      ...terms.map((one) => h("option", { value: one, selected: one === term }, words(one))),
    );
  }

  function dots(levels, term) {
    const points = levels
      .map((level) => ({ ...level, label: level.options.join(", ") }))
      .sort((a, b) => b.effect - a.effect);
    const say = (point) => `${signed(point.effect)} ${missing(point.low) ? "" : interval([point.low, point.high])}`;
    return chart({
      label: `Effect of ${words(term)} on BLEU`,
      caption: term.includes("×")
        ? "BLEU beyond what the options add each on their own, with its interval."
        : "BLEU above or below the average option, with its interval.",
      draw: (width) => {
        const left = Math.min(width * 0.5, 16 + 7 * d3.max(points, (point) => point.label.length));
        const drawn = Plot.plot({
          width,
          height: 66 + ROW * points.length,
          marginLeft: left,
          marginRight: 16,
          marginBottom: 50,
          style: FONT,
          x: {
            nice: true,
            ticks: 5,
            tickSize: 0,
            label: "Effect in BLEU",
            labelAnchor: "center",
            labelOffset: 38,
            labelArrow: "none",
          },
          y: {
            domain: points.map((point) => point.label),
            label: null,
            tickSize: 0,
            tickFormat: (text) => cut(text, left / 7),
          },
          marks: [
            Plot.gridX({ ticks: 5, stroke: "var(--line)", strokeOpacity: 1 }),
            Plot.ruleX([0], { stroke: "var(--muted)", strokeDasharray: "5 3" }),
            Plot.ruleY(points, {
              y: "label",
              x1: "low",
              x2: "high",
              stroke: "var(--series-1)",
              strokeWidth: 2.5,
              strokeOpacity: 0.5,
            }),
            Plot.dot(points, { y: "label", x: "effect", r: 5, fill: "var(--series-1)" }),
            Plot.dot(points, Plot.pointerY({ y: "label", x: "effect", r: 8, stroke: "var(--ink)", maxRadius: 30 })),
          ],
        });
        const svg = drawn.tagName === "svg" ? drawn : drawn.querySelector("svg");
        drawn.addEventListener("input", () => {
          if (!drawn.value) return hideTip();
          const box = svg.getBoundingClientRect();
          const x = box.left + drawn.scale("x").apply(drawn.value.effect);
          const y = box.top + drawn.scale("y").apply(drawn.value.label) + ROW / 2;
          showTip(x, y, h("p", { class: "tip-title" }, drawn.value.label), h("p", {}, say(drawn.value)));
        });
        svg.addEventListener("pointerleave", hideTip);
        return drawn;
      },
      table: () => ({ head: [words(term), "Effect"], rows: points.map((point) => [point.label, say(point)]) }),
    });
  }

  const cut = (text, most) => (text.length > most ? `${text.slice(0, Math.max(3, most - 2))}…` : text);

  Object.assign(attnlab, { effects });
})();
