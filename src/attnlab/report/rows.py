"""What a comparison is made of: runs, rows (a cell each) and the values of a row over its seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from attnlab import results
from attnlab.results import Record
from attnlab.sweep.identity import AXES


class Spread(NamedTuple):
    """A value over seeds: mean, sample standard deviation (n - 1; None for one seed) and their number."""

    mean: float | None
    deviation: float | None
    n: int


class Run(NamedTuple):
    """One record, and of its test sets the one that is compared."""

    folder: Path
    record: Record
    test: Record
    data: Record

    @property
    def seed(self) -> str:
        """`1`, or `1-init2-order3` where the seeds are set apart."""
        return seed_label(self.record)


@dataclass(eq=False)
class Row:
    """One cell: its finished runs, one a seed (at least one), and the seeds that gave no score."""

    cell: dict[str, str | None]
    cell_id: str
    config: Record
    runs: list[Run]
    failed: list[str] = field(default_factory=list)
    interrupted: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    settings: str = ""

    @property
    def attends(self) -> bool:
        """Whether the cell has attention; a cell without records its scorer as null."""
        return results.attends({"cell": self.cell})

    def name(self, axes: Sequence[str] = AXES) -> str:
        """The options of some axes (and what else differs) in words, `none` left out."""
        parts = [str(self.cell[axis]) for axis in axes if self.cell[axis] not in (None, "none")]
        return ", ".join([*parts, self.settings] if self.settings else parts) or self.cell_id

    def spread(self, pick: Callable[[Run], float | None]) -> Spread:
        """Mean and deviation over the seeds that have a value."""
        values = [float(value) for value in map(pick, self.runs) if value is not None]
        if not values:
            return Spread(None, None, 0)
        return Spread(fmean(values), stdev(values) if len(values) > 1 else None, len(values))

    def buckets(self, name: str) -> list[tuple[Record, Spread]]:
        """Each length bucket (of the first seed: they share the test set) and its BLEU over seeds."""
        first = self.runs[0].test[name]
        return [(bucket, self.spread(partial(_bucket, name, k))) for k, bucket in enumerate(first)]


@dataclass
class Comparison:
    """Rows that may be compared: same languages, test set, content of that set and BLEU signature."""

    languages: str
    test_set: str
    fingerprint: str
    signature: str
    rows: list[Row]
    slug: str = ""
    several: bool = False

    @property
    def varying(self) -> list[str]:
        """The axes in which the rows differ."""
        return [axis for axis in AXES if len({row.cell[axis] for row in self.rows}) > 1]

    @property
    def constant(self) -> dict[str, str]:
        """The axes that are the same in every row, with their option."""
        first = self.rows[0].cell
        return {axis: first[axis] or "none" for axis in AXES if axis not in self.varying}

    @property
    def label(self) -> str:
        """`test_2016_flickr, de-en`."""
        return ", ".join(part for part in (self.test_set, self.languages) if part)

    @property
    def origin(self) -> str:
        """Where the test set comes from: `files in <folder>`, `generated, seed 1`, a collection."""
        return str(self.rows[0].runs[0].data.get("source") or "")

    @property
    def content(self) -> str:
        """The first digits of the fingerprint of the set's text."""
        return self.fingerprint[:8]

    def file(self, stem: str) -> str:
        """`table`, or for a comparison beside the main one `table_<what differs>`."""
        return f"{stem}_{self.slug}" if self.slug else stem


class Report(NamedTuple):
    """The comparisons, the main one first; what the reader must know about all; runs that gave no score."""

    comparisons: list[Comparison]
    notes: list[str]
    unscored: list[str]


def seed_label(record: Record) -> str:
    """The seed, and those of initialisation and order where they are set apart."""
    config, seed = record["config"] or {}, record["seed"]
    label = str(seed)
    for name in ("init", "order"):
        own = config.get(f"seed_{name}")
        if own is not None and own != seed:
            label += f"-{name}{own}"
    return label


def _bucket(name: str, index: int, run: Run) -> float | None:
    table = run.test[name]
    return table[index]["bleu"] if index < len(table) else None
