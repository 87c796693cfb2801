"""One metric over all rows of a comparison: intervals, tests and length curves, on draws that all rows share.

The numbers are those that `metrics.bootstrap`, `metrics.significance` and `metrics.slope` give for each row
alone; drawing and summing once for all rows makes it a matter of seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attnlab.metrics import bootstrap, significance
from attnlab.metrics.length import buckets as by_edges
from attnlab.metrics.scoring import Score
from attnlab.metrics.seeds import Drawn
from attnlab.metrics.significance import Test
from attnlab.metrics.slope import Part, slope_of
from attnlab.report.evidence import Bucket, Lengths

_TOGETHER = 20  # systems in one call: 20 x 18 statistics x 10,000 trials are 29 MB

RANGE = (0.0, 100.0)
"""Of BLEU and chrF; segment scores of other metrics may have any."""
Range = tuple[float, float] | None


class Draw(NamedTuple):
    """How random numbers are drawn: of the bootstrap, of the randomisation; level and seed of both."""

    samples: int
    trials: int
    level: float
    seed: int


Stats = Mapping[str, np.ndarray]
Tick = Callable[[], None]


def intervals(stats: Stats, score: Score, draw: Draw, within: Range = None) -> dict[str, tuple[float, float]]:
    """The interval of every row's score; none without draws.

    Args:
        stats: statistics [runs, n, k] by the row's key.
        score: of sums [..., k].
        draw: how often, and from which seed.
        within: the range of the score.
    """
    if not draw.samples or not stats:
        return {}
    n = next(iter(stats.values())).shape[1]
    counts = bootstrap.draws(n, draw.samples, draw.seed)
    found = {}
    for keys in _chunks(list(stats)):
        drawn = bootstrap.resample([stats[key] for key in keys], score, counts)
        for key, own in zip(keys, drawn, strict=True):
            found[key] = _possible(bootstrap.interval_of(own, draw.level), within)
    return found


def tests(
    stats: Stats, score: Score, draw: Draw, baseline: str | None, pairs: bool, tick: Tick
) -> list[Test]:
    """Every row against the baseline, or all pairs, with Holm's correction over all of them.

    Of a pair with the baseline in it, the baseline stands second.

    Args:
        stats: statistics [runs, n, k] by the row's key.
        score: of sums [..., k].
        draw: how often, and from which seed.
        baseline: the key of a row; without statistics of its own there is nothing to test against.
        pairs: all pairs instead.
        tick: called once a test or more seldom, for a progress bar.
    """
    if not draw.samples or not draw.trials or len(stats) < 2:
        return []
    options = {"samples": draw.samples, "trials": draw.trials, "level": draw.level, "seed": draw.seed}
    if pairs:
        order = sorted(stats, key=lambda key: key == baseline)  # the last of a pair is second
        ordered = {key: stats[key] for key in order}
        found = significance.compare(ordered, score, baseline=None, **options)  # type: ignore[arg-type]
        tick()
        return found
    if baseline is None or baseline not in stats:
        return []
    found = []
    for keys in _chunks([key for key in stats if key != baseline]):
        systems = {baseline: stats[baseline], **{key: stats[key] for key in keys}}
        found += significance.compare(systems, score, baseline=baseline, **options)  # type: ignore[arg-type]
        tick()
    return corrected(found, draw.level)


def corrected(found: Sequence[Test], level: float) -> list[Test]:
    """The tests with Holm's correction over all of them."""
    by_trials = significance.holm([test.p_randomisation for test in found])
    by_draws = significance.holm([test.p_bootstrap for test in found])
    return [
        test._replace(p_holm=p, p_holm_bootstrap=q, significant=significance.below(p, level))
        for test, p, q in zip(found, by_trials, by_draws, strict=True)
        if p is not None and q is not None
    ]


def curves(
    stats: Stats,
    lengths: Mapping[str, np.ndarray],
    edges: Sequence[int],
    few: int,
    score: Score,
    draw: Draw,
    baseline: str | None,
    within: Range = None,
) -> dict[str, Lengths]:
    """Buckets and slope of every row, over one kind of length.

    Args:
        stats: statistics [runs, n, k] by the row's key.
        lengths: of each row's n sentences; pieces depend on the tokeniser, words do not.
        edges: upper edges of the buckets, inclusive.
        few: buckets below so many sentences are marked, and not part of the slope.
        score: of sums [..., k].
        draw: how often, and from which seed.
        baseline: the key of the row that others are set against, where it has the same lengths.
        within: the range of the score.
    """
    groups: dict[bytes, list[str]] = {}
    for key in stats:
        groups.setdefault(np.asarray(lengths[key], dtype=np.int64).tobytes(), []).append(key)
    found: dict[str, Lengths] = {}
    for keys in groups.values():
        own = {key: stats[key] for key in keys}
        found |= _alike(own, np.asarray(lengths[keys[0]]), edges, few, score, draw, baseline, within)
    return {key: found[key] for key in stats}


def _alike(
    stats: Stats,
    lengths: np.ndarray,
    edges: Sequence[int],
    few: int,
    score: Score,
    draw: Draw,
    baseline: str | None,
    within: Range = None,
) -> dict[str, Lengths]:
    """`curves` of rows with the same lengths."""
    table: dict[str, list[Bucket]] = {key: [] for key in stats}
    used: dict[str, list[Part]] = {key: [] for key in stats}
    number = 0  # of the buckets that count, each with draws of its own, as in `metrics.slope`
    for bucket in by_edges([int(length) for length in lengths], edges):
        members, lo, hi = bucket["members"], bucket["lo"], bucket["hi"]
        n = len(members)
        one = next(iter(stats.values()))
        if not n or score.too_short(one[:, members]):  # a matter of the references, which all share
            mark = "too_short" if n else "empty"
            for key in stats:
                table[key].append(Bucket(lo, hi, n, None, mark=mark))
            continue
        weak = "few" if n < few else None
        counts = bootstrap.draws(n, draw.samples, draw.seed + (number if weak is None else len(edges) + 1))
        number += weak is None
        drawn: dict[str, Drawn] = {}
        for keys in _chunks(list(stats)):
            resampled = bootstrap.resample([stats[key][:, members] for key in keys], score, counts)
            drawn |= dict(zip(keys, resampled, strict=True))
        means = counts @ lengths[members] / n
        for key, own in drawn.items():
            limits: tuple[float | None, float | None] = (None, None)
            apart: tuple[float | None, float | None, float | None] = (None, None, None)
            if draw.samples:
                limits = _possible(bootstrap.interval_of(own, draw.level), within)
            if draw.samples and baseline in drawn and key != baseline:
                apart = bootstrap.difference_of(own, drawn[baseline], draw.level, n)[:3]
            table[key].append(Bucket(lo, hi, n, own.estimate, *limits, *apart, weak))
            if weak is None:
                used[key].append(Part(lo, hi, n, own, float(lengths[members].mean()), means))
    return {key: Lengths(table[key], slope_of(used[key], draw.level)) for key in stats}


def _possible(limits: tuple[float, float], within: Range) -> tuple[float, float]:
    """An interval within the range of the score: few seeds that disagree widen it beyond."""
    return limits if within is None else (max(limits[0], within[0]), min(limits[1], within[1]))


def _chunks(keys: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(keys), _TOGETHER):
        yield list(keys[start : start + _TOGETHER])
