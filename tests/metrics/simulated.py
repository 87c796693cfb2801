"""Runs of made-up systems whose true quality is known, as BLEU statistics.

For the tests of this folder and for benchmarks/false_positives.py.

A word of a sentence is translated rightly where a sum is above 0: the run's quality, the difficulty of the
sentence and of the word (the same for all systems), how well the system suits the sentence (the same for its
seeds), and chance. n-grams match where all their words are right; lengths of hypotheses vary about those of
the references.
"""

from typing import Any

import numpy as np

ORDER = 4
CHANCE = 1.9
POINT = 0.054
"""Quality that moves BLEU by one point here (measured; see the test of it)."""


class World:
    """One test set of n sentences: lengths and difficulties, drawn anew for each world."""

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        self.rng = rng
        self.lengths = np.clip(np.rint(rng.gamma(5.0, 3.6, n)), 3, 40).astype(int)
        word = rng.standard_normal((n, self.lengths.max()), dtype=np.float32)
        self.difficulty = (0.6 * rng.standard_normal(n)[:, None] + 1.5 * word).astype(np.float32)

    def system(
        self, runs: int, *, points: float = 0.0, seed_points: float = 0.0, own: float = 0.0, **run: Any
    ) -> np.ndarray:
        """Statistics [runs, n, 10] of a system.

        Args:
            runs: seeds.
            points: quality above the usual one, in points of BLEU.
            seed_points: standard deviation of that over seeds.
            own: standard deviation of what suits this system in a sentence (words: 1.5).
            run: options of `run`.
        """
        suits = self.rng.normal(0, own, (len(self.lengths), 1)) if own else 0.0
        return np.stack(
            [self.run(points + self.rng.normal(0, seed_points), suits, **run) for _ in range(runs)]
        )

    def run(self, points: float, suits: Any = 0.0, tilt: float = 0.0) -> np.ndarray:
        """Statistics [n, 10] of one run; `tilt`: points of quality lost with each 10 words of a reference."""
        n, longest = self.difficulty.shape
        points = np.float32(points) - tilt * (self.lengths[:, None] - 18) / 10
        chance = CHANCE * self.rng.standard_normal((n, longest), dtype=np.float32)
        quality = (0.85 + POINT * points + suits).astype(np.float32)
        length = np.maximum(self.lengths + self.rng.integers(-1, 2, n), 1)
        within = np.arange(longest) < np.minimum(length, self.lengths)[:, None]
        right = within & (self.difficulty + chance > -quality)
        matches, totals = [], []
        for order in range(1, ORDER + 1):
            grams = right[:, order - 1 :].copy()
            for back in range(1, order):
                grams &= right[:, order - 1 - back : longest - back]
            matches.append(grams.sum(1))
            totals.append(np.maximum(length - order + 1, 0))
        return np.stack([length, self.lengths, *matches, *totals], axis=1)
