/* The columns of the table of all cells: what each shows, sorts by and says about itself. */
"use strict";
(() => {
  const {
    h,
    number,
    signed,
    interval,
    probability,
    short,
    duration,
    memory,
    missing,
    words,
    seedCell,
    spread,
    difference,
    whisker,
  } = attnlab;

  /* {id, label, title, value(row) to sort by, cell(row) to show, digits} */
  function columns(view, kind) {
    const overrides = [...new Set(view.one.rows.flatMap((row) => Object.keys(row.overrides ?? {})))];
    const metrics = [...new Set(view.one.rows.flatMap((row) => Object.keys(row.metrics ?? {})))];
    const all = [
      column(
        "bleu",
        "BLEU",
        "Mean over the seeds ± sample deviation",
        (row) => row.bleu?.mean,
        (row) => spread(row.bleu),
      ),
      {
        ...column(
          "ci",
          "Interval",
          "Interval over sentences, and over seeds where there are several; the line is the baseline",
          (row) => row.bleu?.ci?.[0],
          null,
        ),
        cell: whiskers(view),
      },
      column(
        "delta",
        "Δ baseline",
        "Difference from the baseline; where it was tested its interval, and * if significant after Holm",
        (row) => row.test?.delta ?? untested(view, row),
        (row) => against(row.test, row.isBaseline, 2, untested(view, row)),
      ),
      column(
        "p",
        "p (Holm)",
        "Approximate randomisation, two-sided, after Holm",
        (row) => row.test?.p_holm,
        (row) => probability(row.test?.p_holm),
      ),
      column(
        "slope",
        "Slope",
        `BLEU per 10 ${words(kind)}: what longer sentences cost`,
        (row) => row.lengths?.[kind]?.slope?.value,
        slope(kind),
      ),
      column(
        "chrf",
        "chrF",
        "Mean over the seeds ± sample deviation",
        (row) => row.chrf?.mean,
        (row) => spread(row.chrf),
      ),
      ...metrics.flatMap((name) => [
        column(
          `metric.${name}`,
          name,
          "Segment scores from elsewhere: mean over sentences and seeds",
          (row) => row.metrics?.[name]?.mean,
          (row) => spread(row.metrics?.[name], 4),
        ),
        column(
          `metric.delta.${name}`,
          `Δ ${name}`,
          "Difference from the baseline, its interval, and * where significant after Holm",
          (row) => row.metrics?.[name]?.test?.delta,
          (row) => against(row.metrics?.[name]?.test, row.isBaseline, 4),
        ),
      ]),
      column("ter", "TER", "Translation edit rate: lower is better", (row) => row.ter, plain("ter", 2)),
      column(
        "aer",
        "AER",
        "Alignment error rate by forced decoding, weights credited to the token they predict; lower is better",
        (row) => row.aer?.predicted,
        (row) => number(row.aer?.predicted, 3),
      ),
      column(
        "aer_input",
        "AER (input)",
        "The same, weights credited to the token that is read",
        (row) => row.aer?.input,
        (row) => number(row.aer?.input, 3),
      ),
      column("entropy", "Entropy", "Mean entropy of the attention, 0 to 1", (row) => row.entropy, plain("entropy", 3)),
      ...overrides.map((name) =>
        column(
          `override.${name}`,
          words(name),
          `Change in BLEU where the attention weights are replaced at test time: ${words(name)}`,
          (row) => row.overrides?.[name]?.delta,
          (row) => signed(row.overrides?.[name]?.delta),
        ),
      ),
      column(
        "perplexity",
        "Perplexity",
        "On the test set's references",
        (row) => row.perplexity,
        plain("perplexity", 2),
      ),
      column(
        "length_ratio",
        "Length ratio",
        "Words of the translation over words of the reference",
        (row) => row.length_ratio,
        plain("length_ratio", 3),
      ),
      column(
        "parameters",
        "Parameters",
        "All, trained",
        (row) => row.cost?.parameters,
        (row) => short(row.cost?.parameters),
      ),
      column(
        "attention",
        "Attention",
        "Parameters of scorer and window",
        (row) => row.cost?.attention,
        (row) => short(row.cost?.attention),
      ),
      column(
        "tokens_per_s",
        "Tokens/s",
        "Target tokens a second in training",
        (row) => row.cost?.tokens_per_s,
        (row) => short(row.cost?.tokens_per_s),
      ),
      column(
        "wall_s",
        "Time",
        "Wall time of a training, mean over the seeds",
        (row) => row.cost?.wall_s,
        (row) => duration(row.cost?.wall_s),
      ),
      column(
        "peak_memory",
        "Memory",
        "Peak of a training",
        (row) => row.cost?.peak_memory,
        (row) => memory(row.cost?.peak_memory),
      ),
      column(
        "updates",
        "Updates",
        "Of a training, mean over the seeds",
        (row) => row.cost?.updates,
        (row) => short(row.cost?.updates),
      ),
    ];
    const known = all.filter(({ value }) => view.one.rows.some((row) => !missing(value(row))));
    return [
      {
        id: "name",
        label: "Cell",
        title: "What the cell is made of",
        value: (row) => row.name.toLowerCase(),
        text: true,
      },
      ...known,
      seeds(),
    ];
  }

  function column(id, label, title, value, cell) {
    return { id, label, title, value, cell };
  }

  const plain = (key, digits) => (row) => number(row[key], digits);

  function seeds() {
    const title = "Finished seeds, each a link to its record; failed, interrupted and missing ones named";
    return { id: "seeds", label: "Seeds", title, value: (row) => row.runs.length, cell: seedCell };
  }

  const slope = (kind) => (row) => {
    const found = row.lengths?.[kind]?.slope;
    return found ? [signed(found.value), h("span", { class: "muted small" }, ` ${interval(found.ci)}`)] : "–";
  };

  function whiskers(view) {
    const ends = view.one.rows.flatMap((row) => row.bleu?.ci ?? (missing(row.bleu?.mean) ? [] : [row.bleu.mean]));
    const scale = d3.scaleLinear(d3.extent(ends), [3, 97]);
    const base = view.baseline?.bleu?.mean;
    return ({ bleu }) =>
      whisker({ value: bleu?.mean, ci: bleu?.ci, base, scale, label: `${number(bleu?.mean)} ${interval(bleu?.ci)}` });
  }

  /* A difference from the baseline, where there is one. */
  function against(test, isBaseline, digits, plainly = null) {
    if (test) return difference(test, digits);
    return isBaseline ? h("span", { class: "muted" }, "baseline") : signed(plainly, digits);
  }

  /* The difference of two means that no test speaks of: no mark, no interval. */
  function untested({ baseline }, row) {
    const known = baseline && row.key !== baseline.key && ![row.bleu?.mean, baseline.bleu?.mean].some(missing);
    return known ? row.bleu.mean - baseline.bleu.mean : null;
  }

  Object.assign(attnlab, { columns });
})();
