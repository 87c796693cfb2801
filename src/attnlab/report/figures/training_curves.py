"""Validation BLEU (or loss, where no run has BLEU) against updates, from the `metrics.jsonl` of each run."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from attnlab.report.beside import CURVE, curve
from attnlab.report.figures import numbers, paper, styles
from attnlab.report.figures.numbers import Line
from attnlab.report.rows import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attnlab.report.evidence import Evidence

NAME = "training_curves"
ABSENT = f"no {CURVE} with validations beside the records"


def data(comparison: Comparison, evidence: Evidence | None = None) -> list[Line]:
    """A line a cell, seed and validation: `updates`, `val_bleu`, `val_loss`."""
    del evidence  # validations are not tested
    return [
        numbers.cell(row) | {"seed": run.seed, "updates": updates, "val_bleu": bleu, "val_loss": loss}
        for row in comparison.rows
        for run in row.runs
        for updates, bleu, loss in curve(run)
    ]


def caption(comparison: Comparison, lines: Sequence[Line], level: float, cast: styles.Cast) -> str:
    """What is seen, in a line; names the runs whose curve is not there."""
    del level
    what = "BLEU" if shown(lines) == "val_bleu" else "loss"
    text = f"Validation {what} against updates"
    sentences = {numbers.pick(run, "val", "sentences") for row in comparison.rows for run in row.runs} - {
        None
    }
    if what == "BLEU" and len(sentences) == 1:
        text += f" (BLEU of {sentences.pop()} validation sentences)"
    if any(len(_seeds(some)) > 1 for some in numbers.grouped(lines).values()):
        text += "; thin: seeds, thick: their mean as far as all of them went"
    there = {(line["key"], line["seed"]) for line in lines if line[shown(lines)] is not None}
    absent = [
        f"{row.name(comparison.varying)} seed {run.seed}"
        for row in comparison.rows
        for run in row.runs
        if row.controlled and (row.key, run.seed) not in there
    ]
    if absent:
        more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
        text += f"; without {CURVE}: {'; '.join(absent[:5])}{more}"
    return f"{text}."


def shown(lines: Sequence[Line]) -> str:
    """The column that is drawn: BLEU as soon as any run has it."""
    return "val_bleu" if any(line["val_bleu"] is not None for line in lines) else "val_loss"


def draw(comparison: Comparison, lines: Sequence[Line], cast: styles.Cast) -> Figure:
    """A thin line a seed, and a thick one for their mean."""
    column = shown(lines)
    entries = paper.texts(comparison.rows, cast)
    width = paper.width(entries)
    below = paper.depth(entries, width) if width == paper.ONE else 0.0
    figure, (axes,) = paper.sheet(width, 2.2 + below if width == paper.ONE else 2.7)
    curves = numbers.grouped([line for line in lines if line[column] is not None])
    for row in cast.order(comparison.rows):
        look = cast.looks.get(row.key)
        seeds = _seeds(curves.get(row.key, []))
        mean = _mean([dict(points) for points in seeds.values()])
        if look is not None and len(seeds) > 1:
            thin = paper.pen(look) | {"linewidth": 0.5, "alpha": 0.45, "marker": "", "zorder": 2}
            for points in seeds.values():
                axes.plot(*zip(*points, strict=True), **thin)
        if mean:
            every = {"markevery": max(len(mean) // 8, 1)} if look is not None else {}
            axes.plot(*zip(*mean, strict=True), **paper.pen(look) | every)
    axes.set_xlabel("updates")
    axes.set_ylabel("validation BLEU" if column == "val_bleu" else "validation loss")
    if column == "val_bleu":
        axes.set_ylim(0, 1.04 * max(axes.dataLim.y1, 1.0))
    axes.set_xlim(left=0)
    validated = ", ".join(filter(None, ["validation set", comparison.languages]))
    paper.head(axes, comparison, label=validated)  # nothing here is of the test set
    paper.legend(figure, comparison.rows, cast, entries, ", ".join(comparison.varying))
    return figure


def _seeds(lines: Sequence[Line]) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    column = shown(lines)
    for line in lines:
        if line[column] is not None:
            found.setdefault(line["seed"], []).append((line["updates"], line[column]))
    return found


def _mean(curves: Sequence[dict[int, float]]) -> list[tuple[int, float]]:
    """The mean where every seed has a value: one that stopped early must not bend it."""
    shared = sorted(set.intersection(*(set(curve) for curve in curves))) if curves else []
    return [(updates, fmean(curve[updates] for curve in curves)) for updates in shared]
