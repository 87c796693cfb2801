"""Quality over length: bucket tables with intervals and differences, and the slope as one number.

Sentences are drawn within their bucket, so that a bucket keeps its size in every draw and none is ever
empty by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlab.metrics.bootstrap import (
    SEED,
    check_count,
    check_same_sentences,
    difference_of,
    draws,
    interval,
    interval_of,
    resample,
    runs_of,
)
from attnlab.metrics.length import buckets, check_edges
from attnlab.metrics.scoring import Score
from attnlab.metrics.seeds import Drawn

FEW = 30
"""Sentences below which a bucket is marked `few`; as in `conf/metrics/default.yaml`."""


class Bucket(NamedTuple):
    """Sentences of length `lo` to `hi` (both inclusive; None: no end) and their mean score over the seeds.

    `mark`: `empty` (n = 0) and `too_short` (no reference has an n-gram of the largest order) have no score,
    `few` has one that rests on few sentences.
    """

    lo: int
    hi: int | None
    n: int
    mean: float | None
    low: float | None
    high: float | None
    mark: str | None


class BucketDifference(NamedTuple):
    """As `Bucket`, for the difference of two systems over the same sentences, and its two-sided p."""

    lo: int
    hi: int | None
    n: int
    delta: float | None
    low: float | None
    high: float | None
    p: float | None
    mark: str | None


class Part(NamedTuple):
    """What a bucket of n sentences adds to a slope: its scores, and its mean length, as they are and drawn.

    `lengths` [samples] are the mean lengths on the draws that `drawn` was scored on.
    """

    lo: int
    hi: int | None
    n: int
    drawn: Drawn
    length: float
    lengths: np.ndarray


class Slope(NamedTuple):
    """Points of score per 10 words, its interval, and the (lo, hi) of the buckets it rests on.

    All None where fewer than two buckets have enough sentences.
    """

    value: float | None
    low: float | None
    high: float | None
    buckets: list[tuple[int, int | None]]


def by_length(
    stats: np.ndarray,
    lengths: Sequence[int] | np.ndarray,
    edges: Sequence[int],
    score: Score,
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = SEED,
    few: int = FEW,
) -> list[Bucket]:
    """Score and interval of every bucket of a system's statistics [runs, n, k]; `samples` 0: no intervals.

    Raises:
        UserError: the edges do not rise, or the lengths are not those of n sentences.
    """
    stats = runs_of(stats)
    table = []
    for lo, hi, members in _members(stats, lengths, edges):
        mark = _mark([stats], members, score, few)
        if mark in _UNSCORED:
            table.append(Bucket(lo, hi, len(members), None, None, None, mark))
            continue
        inside = stats[:, members]
        low, high = interval(inside, score, samples=samples, level=level, seed=seed) or (None, None)
        mean = float(score(inside.sum(1)).mean())
        table.append(Bucket(lo, hi, len(members), mean, low, high, mark))
    return table


def difference_by_length(
    a: np.ndarray,
    b: np.ndarray,
    lengths: Sequence[int] | np.ndarray,
    edges: Sequence[int],
    score: Score,
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = SEED,
    few: int = FEW,
) -> list[BucketDifference]:
    """Paired bootstrap of systems a and b [runs, n, k] in every bucket.

    The p-values are not corrected for the number of buckets.

    Raises:
        UserError: as `by_length`, or the systems have other sentences.
    """
    a, b = runs_of(a), runs_of(b)
    check_same_sentences([a, b])
    check_count("samples", samples)
    table = []
    for lo, hi, members in _members(a, lengths, edges):
        n, mark = len(members), _mark([a, b], members, score, few)
        if mark in _UNSCORED:
            table.append(BucketDifference(lo, hi, n, None, None, None, None, mark))
            continue
        first, second = resample([a[:, members], b[:, members]], score, draws(n, samples, seed))
        table.append(BucketDifference(lo, hi, n, *difference_of(first, second, level, n), mark))
    return table


def slope(
    stats: np.ndarray,
    lengths: Sequence[int] | np.ndarray,
    score: Score,
    edges: Sequence[int],
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = SEED,
    few: int = FEW,
) -> Slope:
    """Slope of a system's score over length, by weighted least squares over the buckets.

    A bucket's score is set against the mean length of its sentences, weighted by their number; both are
    taken anew in each draw. Buckets below `few` sentences, or too short for the score, are left out.

    Args:
        stats: statistics [runs, n, k], one run a seed; the value is the mean over the seeds.
        lengths: length of each of the n sentences, in words or pieces.
        score: of sums [..., k].
        edges: upper edges of the buckets, inclusive.
        samples: draws; 0: no interval.
        level: of the interval.
        seed: of the draws.
        few: smallest number of sentences in a bucket that counts.

    Raises:
        UserError: the edges do not rise, or the lengths are not those of n sentences.
    """
    stats = runs_of(stats)
    lengths = np.asarray(lengths)
    parts: list[Part] = []
    for lo, hi, members in _members(stats, lengths, edges):
        if _mark([stats], members, score, few) is not None:
            continue
        n = len(members)
        counts = draws(n, samples, seed + len(parts))  # each bucket has draws of its own
        (found,) = resample([stats[:, members]], score, counts)
        mean = float(lengths[members].mean())
        parts.append(Part(lo, hi, n, found, mean, counts @ lengths[members] / n))
    return slope_of(parts, level)


def slope_of(parts: Sequence[Part], level: float) -> Slope:
    """The slope of `slope` for buckets that are drawn already; without draws there is no interval."""
    names = [(part.lo, part.hi) for part in parts]
    if len(parts) < 2:
        return Slope(None, None, None, names)
    weights = np.array([part.n for part in parts], dtype=np.float64)
    scores = np.stack([part.drawn.scores for part in parts])
    here = _slope(np.array([part.length for part in parts])[:, None], scores, weights)
    value = float(here.mean())
    drawn = np.stack([part.drawn.samples for part in parts])
    if not drawn.shape[1]:
        return Slope(value, None, None, names)
    there = _slope(np.stack([part.lengths for part in parts])[..., None], drawn, weights)
    return Slope(value, *interval_of(Drawn(here, there), level), names)


_UNSCORED = ("empty", "too_short")


def _members(
    stats: np.ndarray, lengths: Sequence[int] | np.ndarray, edges: Sequence[int]
) -> list[tuple[int, int | None, list[int]]]:
    check_same_sentences([stats, np.asarray(lengths)[None]])
    plain = [int(length) for length in lengths]
    return [(each["lo"], each["hi"], each["members"]) for each in buckets(plain, check_edges(list(edges)))]


def _mark(systems: Sequence[np.ndarray], members: Sequence[int], score: Score, few: int) -> str | None:
    if not members:
        return "empty"
    if any(score.too_short(stats[:, members]) for stats in systems):
        return "too_short"
    return "few" if len(members) < few else None


def _slope(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted least squares over the first axis (buckets), in points per 10 units of x."""
    share = (weights / weights.sum()).reshape(-1, *[1] * (y.ndim - 1))
    x, y = np.broadcast_to(x, y.shape), y
    away = x - (share * x).sum(0)
    return 10 * (share * away * y).sum(0) / (share * away**2).sum(0)
