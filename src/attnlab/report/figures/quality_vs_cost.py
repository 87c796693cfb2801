"""BLEU against what it costs: training time, and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from attnlab.report.figures import numbers, paper, scatter, styles
from attnlab.report.figures.numbers import Line
from attnlab.report.rows import Comparison, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attnlab.report.evidence import Evidence

NAME = "quality_vs_cost"
ABSENT = "no run has its training time or its number of parameters"
# column, where the record has it
_COSTS = {
    "wall_s": ("train", "wall_s"),
    "tokens_per_s": ("train", "tokens_per_s"),
    "updates": ("train", "updates"),
    "parameters": ("parameters", "total"),
    "parameters_attention": ("parameters", "attention"),
}
_MACHINE = ("cpu", "device", "count", "threads")


def data(comparison: Comparison, evidence: Evidence | None = None) -> list[Line]:
    """A line a cell: BLEU with interval, costs as means over seeds, `machines` they were measured on."""
    lines = []
    for row in comparison.rows:
        line = numbers.cell(row) | {"seeds": len(row.runs)}
        line |= numbers.bleu(row, evidence).columns("bleu")
        for name, path in _COSTS.items():
            mean, deviation = numbers.over_seeds([numbers.pick(run, *path) for run in row.runs])
            line |= {name: mean, f"{name}_sd": deviation}
        line["machines"] = "; ".join(_machines([row]))
        if line["wall_s"] is not None or line["parameters"] is not None:
            lines.append(line | {"bleu_signature": comparison.signature})
    return lines


def caption(comparison: Comparison, lines: Sequence[Line], level: float, cast: styles.Cast) -> str:
    """What is seen, in a line."""
    bars = numbers.spans([line for line in lines if line["key"] in cast.looks], "bleu", level)
    text = f"BLEU on {comparison.label} against training time and against parameters"
    text += "; numbers: rows of the table"
    text += "; means over seeds" if any(line["seeds"] > 1 for line in lines) else ""
    text += f"; bars: {bars}" if bars else ""
    machines = len(_machines(comparison.rows))
    text += f"; times from {machines} kinds of machine, not to be compared" if machines > 1 else ""
    return f"{text}."


def draw(comparison: Comparison, lines: Sequence[Line], cast: styles.Cast) -> Figure:
    """Two panels with one BLEU axis; each point bears the number of its row."""
    entries = paper.texts(comparison.rows, cast, numbered=True)
    figure, (time, size) = paper.sheet(paper.TWO, 2.3 + paper.depth(entries, paper.TWO), panels=2)
    size.sharey(time)
    points = []
    for axes, name in ((time, "wall_s"), (size, "parameters")):
        divisor, unit = _unit(name, [line[name] for line in lines if line[name] is not None])
        scaled = [line | {name: line[name] / divisor if line[name] is not None else None} for line in lines]
        points.append(scatter.panel(axes, comparison.rows, scaled, cast, name))
        axes.set_xlabel(unit)
    time.set_ylabel("BLEU")
    paper.head(time, comparison)
    paper.legend(figure, comparison.rows, cast, entries, "", lines=False)
    for axes, some in zip((time, size), points, strict=True):
        scatter.label(figure, axes, some)
    return figure


def _unit(name: str, values: Sequence[float]) -> tuple[float, str]:
    """What to divide by, and how the axis is called."""
    middle = median(values) if values else 0.0
    if name == "wall_s":
        steps = ((3 * 3600.0, 3600.0, "hours"), (180.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))
        what = "training time"
    else:
        steps = ((1e6, 1e6, "millions"), (1e3, 1e3, "thousands"), (0.0, 1.0, ""))
        what = "parameters"
    divisor, unit = next((divisor, unit) for least, divisor, unit in steps if middle >= least)
    return divisor, f"{what} ({unit})" if unit else what


def _machines(rows: Sequence[Row]) -> list[str]:
    found = {
        ", ".join(f"{name} {value}" for name in _MACHINE if (value := numbers.pick(run, "machine", name)))
        for row in rows
        for run in row.runs
        if numbers.pick(run, "train", "wall_s") is not None
    }
    return sorted(found)
