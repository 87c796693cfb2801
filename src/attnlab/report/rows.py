"""What a comparison is made of: runs, rows (a cell or a system each), the values of a row over its seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attnlab import results
from attnlab.metrics.seeds import Spread, spread
from attnlab.results import Record
from attnlab.sweep.identity import AXES

if TYPE_CHECKING:
    import numpy as np

    from attnlab.segments import Segments

CELL, SYSTEM, MISSING = "cell", "system", "missing"
"""The kinds of a row: a cell with finished runs; somebody else's system; a cell without any finished run."""


class Run(NamedTuple):
    """One record, and of its test sets the one that is compared.

    Attributes:
        folder: the run folder.
        record: `result.json`.
        test: the scores of the test set, `test.<set>` of the record or of a further evaluation.
        data: the `data` that goes with it.
        place: the folder that holds `hyp.txt` and `segments.npz` of this test set; None where unknown.
        tampered: BLEU of the same test set with tampered weights, by the name of the override.
    """

    folder: Path
    record: Record
    test: Record
    data: Record
    place: Path | None = None
    tampered: Mapping[str, float] = {}

    @property
    def seed(self) -> str:
        """`1`, or `1-init2-order3` where the seeds are set apart."""
        return seed_label(self.record)


class Tampered(NamedTuple):
    """BLEU under an override of the attention weights, and its difference from the untampered runs' own."""

    bleu: Spread
    delta: Spread


@dataclass(eq=False)
class Row:
    """One cell: its finished runs, one a seed, and the seeds that gave no score.

    Attributes:
        cell: the option of each axis; None where it is without effect, and for a system.
        cell_id: as in the record; the name of a system.
        config: the settings of the first run; empty where nothing is known of them.
        runs: one a seed, in the seeds' order; none for a `missing` row, one for a `system`.
        failed, interrupted, missing: labels of the seeds without a score.
        settings: what tells the row from the others beside the axes.
        kind: `cell`, `system` or `missing`.
        controlled: whether a record of ours tells how it was trained.
        origin: the study or folder it comes from, where the same cell stands in several; else empty.
        factors: what the decoder's order means: `asks`, `context_goes_to`, `fed_back`.
        segments: statistics of each sentence by seed, where the runs have them.
        scores: segment scores of further metrics, by metric and seed, each [n].
        overrides: what tampered weights do to BLEU, by the override's name.
    """

    cell: dict[str, str | None]
    cell_id: str
    config: Record
    runs: list[Run]
    failed: list[str] = field(default_factory=list)
    interrupted: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    settings: str = ""
    kind: str = CELL
    controlled: bool = True
    origin: str = ""
    factors: dict[str, str | None] = field(default_factory=dict)
    segments: dict[str, Segments] = field(default_factory=dict)
    scores: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    overrides: dict[str, Tampered] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What the row is called in files: different from every other row's of its comparison."""
        if self.kind == SYSTEM:
            return f"system:{self.cell_id}"
        return f"{self.cell_id}@{self.origin}" if self.origin else self.cell_id

    @property
    def attends(self) -> bool:
        """Whether the cell has attention; a cell without records its scorer as null."""
        return self.kind != SYSTEM and results.attends({"cell": self.cell})

    def name(self, axes: Sequence[str] = AXES) -> str:
        """The options of some axes (and what else differs) in words, `none` left out."""
        parts = [str(self.cell[axis]) for axis in axes if self.cell[axis] not in (None, "none")]
        text = ", ".join([*parts, self.settings] if self.settings else parts) or self.cell_id
        return f"{text} ({self.origin})" if self.origin else text

    def spread(self, pick: Callable[[Run], float | None]) -> Spread:
        """Mean and deviation over the seeds that have a value."""
        return spread([None if value is None else float(value) for value in map(pick, self.runs)])

    def buckets(self, name: str) -> list[tuple[Record, Spread]]:
        """Each length bucket (of the first seed: they share the test set) and its BLEU over seeds."""
        first = self.runs[0].test.get(name) or [] if self.runs else []
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
    def scored(self) -> list[Row]:
        """The rows with at least one finished run."""
        return [row for row in self.rows if row.runs]

    @property
    def first(self) -> Run:
        """A run of ours that stands for what all rows share: the test set and where it comes from."""
        return next(row for row in sorted(self.scored, key=lambda row: not row.controlled)).runs[0]

    @property
    def varying(self) -> list[str]:
        """The axes in which the cells differ."""
        return [axis for axis in AXES if len({row.cell[axis] for row in self._cells}) > 1]

    @property
    def constant(self) -> dict[str, str]:
        """The axes that are the same in every cell, with their option."""
        cells = self._cells
        return {axis: cells[0].cell[axis] or "none" for axis in AXES if cells and axis not in self.varying}

    @property
    def label(self) -> str:
        """`test_2016_flickr, de-en`."""
        return ", ".join(part for part in (self.test_set, self.languages) if part)

    @property
    def n(self) -> int:
        """How many sentences the test set has."""
        return int(self.first.test["n"])

    @property
    def origin(self) -> str:
        """Where the test set comes from: `files in <folder>`, `generated, seed 1`, a collection."""
        return str(self.first.data.get("source") or "")

    @property
    def content(self) -> str:
        """The first digits of the fingerprint of the set's text."""
        return self.fingerprint[:8]

    @property
    def chrf_signature(self) -> str | None:
        """The chrF signature of most runs (of equally many, the first in the alphabet); None without chrF."""
        found = [str(one["signature"]) for row in self.rows for run in row.runs if (one := run.test["chrf"])]
        return max(sorted(set(found)), key=found.count) if found else None

    def file(self, stem: str) -> str:
        """`table`, or for a comparison beside the main one `table_<what differs>`."""
        return f"{stem}_{self.slug}" if self.slug else stem

    @property
    def _cells(self) -> list[Row]:
        return [row for row in self.rows if row.kind != SYSTEM]


class Report(NamedTuple):
    """The comparisons, the main one first; what the reader must know about all; runs that gave no score.

    `title` names the studies or folders, `question` is that of their study's file; `failed` are the records
    of the runs that failed or were stopped.
    """

    comparisons: list[Comparison]
    notes: list[str]
    unscored: list[str]
    title: str = ""
    question: str | None = None
    failed: Sequence[Record] = ()


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
