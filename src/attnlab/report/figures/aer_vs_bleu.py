"""Alignment error against BLEU: does the model that translates better align better?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlab.report.columns import BLEU
from attnlab.report.figures import numbers, paper, scatter, styles
from attnlab.report.figures.numbers import Line
from attnlab.report.rows import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attnlab.report.evidence import Evidence

NAME = "aer_vs_bleu"
ABSENT = "no run has gold alignments for this test set"
MEAN = "mean"
_NAMED = 3  # rows in the caption
_AER = {f"aer_{credit}": ("alignment", credit, "aer") for credit in ("predicted", "input")}


def data(comparison: Comparison, evidence: Evidence | None = None) -> list[Line]:
    """A line a cell (`seed` is `mean`) and below it, where there are several seeds, one a seed."""
    lines = []
    for row in comparison.rows:
        aers = {name: [numbers.pick_test(run, *path) for run in row.runs] for name, path in _AER.items()}
        if all(value is None for values in aers.values() for value in values):
            continue
        line = (
            numbers.cell(row)
            | {"seed": MEAN, "seeds": len(row.runs)}
            | numbers.bleu(row, evidence).columns("bleu")
        )
        for name, values in aers.items():
            line[name], line[f"{name}_sd"] = numbers.over_seeds(values)
        found = [line]
        for index, run in enumerate(row.runs if len(row.runs) > 1 else []):
            own: Line = {
                "seed": run.seed,
                "seeds": 1,
                "bleu": BLEU(run),
                "bleu_sd": None,
                "ci_low": None,
                "ci_high": None,
            }
            own |= {name: values[index] for name, values in aers.items()}
            found.append(numbers.cell(row) | own)
        lines += [one | {"bleu_signature": comparison.signature} for one in found]
    return lines


def caption(comparison: Comparison, lines: Sequence[Line], level: float, cast: styles.Cast) -> str:
    """What is seen, in a line."""
    means = [line for line in lines if line["seed"] == MEAN and line["key"] in cast.looks]
    bars = numbers.spans(means, "bleu", level)
    text = f"AER of the attention weights (credit: predicted word) against BLEU on {comparison.label}"
    text += "; numbers: rows of the table"
    text += "; small points: seeds, large: their means" if _seeds(lines) else ""
    text += f"; bars: {bars}" if bars else ""
    there = {line["key"] for line in lines}
    absent = [row for row in comparison.scored if row.key not in there]
    for rows, why in (
        ([row for row in absent if row.controlled and not row.attends], "without attention, so without AER"),
        ([row for row in absent if not row.controlled or row.attends], "without AER"),
    ):
        names = [f"{comparison.rows.index(row) + 1} ({row.name(comparison.varying)})" for row in rows]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        text += f"; {why}: row {', '.join(names[:_NAMED])}{more}" if names else ""
    return f"{text}; lower AER is better."


def draw(comparison: Comparison, lines: Sequence[Line], cast: styles.Cast) -> Figure:
    """AER of the predicted credit to the right, BLEU upwards; each mean bears the number of its row."""
    entries = paper.texts(comparison.rows, cast, numbered=True)
    width = paper.width(entries)
    below = paper.depth(entries, width) if width == paper.ONE else 0.0
    figure, (axes,) = paper.sheet(width, 2.3 + below if width == paper.ONE else 2.7)
    seeds = [
        line
        for line in _seeds(lines)
        if line["key"] in cast.looks and None not in (line["bleu"], line["aer_predicted"])
    ]
    for line in seeds:
        small = {"markersize": 3.0, "alpha": 0.6, "markeredgewidth": 0.0}
        axes.plot(line["aer_predicted"], line["bleu"], **paper.dot(cast.looks[line["key"]]) | small)
    means = [line for line in lines if line["seed"] == MEAN]
    points = scatter.panel(axes, comparison.rows, means, cast, "aer_predicted")
    points += [scatter.Point(line["aer_predicted"], line["bleu"]) for line in seeds]
    axes.set_xlabel("alignment error rate (credit: predicted word)")
    axes.set_ylabel("BLEU")
    paper.head(axes, comparison)
    paper.legend(figure, comparison.rows, cast, entries, ", ".join(comparison.varying), lines=False)
    scatter.label(figure, axes, points)
    return figure


def _seeds(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if line["seed"] != MEAN]
