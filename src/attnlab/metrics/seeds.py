"""Seeds as a random factor: how far the mean over the seeds of a system is from what it would be again.

A system is trained `r` times and every run translates the same `n` sentences. Two things would change in a
repetition: the sentences, and the seeds. Over sentences alone, a difference between systems whose seeds
differ is called significant too often, up to twice as often as the level says: the same few runs are compared
again and again (`benchmarks/false_positives.md`). Shuffling hypotheses among all runs of both systems
(Clark et al. 2011, MultEval) has the same fault: it too takes the runs as given. Resampling two or three runs
with replacement shrinks their variance by (r - 1) / r and has no tails for so small a number; permuting whole
runs has 20 outcomes for three against three, so no p below 0.1.

The design is known from radiology, where readers (here: runs) judge the same cases (here: sentences) under
treatments (here: systems): "readers nested within treatment". The estimate of Obuchowski and Rockette
(1995, Communications in Statistics 24(2), 285-308) is followed, with the degrees of freedom of Hillis (2007,
Statistics in Medicine 26, 596-619; for the nested design 2014, Statistics in Medicine 33, 330-360):

    T = S + max(0, V - I),   S = sum_g s2_g / r_g,   I = sum_g i_g / r_g,   df = df_S * (T / S) ** 2

- `s2_g`: sample variance of the corpus scores of system g's runs. It holds the true variance over seeds and
  `i_g`, the part of it that comes from the runs failing on different sentences of this test set.
- `i_g`: that part, from the draws: the variance, over the draws, of the runs about their common mean.
- `V`: the variance of the estimate over the draws of sentences. It holds `I` too, which `S` has already; the
  rest, `V - I`, is what all runs of a system have in common.
- `df_S`: that of S by Welch and Satterthwaite, so that systems may differ in their variance over seeds.

Runs of two systems with the same seed are not taken for pairs: a seed means other initial weights in each
architecture. A system with one seed borrows the variance of the other one's seeds (Hillis pools them). With
one seed on each side nothing is known about seeds: T = V, and the usual test over sentences is left; what it
says holds for those two runs.

The resampled distribution of the estimate is then stretched from variance V to T and given the tails of a
t distribution with `df` degrees of freedom, by a scale mixture: each draw is multiplied by
sqrt(T / V) * sqrt(df / chi2_df). It keeps the shape that resampling found, and with T = V it is unchanged.

Few seeds may agree by chance, S is then below I and T below V, and two systems with two such seeds each would
differ significantly by less than what other sentences would change. A variance over seeds cannot be negative:
where its estimate is, it is taken as 0, T = V, and the usual test over sentences is left. How often equal
systems are then called different is in `benchmarks/false_positives.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincinv, ndtri

ATOL = 1e-9
"""Scores closer than this are the same score."""

_POINTS = 100  # of the chi-square distribution, in the quantiles of a stretched distribution
_NIL = ATOL**2  # a variance of nothing
_LARGE = 1e6  # degrees of freedom from which t is normal


class Spread(NamedTuple):
    """A value over seeds: mean, sample standard deviation (n - 1; None for one seed) and their number."""

    mean: float | None
    deviation: float | None
    n: int


def spread(values: Sequence[float | None]) -> Spread:
    """Mean, sample deviation and number of the values that are there."""
    there = [value for value in values if value is not None]
    if not there:
        return Spread(None, None, 0)
    return Spread(fmean(there), stdev(there) if len(there) > 1 else None, len(there))


class Drawn(NamedTuple):
    """The runs of one system: their scores [r], and their scores [samples, r] on each draw of sentences."""

    scores: np.ndarray
    samples: np.ndarray

    @property
    def estimate(self) -> float:
        """The mean over the runs."""
        return float(self.scores.mean())


class Stretch(NamedTuple):
    """How a resampled distribution is widened: from variance `sentences` (V) to `total` (T), with T's df."""

    total: float
    sentences: float
    df: float


SENTENCES_ONLY = Stretch(1.0, 1.0, math.inf)
"""No widening: one seed on each side."""


def stretch(groups: Sequence[Drawn], sentences: float) -> Stretch:
    """The widening for an estimate made of one mean over seeds, or of the difference of two.

    Args:
        groups: the system or the two systems, on the same draws of sentences.
        sentences: variance of the estimate over those draws (V above).
    """
    known = [group for group in groups if len(group.scores) > 1]
    if not known:
        return SENTENCES_ONLY
    parts = []  # s2, i and runs of each group
    for group in groups:
        source = group if len(group.scores) > 1 else known[0]
        between = float(source.scores.var(ddof=1))
        within = source.samples - source.samples.mean(1, keepdims=True)
        interaction = float(within.var(0).sum()) / (len(source.scores) - 1)
        parts.append((between, interaction, len(group.scores)))
    seeds = sum(between / runs for between, _, runs in parts)
    shared = max(0.0, sentences - sum(interaction / runs for _, interaction, runs in parts))
    total = seeds + shared
    if total <= sentences:
        return SENTENCES_ONLY
    if seeds <= _NIL or total <= _NIL:
        df = math.inf
    elif len(known) < len(groups):  # the same variance twice: its own degrees of freedom
        df = (len(known[0].scores) - 1) * (total / seeds) ** 2
    else:
        df = total**2 / sum((between / runs) ** 2 / (runs - 1) for between, _, runs in parts)
    return Stretch(total, sentences, df if df < _LARGE else math.inf)


def onto(by: Stretch, sentences: float) -> Stretch:
    """The widening `by` for a distribution of another variance over sentences; seeds add as much to it.

    Where two systems are far apart, swapping their sentences moves far more than drawing them does.
    """
    if by is SENTENCES_ONLY:
        return by
    total = sentences + by.total - by.sentences
    df = by.df * (total / by.total) ** 2
    return Stretch(total, sentences, df if df < _LARGE else math.inf)


def tail(null: np.ndarray, delta: float, by: Stretch) -> float:
    """Two-sided p of `delta` under a null distribution [samples] about 0, widened.

    `(c + 1) / (samples + 1)` (Noreen 1989), where c counts draws at least as far from 0 as delta, on either
    side; for finite degrees of freedom c sums each draw's probability of being that far. A tie has p = 1.
    """
    if abs(delta) <= ATOL:
        return 1.0
    size = np.abs(_widened(null, by))
    if math.isinf(by.df):
        count = float((size >= abs(delta) - ATOL).sum())
    else:
        count = float(gammainc(by.df / 2, by.df / 2 * (size / abs(delta)) ** 2).sum())
    return (count + 1) / (len(null) + 1)


def limits(values: np.ndarray, level: float, by: Stretch) -> tuple[float, float]:
    """Percentile interval of resampled values [samples], widened about their mean."""
    ends = [(1 - level) / 2, (1 + level) / 2]
    middle = 0.0 if by is SENTENCES_ONLY else float(values.mean())
    far = _widened(values - middle, by)
    if not math.isinf(by.df):
        chances = (np.arange(_POINTS) + 0.5) / _POINTS
        chi2 = 2 * gammaincinv(by.df / 2, chances)
        far = np.multiply.outer(far, np.sqrt(by.df / chi2)).ravel()
    low, high = middle + np.quantile(far, ends)
    return float(low), float(high)


def _widened(null: np.ndarray, by: Stretch) -> np.ndarray:
    """Draws about 0, widened to the total variance; of normal shape where resampling moved nothing."""
    if by is SENTENCES_ONLY:
        return null
    if by.sentences <= _NIL:
        return math.sqrt(by.total) * ndtri((np.arange(len(null)) + 0.5) / len(null))
    return null * math.sqrt(by.total / by.sentences)
