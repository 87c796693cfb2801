"""The columns of a comparison, as text, and the lines above and below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attnlab.report.evidence import BLEU as MEASURED
from attnlab.report.evidence import CHRF, Estimate, Evidence, Measure, claimed
from attnlab.report.marks import CONFOUNDED, FEW, SIGNIFICANT, UNCONTROLLED
from attnlab.report.picks import AER, ATTENTION, BLEU, COSTS, ENTROPY, SCORES, Number
from attnlab.report.rows import SYSTEM, Comparison, Row

__all__ = ["ATTENTION", "BLEU", "COSTS", "SCORES", "Column", "Columns", "columns", "deltas", "for_people"]

LENGTH = "source_words"
"""The kind of length whose buckets and slope are columns; `lengths.csv` has all kinds."""


class Column(NamedTuple):
    """A title and one cell a row.

    Attributes:
        title: above it.
        cells: as text, one a row.
        numeric: stands on the right.
        values: behind the cells, where the best of them can be told.
        better: 1 where higher is better, -1 where lower is, 0 where neither.
    """

    title: str
    cells: list[str]
    numeric: bool = True
    values: Sequence[float | None] = ()
    better: int = 0

    @property
    def best(self) -> set[int]:
        """The rows with the best value as it is written; none where all are alike."""
        known = {row: value for row, value in enumerate(self.values) if value is not None}
        if not self.better or len(known) < 2:
            return set()
        top = max(known, key=lambda row: self.better * known[row])
        shown = self.cells[top].split(" ")[0]
        best = {row for row in known if self.cells[row].split(" ")[0] == shown}
        return best if len(best) < len(known) else set()


class Columns(NamedTuple):
    """The columns that name the rows; what a reader wants first; scores from files; more; by length; cost."""

    names: list[Column]
    main: list[Column]
    given: list[Column]
    more: list[Column]
    lengths: list[Column]
    costs: list[Column]

    @property
    def every(self) -> list[Column]:
        """All of them, names first."""
        return [*self.names, *self.main, *self.given, *self.more, *self.lengths, *self.costs]


def for_people(label: str) -> str:
    """A bucket's label as it is read: `≤10`; CSV keeps `<=10`."""
    return label.replace("<=", "≤")


def columns(comparison: Comparison, evidence: Evidence, *, whole: bool = False) -> Columns:
    """All columns of a comparison; a number that no row has is left out.

    Args:
        comparison: the rows.
        evidence: of the comparison.
        whole: with the interval of the difference, for which a terminal has no room.
    """
    rows = comparison.rows
    main = [
        Column("seeds", [_seeds(row) for row in rows], False),
        _estimates(rows, evidence.bleu, 2),
        *_delta(rows, evidence, whole),
        *_numbers(rows, [AER]),
        *_slope(rows, evidence),
    ]
    chrf = evidence.measures.get(CHRF)
    more = [
        *([_estimates(rows, chrf, 1)] if chrf is not None and chrf.rows else []),
        *_numbers(rows, [*SCORES, ENTROPY]),
        *_p(rows, evidence),
        *_overrides(rows),
    ]
    given = [
        _estimates(rows, measure, 3)
        for name, measure in evidence.measures.items()
        if name not in (MEASURED, CHRF) and measure.rows
    ]
    lengths, costs = _by_length(rows, evidence), _numbers(rows, COSTS)
    return Columns(_names(comparison), main, given, more, lengths, costs)


def deltas(comparison: Comparison, evidence: Evidence) -> dict[str, float]:
    """By `Row.key`, the difference of BLEU from the baseline's, tested or not."""
    rows = evidence.bleu.rows
    base = rows.get(evidence.baseline.key) if evidence.baseline is not None else None
    if base is None:
        return {}
    return {
        row.key: rows[row.key].mean - base.mean
        for row in comparison.rows
        if row.key in rows and row is not evidence.baseline
    }


def estimate(found: Estimate | None, digits: int) -> str:
    """`32.50 ± 0.71 [31.20, 33.75]`, as far as it is known."""
    if found is None:
        return "-"
    text = f"{found.mean:.{digits}f}"
    text += "" if found.deviation is None else f" ± {found.deviation:.{digits}f}"
    return text if found.low is None else f"{text} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def _names(comparison: Comparison) -> list[Column]:
    rows = comparison.rows
    found = [Column(axis, [row.cell[axis] or "none" for row in rows], False) for axis in comparison.varying]
    if any(row.settings for row in rows):
        found.append(Column("other settings", [row.settings for row in rows], False))
    if any(row.origin for row in rows):
        found.append(Column("version", [row.origin or "-" for row in rows], False))
    if not found:
        found = [Column("cell", [row.cell_id for row in rows], False)]
    if any(row.kind == SYSTEM for row in rows):
        for column in found:
            column.cells[:] = [
                "-" if r.kind == SYSTEM else c for r, c in zip(rows, column.cells, strict=True)
            ]
        first = found[0].cells
        first[:] = [
            f"{row.cell_id}{UNCONTROLLED}" if row.kind == SYSTEM else text
            for row, text in zip(rows, first, strict=True)
        ]
    return found


def _seeds(row: Row) -> str:
    parts = [" ".join(run.seed for run in row.runs)] if row.runs and row.controlled else []
    if len(row.runs) > 1 and not row.controlled:
        parts = [f"{len(row.runs)} outputs"]  # nobody knows of which seeds
    parts += [f"failed {' '.join(row.failed)}"] if row.failed else []
    parts += [f"interrupted {' '.join(row.interrupted)}"] if row.interrupted else []
    parts += [f"missing {' '.join(row.missing)}"] if row.missing and row.controlled else []
    return "; ".join(parts) or "-"


def _estimates(rows: Sequence[Row], measure: Measure, digits: int) -> Column:
    known = [measure.rows.get(row.key) for row in rows]
    cells = []
    for row, found in zip(rows, known, strict=True):
        short = measure.name == "BLEU" and any(run.test["bleu"].get("mark") for run in row.runs)
        cells.append(estimate(found, digits) + (" (short)" if short else ""))
    better = 1 if measure.name in ("BLEU", "chrF") else 0
    return Column(measure.name, cells, True, [found.mean if found else None for found in known], better)


def _delta(rows: Sequence[Row], evidence: Evidence, whole: bool) -> list[Column]:
    base = evidence.bleu.rows.get(evidence.baseline.key) if evidence.baseline is not None else None
    if base is None:
        return []
    cells = []
    for row in rows:
        known = evidence.of(row)
        if row is evidence.baseline:
            cells.append("baseline")
        elif known.bleu is None:
            cells.append("-")
        else:
            marks = SIGNIFICANT if claimed(known.test) else ""
            marks += CONFOUNDED if known.confounded and row.controlled else ""
            limits = f" [{known.test.low:+.2f}, {known.test.high:+.2f}]" if whole and known.test else ""
            cells.append(f"{known.bleu.mean - base.mean:+.2f}{marks}{limits}")
    return [Column("Δ BLEU", cells)]


def _p(rows: Sequence[Row], evidence: Evidence) -> list[Column]:
    tests = [evidence.of(row).test for row in rows]
    if not any(tests):
        return []
    return [Column("p (Holm)", ["-" if test is None else probability(test.p_holm) for test in tests])]


def probability(p: float) -> str:
    """Three digits, or that it is below what they can tell."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _slope(rows: Sequence[Row], evidence: Evidence) -> list[Column]:
    found = [curves[LENGTH].slope if LENGTH in (curves := evidence.of(row).lengths) else None for row in rows]
    values = [None if slope is None else slope.value for slope in found]
    if all(value is None for value in values):
        return []
    cells = []
    for slope, value in zip(found, values, strict=True):
        text = "-" if value is None else f"{value:+.2f}"
        if slope is not None and value is not None and slope.low is not None and slope.high is not None:
            text += f" [{slope.low:+.2f}, {slope.high:+.2f}]"
        cells.append(text)
    return [Column("slope", cells)]  # none is best: what translates nothing falls by nothing


def _numbers(rows: Sequence[Row], wanted: Iterable[Number]) -> list[Column]:
    table = []
    for number in wanted:
        means = [row.spread(number.pick).mean for row in rows]
        if any(mean is not None for mean in means):
            cells = ["-" if mean is None else number.write(mean) for mean in means]
            table.append(Column(number.title, cells, True, means, number.better))
    return table


def _overrides(rows: Sequence[Row]) -> list[Column]:
    """BLEU with tampered weights, and its difference from the runs' own."""
    table = []
    for name in sorted({name for row in rows for name in row.overrides}):
        found = [row.overrides.get(name) for row in rows]
        cells = [
            "-" if one is None or one.bleu.mean is None else f"{one.bleu.mean:.2f} ({one.delta.mean:+.2f})"
            for one in found
        ]
        table.append(Column(f"BLEU, {name}", cells))
    return table


def _by_length(rows: Sequence[Row], evidence: Evidence) -> list[Column]:
    """A column for every bucket that any row has; titled with n where all rows agree on it."""
    cells: dict[str, dict[int, str]] = {}
    values: dict[str, dict[int, float]] = {}
    sizes: dict[str, set[int]] = {}
    order: dict[str, int] = {}
    for index, row in enumerate(rows):
        curves = evidence.of(row).lengths
        for bucket in curves[LENGTH].buckets if LENGTH in curves else []:
            name = for_people(bucket.label)
            order[name] = bucket.lo
            sizes.setdefault(name, set()).add(bucket.n)
            text = "-" if bucket.score is None else f"{bucket.score:.1f}"
            if bucket.score is not None:
                values.setdefault(name, {})[index] = bucket.score
            if bucket.mark == "few":
                text += FEW
            elif bucket.mark == "too_short":
                text = "short"
            cells.setdefault(name, {})[index] = text
    return [
        Column(
            f"{name} (n={next(iter(sizes[name]))})" if len(sizes[name]) == 1 else name,
            [cells[name].get(index, "-") for index in range(len(rows))],
            True,
            [values.get(name, {}).get(index) for index in range(len(rows))],
            1,
        )
        for name in sorted(cells, key=lambda name: (order[name], name))
    ]
