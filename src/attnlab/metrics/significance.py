"""Tests between systems: approximate randomisation, the paired bootstrap beside it, and Holm's correction.

Approximate randomisation (Noreen 1989; for translation Riezler and Maxwell 2005): if two systems are equal,
it does not matter which of them a sentence's translation came from. Each trial swaps the two translations
of each sentence with chance 1/2 and scores both sides again. Over several seeds a sentence's translations of
all runs of a system are swapped together, as their average statistics, so that every run counts and the
numbers of runs may differ; the null distribution is then widened for the seeds as that of the bootstrap is
(`seeds`, which also says why the shuffling of Clark et al. 2011 is not enough).

Trials depend on the seed and the number of sentences alone: a pair's numbers are the same whichever other
systems are compared, and in whichever order. Draws that reach the difference exactly are counted (Noreen's
rule); sacrebleu counts only those beyond it, which calls two systems that differ in one sentence different.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from attnlab.errors import UserError
from attnlab.metrics.bootstrap import (
    SEED,
    check_count,
    check_same_sentences,
    delta_of,
    difference_of,
    draws,
    resample,
    runs_of,
)
from attnlab.metrics.scoring import Score
from attnlab.metrics.seeds import onto, stretch, tail

_CHUNK = 500  # trials at a time: 12 MB for 3,000 sentences


class Test(NamedTuple):
    """One comparison: `delta` is the mean score of `first` less that of `second` (the baseline).

    `p_holm` corrects `p_randomisation` and `p_holm_bootstrap` corrects `p_bootstrap`, over all tests of one
    call; `significant` is by `p_holm`. All are two-sided. `seeds` counts the runs of either.
    """

    first: str
    second: str
    delta: float
    low: float
    high: float
    p_bootstrap: float
    p_randomisation: float
    p_holm: float
    p_holm_bootstrap: float
    significant: bool
    seeds: tuple[int, int]


def randomisation(
    a: np.ndarray,
    b: np.ndarray,
    score: Score,
    *,
    trials: int = 10000,
    seed: int = SEED,
    samples: int = 1000,
) -> float:
    """Two-sided p of approximate randomisation for systems a [runs, n, k] and b [runs, n, k].

    Args:
        a: statistics of the first system, one run a seed ([n, k]: one run).
        b: those of the second over the same sentences.
        score: of sums [..., k].
        trials: random assignments.
        seed: of the trials.
        samples: bootstrap draws that tell the parts of the variance apart where there is more than one seed.

    Raises:
        UserError: the systems have other sentences, or none, or no trials are wanted.
    """
    tests = compare({"a": a, "b": b}, score, baseline="b", samples=samples, trials=trials, seed=seed)
    return tests[0].p_randomisation


def compare(
    systems: Mapping[str, np.ndarray],
    score: Score,
    *,
    baseline: str | None,
    samples: int = 1000,
    trials: int = 10000,
    level: float = 0.95,
    seed: int = SEED,
) -> list[Test]:
    """Every system against the baseline, or (None) every pair in the order of the mapping.

    Args:
        systems: statistics [runs, n, k] by name, one run a seed, all over the same n sentences.
        score: of sums [..., k].
        baseline: name of the system that the others are compared with.
        samples: bootstrap draws, for intervals and `p_bootstrap`.
        trials: random assignments, for `p_randomisation`.
        level: of the intervals; a test is significant with a corrected p below 1 - level.
        seed: of draws and trials.

    Raises:
        UserError: there is no such baseline, the systems have other sentences or none, or `samples` or
            `trials` is below 1.
    """
    if baseline is not None and baseline not in systems:
        raise UserError(f"baseline {baseline!r} is none of {', '.join(systems) or 'no systems'}")
    if len(systems) < 2:
        return []
    check_count("samples", samples)
    check_count("trials", trials)
    stats = {name: runs_of(each) for name, each in systems.items()}
    check_same_sentences(list(stats.values()))
    n = next(iter(stats.values())).shape[1]
    drawn = dict(zip(stats, resample(list(stats.values()), score, draws(n, samples, seed)), strict=True))
    whole, parts = _assigned(list(stats.values()), trials, seed)
    place = {name: at for at, name in enumerate(stats)}
    if baseline is None:
        pairs = list(combinations(stats, 2))
    else:
        pairs = [(name, baseline) for name in stats if name != baseline]
    raw = []
    for first, second in pairs:
        a, b = drawn[first], drawn[second]
        i, j = place[first], place[second]
        swapped = parts[i] - parts[j]  # what the first gains by taking the second's place in a trial
        null = score(whole[j] + swapped) - score(whole[i] - swapped)
        by = stretch([a, b], float((a.samples.mean(1) - b.samples.mean(1)).var()))
        by = onto(by, float((null**2).mean()))
        p = 1.0 if n < 2 else tail(null, delta_of(a, b), by)  # seeds alone prove nothing about sentences
        raw.append((difference_of(a, b, level, n), p))
    corrected = holm([p for _, p in raw])
    corrected_bootstrap = holm([found.p for found, _ in raw])
    tests = []
    for at, (first, second) in enumerate(pairs):
        found, p = raw[at]
        p_holm, p_holm_bootstrap = corrected[at], corrected_bootstrap[at]
        assert p_holm is not None and p_holm_bootstrap is not None
        runs = (len(stats[first]), len(stats[second]))
        tests.append(Test(first, second, *found, p, p_holm, p_holm_bootstrap, below(p_holm, level), runs))
    return tests


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction (1979); None (no test) stays None and is not counted.

    The i-th smallest of m is multiplied by m - i + 1, no corrected p is below that of a smaller one, and
    none is above 1.
    """
    order = sorted((p, at) for at, p in enumerate(ps) if p is not None)
    corrected: list[float | None] = [None] * len(ps)
    largest = 0.0
    for rank, (p, at) in enumerate(order):
        largest = min(1.0, max(largest, p * (len(order) - rank)))
        corrected[at] = largest
    return corrected


def below(p: float, level: float) -> bool:
    """Whether p lies below 1 - level; one that equals it does not, in spite of rounding (1 - 0.95 > 0.05)."""
    return p < round(1 - level, 12)


def _assigned(systems: Sequence[np.ndarray], trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums [systems, k] of each system's average statistics, and [systems, trials, k] of its chosen half.

    A trial chooses sentences by coin; where the first of a pair keeps its chosen sentences and takes the
    others from the second, its sum is `parts[first] + whole[second] - parts[second]`.
    """
    n, k = systems[0].shape[1:]
    means = [stats.mean(0) if len(stats) > 1 else stats[0].astype(np.float64) for stats in systems]
    flat = np.concatenate(means, axis=1)
    coin = np.random.default_rng(seed)
    parts = np.empty((trials, flat.shape[1]))
    for start in range(0, trials, _CHUNK):
        size = min(_CHUNK, trials - start)
        chosen = coin.integers(0, 2, size=(_CHUNK, n), dtype=np.int8)[:size]
        parts[start : start + size] = chosen.astype(np.float64) @ flat
    return flat.sum(0).reshape(-1, k), parts.reshape(trials, -1, k).transpose(1, 0, 2)
