"""Segment scores of any metric (`--scores metric.tsv`): intervals, tests and length buckets as BLEU has them.

The file is tab-separated with a header and the columns `system`, `segment` and `score`, in any order. A
segment counts the sentences of the test set from 0. A system is a row's key, cell or readable name, for rows
of several seeds followed by `/seedK`. The metric is called as the file is: `comet.tsv` is `comet`. A row's
score is the mean over its segments, so higher need not be better: the file doesn't say.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from attnlab.errors import UserError
from attnlab.report.evidence import BLEU, CHRF, Estimate, Measure
from attnlab.report.picks import EVERY
from attnlab.report.rows import Comparison, Row
from attnlab.sweep.identity import AXES

if TYPE_CHECKING:
    from attnlab.report.measure import Draw

COLUMNS = ("system", "segment", "score")
_SEED = re.compile(r"(?P<name>.+)/seed(?P<seed>[^/]+)")
_SEGMENT = re.compile(r"[0-9]{1,9}")
_ENDINGS = re.compile(r"(\.tsv|\.txt)?(\.gz)?$")
_SHOWN = 4  # names in a message
_LARGEST = 1e100  # sums and squares of more overflow
# Columns of table.csv beside the metrics': a metric must not be called so.
_COLUMNS = {
    *AXES,
    *(f"{number.name}{end}" for number in EVERY for end in ("", "_sd")),
    *("settings", "key", "cell_id", "origin", "kind", "languages", "test_set", "fingerprint", "seeds"),
    *("n_seeds", "failed_seeds", "interrupted_seeds", "missing_seeds", "baseline", "differs", "confounded"),
    *("p_bootstrap", "p_randomisation", "p_holm", "p_holm_bootstrap", "significant", "mark"),
    *("slope", "slope_low", "slope_high"),
}
_BEGINNINGS = ("bleu_", "chrf_", "delta_")


@dataclass(frozen=True)
class Scores:
    """What one file holds.

    Attributes:
        path: the file.
        metric: its name without endings.
        table: by system, then by seed (`""` where none is named), the scores [n] of the segments 0..n-1.
        lines: in the same order, the line of each segment, for messages.
    """

    path: Path
    metric: str
    table: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    lines: dict[tuple[str, str], list[int]] = field(default_factory=dict)


def read_scores(path: Path) -> Scores:
    """Reads a file of segment scores, plain or gzip.

    Raises:
        UserError: it cannot be read, has no such columns, a line is not three fields with a whole number and
            a finite one, or a segment of a system is doubled or missing; the message has the line or the
            segment.
    """
    from attnlab.data.files import read_lines

    path = Path(path)
    metric = _ENDINGS.sub("", path.name)
    if metric.casefold() in (BLEU, CHRF) or not metric or not metric.isprintable():
        raise UserError(f"{path}: the metric would be called {metric!r}; name the file after another metric")
    lines = read_lines(path)
    header = lines[0].split("\t") if lines else []
    if sorted(header) != sorted(COLUMNS):
        raise UserError(
            f"{path}, line 1: must name the columns {', '.join(COLUMNS)}, separated by tabs; "
            f"it reads '{lines[0][:60] if lines else ''}'"
        )
    place = [header.index(name) for name in COLUMNS]
    found: dict[tuple[str, str], dict[int, tuple[float, int]]] = {}
    for number, line in enumerate(lines[1:], start=2):
        where = f"{path}, line {number}"
        cells = line.split("\t")
        if len(cells) != len(COLUMNS):
            raise UserError(f"{where}: {len(cells)} fields instead of 3; write system, segment and score")
        system, segment, score = (cells[at].strip() for at in place)
        if not system:
            raise UserError(f"{where}: no system; write a row's cell or name")
        if not _SEGMENT.fullmatch(segment):
            raise UserError(f"{where}: segment '{segment}' is no whole number; count from 0")
        own = found.setdefault(_seed(system), {})
        if int(segment) in own:
            first = own[int(segment)][1]
            raise UserError(
                f"{where}: segment {segment} of {system} stands in line {first} already; keep one"
            )
        own[int(segment)] = (_number(score, where), number)
    if not found:
        raise UserError(f"{path}: holds no scores; write one line a system and segment")
    scores = Scores(path, metric)
    for (name, seed), segments in found.items():
        for expected, there in enumerate(sorted(segments)):
            if expected != there:
                raise UserError(
                    f"{path}: segment {expected} of {_named(name, seed)} is missing; score every sentence of "
                    "the test set, none may be left out"
                )
        ordered = [segments[at] for at in range(len(segments))]
        scores.table.setdefault(name, {})[seed] = np.array([score for score, _ in ordered])
        scores.lines[name, seed] = [line for _, line in ordered]
    return scores


def attach_scores(comparison: Comparison, scores: Scores) -> list[str]:
    """Puts the scores of a file into `Row.scores` of the rows they belong to.

    Returns:
        Lines that the reader of the report should see: rows and seeds without a score.

    Raises:
        UserError: a system is no row or several, a seed is unknown, stands there twice or is not named where
            there are several, or a system has more or fewer segments than the test set has sentences.
    """
    metric, path = scores.metric, scores.path
    if metric in _COLUMNS or metric.startswith(_BEGINNINGS):
        raise UserError(f"{path}: table.csv has a column '{metric}' of its own; give the file another name")
    if any(metric in row.scores for row in comparison.rows):
        raise UserError(f"{path}: there is a metric '{metric}' already; name the file after its own metric")
    n = int(comparison.first.test["n"])
    known = _names(comparison)
    placed: dict[str, dict[str, np.ndarray]] = {}
    for system, seeds in scores.table.items():
        row = _row(known, system, comparison, path)
        for seed, values in seeds.items():
            told = _named(system, seed)
            label = _label(row, seed, told, path)
            if len(values) > n:
                line = scores.lines[system, seed][n]
                raise UserError(
                    f"{path}, line {line}: segment {n} of {told}, but {comparison.label} has {n} sentences, "
                    f"0 to {n - 1}; is it of another test set?"
                )
            if len(values) < n:
                raise UserError(
                    f"{path}: segment {len(values)} of {told} is missing: {comparison.label} has {n} "
                    "sentences; score every one, none may be left out"
                )
            if label in placed.setdefault(row.key, {}):
                name = row.name(comparison.varying)
                raise UserError(f"{path}: seed {label} of {name} is there under two names; keep one")
            placed[row.key][label] = values
    lacks: dict[str, list[str]] = {}
    for row in comparison.scored:
        own = placed.get(row.key, {})
        lacking = [run.seed for run in row.runs if run.seed not in own]
        if own:
            row.scores[metric] = {run.seed: own[run.seed] for run in row.runs if run.seed in own}
        if lacking:
            which = f"seed {' '.join(lacking)} of " if own else ""
            lacks.setdefault(which, []).append(row.name(comparison.varying))
    return [f"{metric}: no scores for {which}{'; '.join(names)}" for which, names in lacks.items()]


def score_evidence(
    comparison: Comparison,
    *,
    baseline: Row | None = None,
    pairs: bool = False,
    samples: int = 1000,
    trials: int = 10000,
    level: float = 0.95,
    seed: int = 12345,
) -> dict[str, Measure]:
    """For each metric of `Row.scores`: means, intervals, tests and length buckets, as for BLEU.

    Args:
        comparison: rows with scores; buckets need `segments`, whose lengths they are over.
        baseline: tested against, where it has scores.
        pairs: test all pairs.
        samples: of the bootstrap; 0 makes neither intervals nor tests.
        trials: of the approximate randomisation.
        level: of intervals and tests.
        seed: of all random numbers.
    """
    from attnlab.metrics.scoring import mean_score
    from attnlab.metrics.seeds import spread
    from attnlab.report import measure as measuring

    score, draw = mean_score(), measuring.Draw(samples, trials, level, seed)
    key = baseline.key if baseline is not None else None
    measures = {}
    for metric in dict.fromkeys(name for row in comparison.rows for name in row.scores):
        rows = [row for row in comparison.rows if metric in row.scores]
        stats = {row.key: _statistics(row.scores[metric]) for row in rows}
        limits = measuring.intervals(stats, score, draw)
        measure = measures[metric] = Measure(metric)
        for row in rows:
            mean, deviation, runs = spread([float(value) for value in score(stats[row.key].sum(1))])
            if mean is not None:
                measure.rows[row.key] = Estimate(mean, deviation, runs, *limits.get(row.key, (None, None)))
        measure.tests = measuring.tests(stats, score, draw, key, pairs, lambda: None)
        measure.against = {test.first: test for test in measure.tests if test.second == key}
        _lengths(measure, comparison, rows, stats, draw, key)
    return measures


def _lengths(
    measure: Measure,
    comparison: Comparison,
    rows: Sequence[Row],
    stats: Mapping[str, np.ndarray],
    draw: Draw,
    baseline: str | None,
) -> None:
    """Buckets over the lengths that the rows' sentence statistics hold; seeds of a row share them."""
    from attnlab.metrics.scoring import mean_score
    from attnlab.metrics.slope import FEW
    from attnlab.report import measure as measuring
    from attnlab.segments import LENGTHS

    first = comparison.first
    edges = [bucket["hi"] for bucket in first.test["by_source_length"] if bucket["hi"] is not None]
    options = (first.record.get("config") or {}).get("metrics") or {}
    few = int(options.get("min_bucket") or FEW)
    beside = {row.key: next(iter(row.segments.values())) for row in rows if row.segments}
    own = {key: stats[key] for key in beside}
    for kind in LENGTHS if edges and own else ():
        lengths = {key: found.lengths(kind) for key, found in beside.items()}
        curves = measuring.curves(own, lengths, edges, few, mean_score(), draw, baseline)
        for key, curve in curves.items():
            measure.lengths.setdefault(key, {})[kind] = curve


def _statistics(scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """Score and count [runs, n, 2] of each segment."""
    values = np.stack(list(scores.values())).astype(np.float64)
    return np.stack([values, np.ones_like(values)], axis=-1)


def _names(comparison: Comparison) -> dict[str, list[Row]]:
    """What each row with a run may be called in a file."""
    known: dict[str, list[Row]] = {}
    for row in comparison.scored:
        for name in {row.key, row.cell_id, row.name(), row.name(comparison.varying)}:
            known.setdefault(name, []).append(row)
    return known


def _row(known: Mapping[str, Sequence[Row]], name: str, comparison: Comparison, path: Path) -> Row:
    rows = known.get(name, [])
    if len(rows) == 1:
        return rows[0]
    names = [row.key for row in (rows or comparison.scored)]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    told = "; ".join(names[:_SHOWN]) + more
    if rows:
        raise UserError(f"{path}: '{name}' is the name of {len(rows)} rows; write one of {told}")
    raise UserError(f"{path}: '{name}' is no row of {comparison.label}; there are {told}")


def _label(row: Row, seed: str, told: str, path: Path) -> str:
    """The seed of the row that is meant."""
    labels = [run.seed for run in row.runs]
    if not seed and len(labels) == 1:
        return labels[0]
    if not seed:
        raise UserError(
            f"{path}: {told} has {len(labels)} seeds; write which one, such as {told}/seed{labels[0]}"
        )
    if seed not in labels:
        raise UserError(f"{path}: {told}: the row has no such seed; it has {' '.join(labels)}")
    return seed


def _seed(system: str) -> tuple[str, str]:
    match = _SEED.fullmatch(system)
    return (match["name"], match["seed"]) if match else (system, "")


def _named(name: str, seed: str) -> str:
    return f"{name}/seed{seed}" if seed else name


def _number(text: str, where: str) -> float:
    try:
        value = math.nan if "_" in text else float(text)  # Python's 1_0 is no other program's 10
    except ValueError:
        value = math.nan
    if not abs(value) < _LARGEST:  # nor is NaN
        raise UserError(
            f"{where}: score '{text}' is no finite number that can be averaged; score the sentence again"
        )
    return value
