"""What the figures draw of a row: its score with what its bar spans, its score by length, its cell."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.metrics.length import centre
from attnlab.report.columns import BLEU
from attnlab.report.rows import Comparison, Row, Run
from attnlab.sweep.identity import AXES

if TYPE_CHECKING:
    from attnlab.report.evidence import Evidence

Line = dict[str, Any]
"""A line of a figure's CSV; `key` joins it with its row of the comparison."""
SOURCE = "source_words"
_TABLE = "by_source_length"
INTERVAL, DEVIATION = "interval", "sample deviation"
_TOPS = {"bleu": 100.0, "entropy_normalised": 1.0, "gold_mass": 1.0, "max_weight": 1.0}
"""The highest value that can be; the lowest of all of them is 0."""


class Measured(NamedTuple):
    """A value with the two ends of its bar; `bar` says in words what that is, empty where there is none."""

    mean: float | None
    deviation: float | None
    n: int
    low: float | None = None
    high: float | None = None
    bar: str = ""

    def columns(self, name: str) -> Line:
        """As columns of a CSV."""
        return {name: self.mean, f"{name}_sd": self.deviation, "ci_low": self.low, "ci_high": self.high}


def cell(row: Row) -> Line:
    """The columns that name a row: its key, its axes, what else differs."""
    named: Line = {"key": row.key, "kind": row.kind}
    named |= {axis: row.cell.get(axis) or "none" for axis in AXES}
    return named | {"settings": row.settings, "cell_id": row.cell_id}


def bleu(row: Row, evidence: Evidence | None) -> Measured:
    """Corpus BLEU over seeds, with the interval of the evidence where it has one."""
    spread = row.spread(BLEU)
    known = evidence.of(row).bleu if evidence is not None else None
    if known is None:
        return Measured(*spread)
    return Measured(known.mean, known.deviation, known.n, known.low, known.high)


def by_length(row: Row, evidence: Evidence | None) -> list[Line]:
    """BLEU by source words: `lo, hi, centre, n, seeds, bleu, bleu_sd, ci_low, ci_high, mark`.

    The interval is that of the evidence, or of the record where the row has one seed.
    """
    known = {}
    if evidence is not None and SOURCE in (tables := evidence.of(row).lengths):
        known = {(bucket.lo, bucket.hi): bucket for bucket in tables[SOURCE].buckets}
    found = []
    width = open_width([bucket for bucket, _ in row.buckets(_TABLE)])
    for index, (bucket, spread) in enumerate(row.buckets(_TABLE)):
        low = high = None
        strong = known.get((bucket["lo"], bucket["hi"]))
        if strong is not None:
            low, high = strong.low, strong.high
        elif len(row.runs) == 1 and row.runs[0].test[_TABLE][index].get("ci"):
            low, high = row.runs[0].test[_TABLE][index]["ci"]
        line: Line = {"lo": bucket["lo"], "hi": bucket["hi"], "centre": centre(bucket, width)}
        line |= {"n": bucket["n"], "seeds": spread.n, "bleu": spread.mean, "bleu_sd": spread.deviation}
        found.append(line | {"ci_low": low, "ci_high": high, "mark": bucket["mark"]})
    return found


def ends(line: Line, name: str) -> tuple[float, float, str] | None:
    """What the bar or band of a line spans, and what it is: the interval, else the deviation over seeds.

    Neither passes the values that the score can have.
    """
    if line[name] is None:
        return None
    if line.get("ci_low") is not None:
        return line["ci_low"], line["ci_high"], INTERVAL
    deviation = line.get(f"{name}_sd")
    if deviation is not None:
        top = _TOPS.get(name, float("inf"))
        return max(line[name] - deviation, 0.0), min(line[name] + deviation, top), DEVIATION
    return None


def spans(lines: Sequence[Line], name: str, level: float = 0.95) -> str:
    """What the bars of these lines are, in words; empty where no line has one."""
    kinds = {found[2] for line in lines if (found := ends(line, name))}
    seeds = any((line.get("seeds") or 1) > 1 and line.get("ci_low") is not None for line in lines)
    interval = f"{100 * level:g} % bootstrap interval" + (" over sentences and seeds" if seeds else "")
    texts = {INTERVAL: interval, DEVIATION: "sample deviation over seeds"}
    return " or ".join(text for kind, text in texts.items() if kind in kinds)


def over_seeds(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Mean and sample deviation of the values that there are."""
    there = [value for value in values if value is not None]
    return (fmean(there) if there else None, stdev(there) if len(there) > 1 else None)


def pick(run: Run, *keys: str) -> Any:
    """Looks a value up in a run's record; None as soon as a part is absent."""
    return _walk(run.record, keys)


def pick_test(run: Run, *keys: str) -> Any:
    """Looks a value up in a run's scores of the test set; None as soon as a part is absent."""
    return _walk(run.test, keys)


def level(comparison: Comparison, evidence: Evidence | None) -> float:
    """Of the intervals: that of the evidence, else that of the records."""
    if evidence is not None:
        return evidence.level
    found = [
        ((row.config.get("metrics") or {}).get("bootstrap") or {}).get("level") for row in comparison.rows
    ]
    return float(next(filter(None, found), 0.95))


def grouped(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """The lines of each row, by its key, in their order."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line["key"], []).append(line)
    return found


def open_width(buckets: Sequence[Line]) -> float:
    """The open bucket is drawn as wide as the one before it."""
    closed = [bucket for bucket in buckets if bucket["hi"] is not None]
    return float(closed[-1]["hi"] - max(closed[-1]["lo"] - 1, 0)) if closed else 10.0


def _walk(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
