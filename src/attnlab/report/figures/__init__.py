"""The figures of a comparison: one module each, its numbers as rows of a CSV, then its drawing.

A module has `NAME`, `data(comparison, evidence) -> lines`, `caption(...)` and `draw(...)`; `ABSENT` says why
there is no figure where `data` finds nothing. What is drawn is what the CSV holds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.report.figures import (
    aer_vs_bleu,
    bleu_by_length,
    entropy,
    numbers,
    paper,
    quality_vs_cost,
    styles,
    training_curves,
)
from attnlab.report.figures.numbers import Line
from attnlab.report.rows import Comparison

if TYPE_CHECKING:
    from attnlab.report.evidence import Evidence

MODULES: tuple[Any, ...] = (bleu_by_length, quality_vs_cost, aer_vs_bleu, training_curves, entropy)
OURS = re.compile(rf"({'|'.join(module.NAME for module in MODULES)})(_.+)?\.(csv|svg|png|pdf)")
"""The names of the files that `write_all` writes."""


class Planned(NamedTuple):
    """A figure before it is drawn: its name, its files' stem, its caption (a line), its numbers."""

    name: str
    stem: str
    caption: str
    lines: list[Line]


def plan(comparison: Comparison, evidence: Evidence | None = None) -> tuple[list[Planned], list[str]]:
    """The figures that the records allow, and of the others a line that says why not."""
    planned, notes = [], []
    cast = _cast(comparison, evidence)
    level = numbers.level(comparison, evidence)
    for module in MODULES:
        lines = module.data(comparison, evidence)
        if not lines:
            notes.append(f"no figure {module.NAME}: {module.ABSENT}")
            continue
        there = cast.only({line["key"] for line in lines})
        caption = module.caption(comparison, lines, level, there)
        if there.crowded:
            caption += f" Grey: the {len(there.crowd)} cells that are neither best, worst nor baseline."
        planned.append(Planned(module.NAME, comparison.file(module.NAME), caption, lines))
    return planned, notes


def captions(comparison: Comparison, evidence: Evidence | None = None) -> dict[str, str]:
    """A line below each figure, by its files' stem."""
    return {one.stem: one.caption for one in plan(comparison, evidence)[0]}


def write_all(
    comparison: Comparison,
    evidence: Evidence | None,
    out: Path,
    planned: Sequence[Planned] | None = None,
) -> list[Path]:
    """Writes every figure as CSV, SVG, PNG and PDF; `planned` saves reading the numbers twice."""
    from attnlab.report.table import csv_text

    planned = plan(comparison, evidence)[0] if planned is None else planned
    cast = _cast(comparison, evidence)
    modules = {module.NAME: module for module in MODULES}
    written = []
    with paper.style([*cast.entries.values(), comparison.label]):
        for one in planned:
            table = out / f"{one.stem}.csv"
            table.write_text(csv_text(one.lines), encoding="utf-8", newline="\n")
            there = cast.only({line["key"] for line in one.lines})
            figure = modules[one.name].draw(comparison, one.lines, there)
            written += [table, *paper.save(figure, out / one.stem)]
    return written


def _cast(comparison: Comparison, evidence: Evidence | None) -> styles.Cast:
    baseline = evidence.baseline.key if evidence is not None and evidence.baseline is not None else None
    return styles.cast(comparison.rows, comparison.varying or list(comparison.constant), baseline)
