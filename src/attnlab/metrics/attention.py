"""What the weights look like, in a few numbers: sharp or flat, near the diagonal, on the gold words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from attnlab.metrics.alignment import Link


def attention_statistics(
    matrices: Sequence[np.ndarray], gold: Sequence[Iterable[Link]] | None = None
) -> dict[str, Any]:
    """Means over the target words of all sentences; rows of zeros (nothing attended to) are left out.

    For one row of weights w over S source words, with u = w / sum(w):

    - `entropy`: -sum u log u, in nats; `entropy_normalised`: divided by log S, rows with S = 1 left out.
    - `max_weight`: max w. `total`: sum w, which is 1 unless a window takes weight away.
    - `diagonal_distance`: sum_j u_j |(j + 1/2) / S - (t + 1/2) / T|, a share of the sentence, 0 on the
      diagonal, for target word t of T.
    - `gold_mass`: sum of w over the gold source words, rows without a gold link left out.

    Args:
        matrices: for each sentence weights [T, S].
        gold: for each sentence its links (source word, target word); None where unknown.

    Returns:
        The means (None where no row counts) and `words`, the number of rows.

    Raises:
        ValueError: `gold` has another number of sentences.
    """
    names = ("entropy", "entropy_normalised", "max_weight", "total", "diagonal_distance", "gold_mass")
    rows: dict[str, list[np.ndarray]] = {name: [] for name in names}
    if gold is not None and len(gold) != len(matrices):
        raise ValueError(f"{len(matrices)} matrices, but gold links for {len(gold)} sentences")
    for number, matrix in enumerate(matrices):
        weights = np.asarray(matrix, dtype=np.float64)
        if not weights.size:
            continue
        steps, size = weights.shape
        totals = weights.sum(1)
        kept = totals > 0
        weights, totals = weights[kept], totals[kept]
        shares = weights / totals[:, None]
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        entropy = -(shares * logs).sum(1) + 0.0  # + 0.0 turns -0 into 0
        rows["entropy"].append(entropy)
        if size > 1:
            rows["entropy_normalised"].append(entropy / np.log(size))
        rows["max_weight"].append(weights.max(1))
        rows["total"].append(totals)
        source = (np.arange(size) + 0.5) / size
        target = ((np.arange(steps) + 0.5) / steps)[kept]
        rows["diagonal_distance"].append((shares * np.abs(source[None] - target[:, None])).sum(1))
        if gold is not None:
            mask = np.zeros((steps, size), dtype=bool)
            for i, j in gold[number]:
                if j < steps and i < size:
                    mask[j, i] = True
            mask = mask[kept]
            rows["gold_mass"].append((weights * mask).sum(1)[mask.any(1)])
    result: dict[str, Any] = {name: _mean(values) for name, values in rows.items()}
    result["words"] = sum(len(values) for values in rows["entropy"])
    return result


def _mean(values: list[np.ndarray]) -> float | None:
    joined = np.concatenate(values) if values else np.zeros(0)
    return float(joined.mean()) if joined.size else None
