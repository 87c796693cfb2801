"""What the weights look like, in a few numbers: sharp or flat, near the diagonal, on the gold words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.metrics.length import buckets
from attnlab.metrics.links import Link

NAMES = ("entropy", "entropy_normalised", "max_weight", "total", "diagonal_distance", "gold_mass")
BY_LENGTH = ("entropy_normalised", "max_weight", "diagonal_distance", "gold_mass")
Rows = dict[str, np.ndarray]


def row_statistics(matrix: np.ndarray, gold: Iterable[Link] | None = None) -> Rows:
    """The statistics of each row of one sentence; rows of zeros (nothing attended to) are left out.

    For one row of weights w over S source words, with u = w / sum(w):

    - `entropy`: -sum u log u, in nats; `entropy_normalised`: divided by log S, rows with S = 1 left out.
    - `max_weight`: max w. `total`: sum w, which is 1 unless a window takes weight away.
    - `diagonal_distance`: sum_j u_j |(j + 1/2) / S - (t + 1/2) / T|, a share of the sentence, 0 on the
      diagonal, for target word t of T.
    - `gold_mass`: sum of w over the gold source words, rows without a gold link left out.

    Args:
        matrix: weights [T, S].
        gold: links (source word, target word); None where unknown.
    """
    weights = np.asarray(matrix, dtype=np.float64)
    nothing = np.zeros(0)
    if not weights.size:
        return dict.fromkeys(NAMES, nothing)
    steps, size = weights.shape
    totals = weights.sum(1)
    kept = totals > 0
    weights, totals = weights[kept], totals[kept]
    shares = weights / totals[:, None]
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    entropy = -(shares * logs).sum(1) + 0.0  # + 0.0 turns -0 into 0
    source = (np.arange(size) + 0.5) / size
    target = ((np.arange(steps) + 0.5) / steps)[kept]
    mask = np.zeros((steps, size), dtype=bool)
    for i, j in gold or ():
        if j < steps and i < size:
            mask[j, i] = True
    mask = mask[kept]
    return {
        "entropy": entropy,
        "entropy_normalised": entropy / np.log(size) if size > 1 else nothing,
        "max_weight": weights.max(1),
        "total": totals,
        "diagonal_distance": (shares * np.abs(source[None] - target[:, None])).sum(1),
        "gold_mass": (weights * mask).sum(1)[mask.any(1)],
    }


def rows_of(matrices: Sequence[np.ndarray], gold: Sequence[Iterable[Link]] | None = None) -> list[Rows]:
    """`row_statistics` of each sentence.

    Args:
        matrices: for each sentence weights [T, S].
        gold: for each sentence its links (source word, target word); None where unknown.

    Raises:
        ValueError: `gold` has another number of sentences.
    """
    if gold is not None and len(gold) != len(matrices):
        raise ValueError(f"{len(matrices)} matrices, but gold links for {len(gold)} sentences")
    return [row_statistics(m, None if gold is None else gold[n]) for n, m in enumerate(matrices)]


def means_of(rows: Sequence[Rows]) -> dict[str, Any]:
    """Means over the rows of all sentences (None where no row counts) and `words`, the number of rows."""
    result: dict[str, Any] = {name: _mean([each[name] for each in rows]) for name in NAMES}
    result["words"] = sum(len(each["entropy"]) for each in rows)
    return result


def attention_statistics(
    matrices: Sequence[np.ndarray], gold: Sequence[Iterable[Link]] | None = None
) -> dict[str, Any]:
    """`means_of` the rows of all sentences; the arguments are those of `rows_of`."""
    return means_of(rows_of(matrices, gold))


def sentence_means(rows: Sequence[Rows], name: str) -> np.ndarray:
    """Mean of one statistic over the rows of each sentence, float32 [n]; NaN where no row counts."""
    means = [_mean([each[name]]) for each in rows]
    return np.array([np.nan if mean is None else mean for mean in means], dtype=np.float32)


def sharpness_by_length(
    rows: Sequence[Rows], lengths: Sequence[int], edges: Sequence[int], read: Sequence[Rows] | None = None
) -> list[dict[str, Any]]:
    """Sharpness by length: `{lo, hi, n, entropy_normalised, max_weight, diagonal_distance, gold_mass}`.

    Means over the rows of the n sentences of a bucket, None where no row counts.

    Args:
        rows: of each sentence while it was searched for.
        lengths: of each sentence; what is counted is the caller's to say.
        edges: upper edges of the buckets, inclusive.
        read: rows of each sentence while its reference was read, which alone `gold_mass` is about.
    """
    table = []
    for bucket in buckets(lengths, edges):
        members = bucket["members"]
        sources: Mapping[str, Sequence[Rows] | None] = {**dict.fromkeys(BY_LENGTH, rows), "gold_mass": read}
        means = {
            name: None if given is None else _mean([given[k][name] for k in members])
            for name, given in sources.items()
        }
        table.append({"lo": bucket["lo"], "hi": bucket["hi"], "n": len(members), **means})
    return table


def _mean(values: list[np.ndarray]) -> float | None:
    joined = np.concatenate(values) if values else np.zeros(0)
    return float(joined.mean()) if joined.size else None
