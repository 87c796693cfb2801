/* The numbers of the worked example at one point: the tree that attnlab/explain/numbers.py makes of the framework's
   own classes. A test holds the two equal. */
"use strict";
(() => {
  const { example } = attnlab.data;
  if (!example) return;
  const { H, W, U, V, W_P, V_P, SOURCE, TARGET, LONGEST, GROWTH, fixed } = example;

  const sum = (values) => values.reduce((all, value) => all + value, 0);
  const dot = (a, b) => sum(a.map((value, k) => value * b[k]));
  const times = (matrix, vector) => matrix.map((row) => dot(row, vector));
  const norm = (vector) => Math.sqrt(dot(vector, vector));
  const most = (values) => values.indexOf(Math.max(...values));
  const distance = (a, b) => sum(a.map((value, k) => Math.abs(value - b[k]))) / a.length;

  function dotScore(s) {
    const products = H.map((h) => h.map((value, k) => value * s[k]));
    const score = H.map((h) => dot(h, s));
    const lengths = H.map(norm);
    const own = norm(s);
    const shadow = score.map((value, j) => value / lengths[j]);
    return {
      products,
      score,
      norm: lengths,
      cosine: shadow.map((value) => value / Math.max(own, 1e-12)),
      shadow,
      rise: shadow.map((value) => Math.sqrt(Math.max(own ** 2 - value ** 2, 0))),
    };
  }

  function additiveScore(s) {
    const Ws = times(W, s);
    const Uh = H.map((h) => times(U, h));
    const inside = Uh.map((key) => key.map((value, u) => value + Ws[u]));
    const tanh = inside.map((units) => units.map(Math.tanh));
    const terms = tanh.map((units) => units.map((value, u) => value * V[u]));
    return { Ws, Uh, inside, tanh, terms, score: terms.map(sum) };
  }

  function entropy(weights) {
    const total = sum(weights);
    return -sum(weights.filter((a) => a > 0).map((a) => (a / total) * Math.log(a / total))) + 0;
  }

  function softmax(e) {
    const top = Math.max(...e);
    const bright = e.map((score) => Math.exp(score - top));
    const a = bright.map((value) => value / sum(bright));
    const total = sum(e);
    const divided = e.map((score) => score / total);
    return {
      e,
      sum_e: total,
      bright,
      exp: e.map(Math.exp),
      total: sum(e.map(Math.exp)),
      divided,
      divided_shown: divided.map((value) => (Number.isNaN(value) ? 0 : Math.max(-1.8, Math.min(1.8, value)))),
      jacobian: a.map((ai, i) => a.map((aj, j) => ai * ((i === j) - aj))),
      a,
      sum_a: sum(a),
    };
  }

  function context(a, slots) {
    const scaled = H.map((h, j) => h.map((value) => a[j] * value));
    const chain = [H[0].map(() => 0)];
    for (const state of scaled) chain.push(chain.at(-1).map((value, k) => value + state[k]));
    const c = chain.at(-1);
    const distances = H.map((h) => distance(c, h));
    const heaviest = most(a);
    const nearest = distances.indexOf(Math.min(...distances));
    const pair = (vector) => slots.map((slot) => vector[slot]);
    return {
      scaled,
      c,
      cosine: H.map((h) => dot(c, h) / (norm(c) * norm(h))),
      distance: distances,
      hard: H[heaviest],
      gap: distances[heaviest],
      heaviest: SOURCE[heaviest],
      nearest: SOURCE[nearest],
      verdict: heaviest === nearest ? "the same state" : "another state",
      plane: {
        slots: slots.map((slot) => slot + 1),
        states: H.map(pair),
        chain: chain.map(pair),
        hard: pair(H[heaviest]),
      },
    };
  }

  /* Weights of equal scores over a source of some size; positions count from 1. */
  function weighed(kind, { state, half_width: D }, size, step) {
    if (kind === "global") return { first: 1, last: size, weights: Array(size).fill(1 / size) };
    const guess = dot(V_P, times(W_P, state).map(Math.tanh));
    const predicts = kind === "local_p";
    const centre = predicts ? size / (1 + Math.exp(-guess)) : Math.min(step, size);
    const middle = Math.max(1, Math.min(size, Math.floor(centre)));
    const [first, last] = [Math.max(1, middle - D), Math.min(size, middle + D)];
    const weights = Array.from({ length: size }, (_, k) => {
      if (k + 1 < first || k + 1 > last) return 0;
      const share = 1 / (last - first + 1);
      return predicts ? share * Math.exp(-((k + 1 - centre) ** 2) / (2 * (D / 2) ** 2)) : share;
    });
    return { first, last, weights, centre };
  }

  function windows(point) {
    const { places: S, half_width: D, step } = point;
    const shown = { S, D, t: step, sigma: D / 2, bound: Math.log(2 * D + 1) };
    shown.there = Array.from({ length: LONGEST }, (_, k) => Number(k < S));
    const growth = {};
    for (const kind of ["global", "local_m", "local_p"]) {
      const { first, last, weights, centre } = weighed(kind, point, S, step);
      const padded = [...weights, ...Array(LONGEST - S).fill(0)];
      shown[kind] = { weights: padded, sum: sum(weights), scored: last - first + 1, first, last, centre };
      shown[kind].entropy = entropy(weights);
      growth[kind] = Array.from({ length: GROWTH }, (_, k) => entropy(weighed(kind, point, k + 1, Math.ceil((k + 1) / 2)).weights));
    }
    const { centre, scored } = shown.local_p;
    shown.gauss = shown.there.map((there, k) => (there * Math.exp(-((k + 1 - centre) ** 2) / (2 * (D / 2) ** 2))) / scored);
    return { window: shown, growth };
  }

  function numbers(point) {
    const scores = { dot: dotScore(point.state), additive: additiveScore(point.state) };
    const shares = softmax(scores[point.additive ? "additive" : "dot"].score);
    return {
      s: point.state,
      output: point.output,
      target: TARGET[point.output - 1],
      ...scores,
      scorer: point.additive ? "additive" : "dot product",
      ...shares,
      ...context(shares.a, point.slots),
      ...fixed,
      ...windows(point),
    };
  }

  Object.assign(attnlab, { numbers });
})();
