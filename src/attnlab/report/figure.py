"""BLEU against source length: the data of the figure, and its drawing.

Numbers and bytes come from the records alone: no dates, no random identifiers, nothing sampled.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnlab.metrics.length import centre, label
from attnlab.report.rows import Comparison, Row
from attnlab.report.table import csv_text
from attnlab.sweep.identity import AXES

NAME = "by_source_length"
# Okabe and Ito's colours without black, which the cells without attention have, and without the pale yellow.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_MARKERS = ("o", "s", "^", "D", "v", "P", "*", "h")
_LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
_BASELINE = {
    "color": "black",
    "linestyle": (0, (4, 2)),
    "linewidth": 2.4,
    "marker": "X",
    "markersize": 7,
    "zorder": 3,
}


def curve_csv(comparison: Comparison) -> str:
    """The points of the figure: one line a cell and bucket with n, and the interval where one seed has it."""
    lines = []
    for row in comparison.rows:
        for index, (bucket, spread) in enumerate(row.buckets(NAME)):
            interval = row.runs[0].test[NAME][index]["ci"] if len(row.runs) == 1 else None
            line: dict[str, Any] = {axis: row.cell[axis] or "none" for axis in AXES}
            line |= {"settings": row.settings, "cell_id": row.cell_id}
            line |= {"lo": bucket["lo"], "hi": bucket["hi"], "centre": centre(bucket, _open_width(row))}
            line |= {"n": bucket["n"], "seeds": spread.n, "bleu": spread.mean, "bleu_sd": spread.deviation}
            line |= {
                "ci_low": interval[0] if interval else None,
                "ci_high": interval[1] if interval else None,
            }
            lines.append(line | {"mark": bucket["mark"], "bleu_signature": comparison.signature})
    return csv_text(lines)


def draw(comparison: Comparison, paths: Sequence[Path]) -> None:
    """Draws one line a cell into every path (SVG, PNG); a bucket without a score is a gap in the line.

    Colour tells one axis, marker and dash a second one; cells without attention are black, dashed, heavier.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [row for row in comparison.rows if row.runs]
    looks = styles(rows, comparison.varying)
    shown, seeds = comparison.varying or AXES, {len(row.runs) for row in rows}
    rows_of_legend = sum(_entry(row, shown, seeds).count("\n") + 1 for row in rows)
    settings: Any = {
        "svg.hashsalt": "attnlab",
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(8.2, max(3.6, 0.26 * rows_of_legend + 1.2)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        drawn = [_line(axes, row, look) for row, look in zip(rows, looks, strict=True)]
        _describe(axes, rows, comparison)
        entries = sorted(zip(rows, drawn, strict=True), key=lambda pair: -_last(pair[0]))
        box = axes.legend(
            [line for _, line in entries],
            [_entry(row, shown, seeds) for row, _ in entries],
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            frameon=False,
            handlelength=3.4,
            title=", ".join(shown),
            alignment="left",
        )
        for text in [*box.get_texts(), box.get_title()]:
            text.set_parse_math(False)
        for path in paths:
            nothing = {"Date": None, "Creator": None} if path.suffix == ".svg" else {"Software": None}
            figure.savefig(path, dpi=160, metadata=nothing)


def styles(rows: Sequence[Row], varying: Sequence[str]) -> list[dict[str, Any]]:
    """How each row is drawn. The axis with most options gets the colours, the next markers and dashes."""
    attending = [row for row in rows if row.attends]
    options = {axis: sorted({str(row.cell[axis]) for row in attending}) for axis in varying}
    ranked = sorted(
        (axis for axis in varying if len(options[axis]) > 1), key=lambda axis: -len(options[axis])
    )
    systematic = len(ranked) <= 3 and len({tuple(row.cell.values()) for row in attending}) == len(attending)
    looks: list[dict[str, Any]] = []
    for row in rows:
        if not row.attends:
            looks.append({**_BASELINE, "marker": "Xdv^*"[(len(looks)) % 5] if looks else "X"})
            continue
        number = attending.index(row)
        ranks = [options[axis].index(str(row.cell[axis])) for axis in ranked] if systematic else [number] * 2
        if not systematic:
            ranks = [number, number, number // len(_COLOURS)]
        first, second, third = [*ranks, 0, 0, 0][:3]
        if systematic and len(ranked) == 2:
            third = second
        looks.append(
            {
                "color": _COLOURS[first % len(_COLOURS)],
                "marker": _MARKERS[(second + first // len(_COLOURS)) % len(_MARKERS)],
                "linestyle": _LINES[third % len(_LINES)],
                "linewidth": 1.6,
                "markersize": 5.5,
            }
        )
    return looks


def _entry(row: Row, axes: Sequence[str], seeds: set[int]) -> str:
    """A line of the legend, broken where it would leave no room for the axes."""
    text = row.name(axes) + (f" (seeds: {len(row.runs)})" if len(seeds) > 1 else "")
    return "\n".join(textwrap.wrap(text, 44, break_on_hyphens=False)[:6])


def _line(axes: Any, row: Row, look: dict[str, Any]) -> Any:
    """One line with gaps where there is no score, and bars of one deviation where there are several seeds."""
    width = _open_width(row)
    points = row.buckets(NAME)
    places = [centre(bucket, width) for bucket, _ in points]
    values = [float("nan") if spread.mean is None else spread.mean for _, spread in points]
    (line,) = axes.plot(places, values, **look, markeredgecolor="white", markeredgewidth=0.6)
    bars = [(x, y, spread.deviation) for x, y, (_, spread) in zip(places, values, points, strict=True)]
    bars = [bar for bar in bars if bar[2]]
    if bars:
        x, y, height = zip(*bars, strict=True)
        axes.errorbar(x, y, height, fmt="none", ecolor=look["color"], elinewidth=0.9, capsize=2)
    return line


def _describe(axes: Any, rows: Sequence[Row], comparison: Comparison) -> None:
    ticks: dict[float, str] = {}
    for row in rows:
        for bucket, _ in row.buckets(NAME):
            weak = {"few": "*", "too_short": "\n(short)"}.get(bucket["mark"], "")
            name = label(bucket).replace("<=", "≤")
            ticks.setdefault(centre(bucket, _open_width(row)), f"{name}\nn={bucket['n']}{weak}")
    axes.set_xticks(list(ticks), list(ticks.values()))
    few = "; * too few to rely on" if any("*" in text for text in ticks.values()) else ""
    axes.set_xlabel(f"source words (n: sentences in the bucket{few})")
    axes.set_ylabel("BLEU")
    axes.grid(axis="y", color="0.88", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_title(
        f"{comparison.label}: BLEU against source length", loc="left", fontsize=10, parse_math=False
    )


def _open_width(row: Row) -> float:
    """The open bucket is drawn as wide as the one before it."""
    closed = [bucket for bucket, _ in row.buckets(NAME) if bucket["hi"] is not None]
    return float(closed[-1]["hi"] - max(closed[-1]["lo"] - 1, 0)) if closed else 10.0


def _last(row: Row) -> float:
    """The score of the longest bucket that has one: the legend follows the right ends of the lines."""
    scores = [spread.mean for _, spread in row.buckets(NAME) if spread.mean is not None]
    return scores[-1] if scores else float("-inf")
