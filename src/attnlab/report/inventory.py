"""What the records of a report say together: each fact with the number of runs that it holds for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import fsum
from typing import Any, NamedTuple

from attnlab.report.rows import CELL, SYSTEM, Report, Run
from attnlab.results import Record

UNKNOWN = "not recorded"
LOST = ("failed", "interrupted", "missing")


class Inventory(NamedTuple):
    """The finished runs of a report, each once, and the failed records that are known.

    Attributes:
        records: of the finished runs, by cell and seed.
        cells: how many cells they are of.
        seeds: of each cell and test set, how many seeds have a score.
        lost: seeds named as failed, interrupted or missing, over all rows, also those without a finished run.
        failed: records of failed and interrupted runs.
    """

    records: list[Record]
    cells: int
    seeds: list[int]
    lost: dict[str, int]
    failed: list[Record]

    def values(self, *path: str) -> list[Any]:
        """What each record has there; None where it has nothing."""
        return [get(record, *path) for record in self.records]

    def told(self, *path: str, form: Callable[[Any], str] = str, null: str | None = None) -> str:
        """The different values with the number of runs, or that it is not recorded.

        `null` is what a recorded null means; without it, it counts as not recorded.
        """
        told = []
        for record in self.records:
            value = get(record, *path)
            there = path[-1] in (get(record, *path[:-1]) or {})
            told.append(form(value) if value is not None else null if there else None)
        return counted(told)


def inventory(report: Report, failed: Iterable[Record] = ()) -> Inventory:
    """Collects the runs of our cells; systems from outside have no records."""
    runs: dict[str, Run] = {}
    seeds, cells = [], set()
    gone: dict[str, set[tuple[str, str]]] = {name: set() for name in LOST}  # row and seed, of all test sets
    for comparison in report.comparisons:
        for row in comparison.rows:
            if row.kind == SYSTEM:
                continue
            for name, known in gone.items():
                known |= {(row.key, seed) for seed in getattr(row, name)}
            if row.kind != CELL:
                continue
            seeds.append(len(row.runs))
            cells.add(row.cell_id)
            for run in row.runs:
                runs[str(run.folder)] = run
    lost = {name: len(known) for name, known in gone.items()}
    records = sorted((run.record for run in runs.values()), key=_order)
    return Inventory(records, len(cells), seeds, lost, sorted(failed, key=_order))


def get(record: Any, *path: str) -> Any:
    """The value under a path of keys, None as soon as one is absent."""
    for key in path:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def counted(values: Iterable[str | None]) -> str:
    """`a (3 runs), b (1 run)`, by frequency, then by name; without numbers where all are alike."""
    found = Counter(UNKNOWN if value is None or value == "" else value for value in values)
    if not found:
        return UNKNOWN
    if len(found) == 1:
        return next(iter(found))
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{value} ({plural(number, 'run')})" for value, number in ordered)


def span(values: Sequence[float | None], form: Callable[[float], str]) -> str:
    """`3` or `3 to 5`, and of how many runs it is known."""
    there = sorted(float(value) for value in values if value is not None)
    if not there:
        return UNKNOWN
    low, high = form(there[0]), form(there[-1])
    text = low if low == high else f"{low} to {high}"
    return text if len(there) == len(values) else f"{text} (known of {len(there)} of {len(values)} runs)"


def hours(values: Sequence[float | None]) -> str:
    """The sum of seconds as hours, and of how many runs it is known."""
    there = [float(value) for value in values if value is not None]
    if not there:
        return UNKNOWN
    text = f"{fsum(sorted(there)) / 3600:.2f} h"
    return text if len(there) == len(values) else f"{text} (known of {len(there)} of {len(values)} runs)"


def differing_versions(records: Sequence[Record]) -> list[str]:
    """Packages of which the runs had different versions: `torch 2.6 (2 runs), 2.7 (1 run)`."""
    names = sorted({name for record in records for name in record.get("versions") or {}}, key=str.lower)
    told = []
    for name in names:
        found = [get(record, "versions", name) for record in records]
        if len(set(found)) > 1:
            told.append(f"{name} " + counted("absent" if one is None else str(one) for one in found))
    return told


def plural(number: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _order(record: Record) -> tuple[str, str]:
    return str(record.get("cell_id")), str(record.get("seed"))
