"""How sharp the weights are on longer sentences: normalised entropy, and the mass on words of gold links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlab.metrics.length import centre
from attnlab.report.figures import bleu_by_length, numbers, paper, styles
from attnlab.report.figures.numbers import Line
from attnlab.report.rows import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attnlab.report.evidence import Evidence

NAME = "entropy"
ABSENT = "no run has attention.by_source_length, which records of older versions lack"
_VALUES = ("entropy_normalised", "gold_mass", "max_weight", "diagonal_distance")
_PANELS = {"entropy_normalised": "normalised entropy", "gold_mass": "mass on gold words"}


def data(comparison: Comparison, evidence: Evidence | None = None) -> list[Line]:
    """A line a cell and bucket: n, and each statistic with its deviation over seeds."""
    del evidence  # weights are not tested
    lines = []
    for row in comparison.rows:
        tables = [numbers.pick_test(run, "attention", "by_source_length") or [] for run in row.runs]
        tables = [table for table in tables if table]
        width = numbers.open_width(tables[0]) if tables else 0.0
        for index, bucket in enumerate(tables[0] if tables else []):
            line: Line = {"lo": bucket["lo"], "hi": bucket["hi"], "centre": centre(bucket, width)}
            line |= {"n": bucket["n"], "seeds": len(tables)}
            for name in _VALUES:
                values = [table[index].get(name) for table in tables if index < len(table)]
                line[name], line[f"{name}_sd"] = numbers.over_seeds(values)
            lines.append(numbers.cell(row) | line)
    return lines if any(line["entropy_normalised"] is not None for line in lines) else []


def caption(comparison: Comparison, lines: Sequence[Line], level: float, cast: styles.Cast) -> str:
    """What is seen, in a line."""
    del level
    text = "Entropy of the attention weights, divided by the logarithm of the source's length"
    if len(_panels(lines)) > 1:
        text += ", and weight on the words that the gold links name"
    text += f", by source words on {comparison.label}"
    text += "; bands: sample deviation over seeds" if any(_bands(lines, cast)) else ""
    return f"{text}."


def draw(comparison: Comparison, lines: Sequence[Line], cast: styles.Cast) -> Figure:
    """A panel of entropy, and one of mass on gold words where that is known."""
    panels = _panels(lines)
    entries = paper.texts(comparison.rows, cast)
    width = paper.TWO if len(panels) > 1 else paper.width(entries)
    below = paper.depth(entries, width) if width == paper.ONE or len(panels) > 1 else 0.0
    figure, axes = paper.sheet(width, 2.3 + below if below else 2.7, panels=len(panels))
    shown = bleu_by_length.visible(lines)
    ticks = bleu_by_length.ticks(shown)
    places = bleu_by_length.places(ticks, 2.6)
    curves = numbers.grouped(shown)
    for one, name in zip(axes, panels, strict=True):
        for row in cast.order(comparison.rows):
            curve, look = curves.get(row.key, []), cast.looks.get(row.key)
            xs = [places[line["centre"]] for line in curve]
            values = [float("nan") if line[name] is None else line[name] for line in curve]
            one.plot(xs, values, **paper.pen(look))
            if look is not None:
                bleu_by_length.band(one, xs, curve, name, look.color)
        one.set_xticks([places[at] for at in ticks], list(ticks.values()))
        one.set_xlabel("source words (below: sentences)")
        one.set_ylabel(_PANELS[name])
        one.set_ylim(0, 1.04 * max(one.dataLim.y1, 0.01))
    paper.head(axes[0], comparison)
    paper.legend(figure, comparison.rows, cast, entries, ", ".join(comparison.varying))
    return figure


def _panels(lines: Sequence[Line]) -> list[str]:
    return [name for name in _PANELS if any(line[name] is not None for line in lines)]


def _bands(lines: Sequence[Line], cast: styles.Cast) -> list[bool]:
    return [line["entropy_normalised_sd"] is not None for line in lines if line["key"] in cast.looks]
