/* Attention of one sentence as a heat map: source tokens across, the translation's tokens down. */
"use strict";
(() => {
  const { h, FONT, chart, number, showTip, hideTip } = attnlab;
  const SPACE = "▁";
  const TIE = "‿";
  const LONGEST = 14; // characters of a label; the whole token is in the panel
  const LEAST = 0.004; // weights below are not to be seen

  const segmenter = globalThis.Intl?.Segmenter ? new Intl.Segmenter(undefined, { granularity: "grapheme" }) : null;
  const letters = (text) =>
    segmenter ? Array.from(segmenter.segment(text), ({ segment }) => segment) : Array.from(text);

  function shorten(token) {
    const signs = letters(token.replaceAll(SPACE, "").replaceAll(TIE, "") || token);
    const text = signs.length > LONGEST ? `${signs.slice(0, LONGEST - 1).join("")}…` : signs.join("");
    return {
      text,
      wide: signs.slice(0, LONGEST).reduce((sum, sign) => sum + (sign.codePointAt(0) > 0x2e7f ? 2 : 1), 0),
    };
  }

  /* The word each piece belongs to: by '▁' where any piece has it, else by ties. */
  function wordsOf(pieces) {
    const subword = pieces.some((piece) => piece.startsWith(SPACE));
    let word = -1;
    let tied = false;
    return pieces.map((piece, k) => {
      const joined =
        k > 0 && (subword ? !piece.startsWith(SPACE) : tied || (piece.startsWith(TIE) && piece.length > 1));
      if (!joined) word += 1;
      tied = !subword && piece.endsWith(TIE) && piece.length > 1;
      return word;
    });
  }

  /* Gold links as cells; null with the reason where they do not fit this translation. */
  function goldCells(sentence, found) {
    if (!sentence.gold) return { cells: null, why: null };
    const ended = found.pieces.filter((piece) => piece !== "</s>");
    const plain = (text) => text.split(/\s+/u).filter(Boolean);
    if (plain(found.hypothesis).join(" ") !== plain(sentence.reference).join(" ")) {
      return { cells: null, why: "Gold links belong to the reference, and this translation is another." };
    }
    const [source, target] = [wordsOf(found.source_pieces), wordsOf(ended)];
    if (source.at(-1) + 1 !== plain(sentence.source).length || target.at(-1) + 1 !== plain(sentence.reference).length) {
      return { cells: null, why: "The tokens do not add up to the words of the gold links." };
    }
    const links = new Set(sentence.gold.split(/\s+/u).map((link) => link.replace(/[?p]/, "-")));
    const cells = [];
    target.forEach((j, row) => source.forEach((i, column) => links.has(`${i}-${j}`) && cells.push({ row, column })));
    return { cells, why: null };
  }

  function heatmap(sentence, found, label) {
    const { source_pieces: source, pieces: target, weights } = found;
    if (!weights) return h("p", { class: "fine" }, "This cell has no attention over the source.");
    if (!source.length || !target.length) return h("p", { class: "fine" }, "An empty sentence has no weights.");
    const data = weights.flatMap((line, row) => line.map((weight, column) => ({ row, column, weight })));
    const gold = goldCells(sentence, found);
    const across = source.map(shorten);
    const down = target.map(shorten);
    const figure = chart({
      label,
      caption: gold.why ?? (gold.cells ? "Outlined: gold links." : null),
      className: "heat",
      draw: (width) => interactive(plot(data, gold.cells ?? [], across, down, width), source, target),
      table: () => ({
        head: ["Translation", ...source],
        rows: target.map((token, row) => [token, ...(weights[row] ?? []).map((weight) => number(weight, 2))]),
      }),
    });
    return figure;
  }

  function plot(data, gold, across, down, width) {
    const left =
      14 +
      7 *
        Math.min(
          LONGEST,
          d3.max(down, ({ wide }) => wide),
        );
    const longest = Math.min(
      LONGEST,
      d3.max(across, ({ wide }) => wide),
    );
    const dense = (width - left) / across.length < 20; // then only upright labels are apart
    const turn = longest <= 2 ? 0 : dense ? -90 : -45;
    const top = turn === 0 ? 26 : turn === -45 ? 16 + 5.6 * longest : 12 + 7 * longest;
    const right = turn === -45 ? 12 + 4 * Math.min(LONGEST, across.at(-1).wide) : 8;
    // As large as the width lets it, within what the eye takes for a map; a long sentence scrolls.
    const size = Math.max(13, Math.min(30, (width - left - right) / across.length));
    const fontSize = size < 16 ? 11 : 12;
    const drawn = Plot.plot({
      width: left + right + size * across.length,
      height: top + 6 + size * down.length,
      marginLeft: left,
      marginTop: top,
      marginRight: right,
      marginBottom: 6,
      style: { ...FONT, maxWidth: "none" },
      x: { type: "band", domain: d3.range(across.length), axis: null, padding: 0.06 },
      y: { type: "band", domain: d3.range(down.length), axis: null, padding: 0.06 },
      opacity: { domain: [0, 1], range: [0, 1] },
      marks: [
        Plot.cell(data, { x: "column", y: "row", fill: "var(--heat-empty)", rx: 2 }),
        Plot.cell(
          data.filter(({ weight }) => weight > LEAST),
          { x: "column", y: "row", fill: "var(--heat)", fillOpacity: "weight", rx: 2 },
        ),
        Plot.cell(gold, {
          x: "column",
          y: "row",
          fill: "none",
          stroke: "var(--gold)",
          strokeWidth: 1.8,
          rx: 2,
          inset: -0.5,
        }),
        Plot.axisX({
          anchor: "top",
          tickSize: 0,
          tickPadding: 5,
          tickRotate: turn,
          textAnchor: turn ? "start" : "middle",
          tickFormat: (k) => across[k].text,
          label: null,
          fontSize,
        }),
        Plot.axisY({ tickSize: 0, tickPadding: 6, tickFormat: (k) => down[k].text, label: null, fontSize }),
        Plot.cell(
          data,
          Plot.pointer({
            x: "column",
            y: "row",
            fill: "none",
            stroke: "var(--ink)",
            strokeWidth: 1.5,
            rx: 2,
            maxRadius: size,
          }),
        ),
      ],
    });
    return drawn;
  }

  function interactive(drawn, source, target) {
    const svg = drawn.tagName === "svg" ? drawn : drawn.querySelector("svg");
    drawn.addEventListener("input", () => {
      const cell = drawn.value;
      if (!cell) return hideTip();
      const box = svg.getBoundingClientRect();
      const [x, y] = [drawn.scale("x"), drawn.scale("y")];
      showTip(
        box.left + x.apply(cell.column) + x.bandwidth,
        box.top + y.apply(cell.row) + y.bandwidth / 2,
        h("p", { class: "tip-title" }, h("bdi", {}, target[cell.row]), " ← ", h("bdi", {}, source[cell.column])),
        h("p", {}, `weight ${number(cell.weight, 3)}`),
      );
    });
    svg.addEventListener("pointerleave", hideTip);
    return drawn;
  }

  Object.assign(attnlab, { heatmap });
})();
