"""Bootstrap over sentences from cached statistics (Koehn 2004), with seeds as a random factor (`seeds`).

A draw is a vector of counts: how often each sentence is in the pseudo-corpus. All pseudo-corpora of all
systems are then one matrix product of counts and statistics, and each system is scored on the same draws,
which is what makes the test a paired one.

The p-value is two-sided: the share of draws that lie at least as far from their own mean, on either side,
as the difference lies from 0 (Efron and Tibshirani 1993, section 16.4, by shifting the draws to the null
hypothesis). `sacrebleu --paired-bs`, after the Moses script and Riezler and Maxwell (2005), takes the size
of each draw's difference before it subtracts the mean, and so counts one side only: its p is about half of
this one, and at 5 % it calls about 10 % of equal systems different (`benchmarks/false_positives.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from attnlab.errors import UserError
from attnlab.metrics.scoring import Score
from attnlab.metrics.seeds import ATOL, Drawn, limits, stretch, tail

SEED = 12345  # sacrebleu's


class Difference(NamedTuple):
    """Mean score of the first system less that of the second, its interval, and the two-sided p."""

    delta: float
    low: float
    high: float
    p: float


@lru_cache(maxsize=64)
def draws(n: int, samples: int, seed: int) -> np.ndarray:
    """Counts [samples, n] of n sentences drawn n times with replacement; a function of its arguments.

    Kept, since drawing takes longer than scoring, and the systems of a report are scored on the same draws;
    hence small and read-only.
    """
    if n < 1:
        raise UserError("there are no sentences to draw from; give a test set with at least one")
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=samples).astype(np.int16)
    counts.setflags(write=False)
    return counts


def resample(systems: Sequence[np.ndarray], score: Score, counts: np.ndarray) -> list[Drawn]:
    """Every system's runs, scored as they are and on each of the draws.

    Args:
        systems: statistics [runs, n, k] of each; the runs may differ in number.
        score: of sums [..., k].
        counts: draws [samples, n].

    Raises:
        UserError: the systems have other sentences than the draws.
    """
    systems = [runs_of(stats) for stats in systems]
    check_same_sentences([*systems, counts.T[None]])
    weights = counts.astype(np.float64)  # whole numbers: sums are exact, and the product is BLAS's
    drawn = []
    for stats in systems:
        runs, n, k = stats.shape
        flat = stats.transpose(1, 0, 2).reshape(n, runs * k).astype(np.float64)
        sums = (weights @ flat).reshape(-1, runs, k)
        drawn.append(Drawn(score(flat.sum(0).reshape(runs, k)), score(sums)))
    return drawn


def interval(
    stats: np.ndarray, score: Score, *, samples: int = 1000, level: float = 0.95, seed: int = SEED
) -> tuple[float, float] | None:
    """Percentile interval of the mean over the seeds of a system's corpus score.

    Args:
        stats: statistics [runs, n, k] (or [n, k]), one run a seed. With one run the interval is over
            sentences alone and speaks for that run.
        score: of sums [..., k].
        samples: draws; with 0 of them, or without sentences, there is no interval (None).
        level: share of the draws inside.
        seed: of the draws.
    """
    stats = runs_of(stats)
    if not samples or not stats.shape[1]:
        return None
    (drawn,) = resample([stats], score, draws(stats.shape[1], samples, seed))
    return interval_of(drawn, level)


def interval_of(drawn: Drawn, level: float) -> tuple[float, float]:
    """The interval of `interval` for a system that is drawn already."""
    values = drawn.samples.mean(1)
    return limits(values, level, stretch([drawn], float(values.var())))


def difference(
    a: np.ndarray,
    b: np.ndarray,
    score: Score,
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = SEED,
) -> Difference:
    """Paired bootstrap test of systems a [runs, n, k] and b [runs, n, k] over the same n sentences.

    With one run each it is the usual test over sentences; with more, `seeds` tells what is added. Equal
    scores have delta 0 and p = 1, and so has whatever rests on a single sentence.

    Raises:
        UserError: the systems have other sentences, or none, or no draws are wanted.
    """
    a, b = runs_of(a), runs_of(b)
    check_same_sentences([a, b])
    check_count("samples", samples)
    n = a.shape[1]
    first, second = resample([a, b], score, draws(n, samples, seed))
    return difference_of(first, second, level, n)


def difference_of(a: Drawn, b: Drawn, level: float, n: int) -> Difference:
    """The test of `difference` for two systems on the same draws of n sentences."""
    delta = delta_of(a, b)
    moved = a.samples.mean(1) - b.samples.mean(1)
    by = stretch([a, b], float(moved.var()))
    low, high = limits(moved, level, by)
    return Difference(delta, low, high, 1.0 if n < 2 else tail(moved - moved.mean(), delta, by))


def delta_of(a: Drawn, b: Drawn) -> float:
    """Difference of the mean scores; exactly 0 for scores that differ by rounding only."""
    delta = a.estimate - b.estimate
    return 0.0 if abs(delta) <= ATOL else delta


def runs_of(stats: np.ndarray) -> np.ndarray:
    """Statistics as [runs, n, k]; [n, k] are those of one run."""
    stats = np.asarray(stats)
    if stats.ndim not in (2, 3) or not stats.shape[0]:
        raise UserError(f"statistics of shape {list(stats.shape)}: give [runs, sentences, statistics]")
    return stats[None] if stats.ndim == 2 else stats


def check_same_sentences(systems: Sequence[np.ndarray]) -> None:
    """Refuse systems [runs, n, k] that have not the same number of sentences."""
    found = sorted({stats.shape[1] for stats in systems})
    if len(found) > 1:
        raise UserError(f"systems of {' and '.join(map(str, found))} sentences: compare on one test set")


def check_count(name: str, value: int) -> None:
    """Refuse a number of draws or trials below 1."""
    if value < 1:
        raise UserError(f"{name}={value}: a test needs at least 1; 1000 is usual")
