"""BLEU against source length: one line a cell, with bands; a bucket without a score is a gap."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

from attnlab.metrics.length import label
from attnlab.report.figures import numbers, paper, styles
from attnlab.report.figures.numbers import Line
from attnlab.report.rows import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attnlab.report.evidence import Evidence

NAME = "bleu_by_length"
ABSENT = "no run has BLEU by source length"
_FEW, _SHORT = "few", "too_short"
_WEAK = {_FEW: "*", _SHORT: "\n(short)"}


def data(comparison: Comparison, evidence: Evidence | None = None) -> list[Line]:
    """A line a cell and bucket, empty buckets too: n, BLEU over seeds, its interval, its mark."""
    signature = {"bleu_signature": comparison.signature}
    return [
        numbers.cell(row) | line | signature
        for row in comparison.rows
        for line in numbers.by_length(row, evidence)
    ]


def caption(comparison: Comparison, lines: Sequence[Line], level: float, cast: styles.Cast) -> str:
    """What is seen, in a line."""
    shown = visible(lines)
    bands = numbers.spans([line for line in shown if line["key"] in cast.looks], "bleu", level)
    text = f"BLEU by number of source words on {comparison.label}"
    text += f"; bands: {bands}" if bands else ""
    text += "; * too few sentences to rely on" if any(line["mark"] == _FEW for line in shown) else ""
    text += (
        "; (short) no 4-gram, BLEU is not defined" if any(line["mark"] == _SHORT for line in shown) else ""
    )
    return f"{text}."


def draw(comparison: Comparison, lines: Sequence[Line], cast: styles.Cast) -> Figure:
    """One line a cell; a band spans the interval, or the deviation over seeds where there is none."""
    shown = visible(lines)
    entries = paper.texts(comparison.rows, cast)
    width = paper.width(entries)
    below = paper.depth(entries, width) if width == paper.ONE else 0.0
    figure, (axes,) = paper.sheet(width, 2.3 + below if width == paper.ONE else 2.7)
    labels = ticks(shown)
    at = places(labels, 2.7 if width == paper.ONE else 3.6)
    curves = numbers.grouped(shown)
    for row in cast.order(comparison.rows):
        curve, look = curves.get(row.key, []), cast.looks.get(row.key)
        xs = [at[line["centre"]] for line in curve]
        axes.plot(xs, [_value(line) for line in curve], **paper.pen(look))
        if look is not None:
            band(axes, xs, curve, "bleu", look.color)
    axes.set_xticks([at[one] for one in labels], list(labels.values()))
    few = ", * too few" if any(line["mark"] == _FEW for line in shown) else ""
    axes.set_xlabel(f"source words (below: sentences{few})")
    start = floor([line for line in shown if line["key"] in cast.looks or line["key"] in cast.crowd])
    top = max(axes.dataLim.y1, start + 1)
    axes.set_ylim(start, top + 0.04 * (top - start))
    axes.set_ylabel(f"BLEU (axis starts at {start})" if start else "BLEU")
    paper.head(axes, comparison)
    paper.legend(figure, comparison.rows, cast, entries, ", ".join(comparison.varying))
    return figure


def visible(lines: Sequence[Line]) -> list[Line]:
    """Without the buckets at either end that have no sentence in any row."""
    lows = [line["lo"] for line in lines if line["n"]] or [0]
    return [line for line in lines if min(lows) <= line["lo"] <= max(lows)]


def floor(lines: Sequence[Line]) -> int:
    """Where the score axis starts: 0, or the ten below the lowest value where all lie above 50."""
    scored = [line for line in lines if line["bleu"] is not None]
    lows = [found[0] if (found := numbers.ends(line, "bleu")) else line["bleu"] for line in scored]
    lowest = min(lows, default=0.0)
    return 10 * (ceil(lowest / 10) - 1) if lowest > 50 else 0


def band(axes: Any, xs: Sequence[float], curve: Sequence[Line], name: str, colour: str) -> None:
    """What each point's bar spans, as a band; a point without neighbours gets a bar."""
    found = [numbers.ends(line, name) for line in curve]
    lows = [one[0] if one else float("nan") for one in found]
    highs = [one[1] if one else float("nan") for one in found]
    if any(found):
        axes.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0, zorder=2)
    for index, (x, one) in enumerate(zip(xs, found, strict=True)):
        if one and not any(found[max(index - 1, 0) : index] + found[index + 1 : index + 2]):
            axes.vlines(x, one[0], one[1], color=colour, linewidth=0.8, zorder=2)


def _value(line: Line) -> float:
    return float("nan") if line["bleu"] is None else line["bleu"]


def ticks(lines: Sequence[Line]) -> dict[float, str]:
    """By place, the bucket and below it its number of sentences, with its mark."""
    found: dict[float, str] = {}
    for line in lines:
        weak = _WEAK.get(line.get("mark") or "", "")
        found.setdefault(line["centre"], f"{label(line).replace('<=', '≤')}\n{line['n']:,}{weak}")
    return dict(sorted(found.items()))


def places(labels: dict[float, str], room: float) -> dict[float, float]:
    """In proportion to the words where the labels fit side by side, else at equal distances."""
    at = list(labels)
    if len(at) < 2:
        return {one: one for one in at}
    widest = max(paper.measure(part) for text in labels.values() for part in text.split("\n"))
    narrowest = min(after - before for before, after in pairwise(at)) / (at[-1] - at[0]) * room
    return {one: one if narrowest > widest else float(index) for index, one in enumerate(at)}
