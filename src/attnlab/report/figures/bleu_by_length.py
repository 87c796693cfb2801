"""BLEU against source length: the data of the figure, and its drawing.

Numbers and bytes come from the records alone: no dates, no random identifiers, nothing sampled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.metrics.length import centre, label
from attnlab.report.rows import Comparison, Row
from attnlab.report.table import csv_text
from attnlab.results import Record
from attnlab.sweep.identity import AXES

NAME = "by_source_length"
# Okabe and Ito's colours without black, which the cells without attention have, and without the pale yellow.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_MARKERS = ("o", "s", "^", "D", "v", "P", "*", "h")
_LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
_LEGEND = 48  # characters a line
_CROWD = 6  # cells; bars of more cannot be told apart
_ASIDE = 0.25  # words between the bars of two cells, which would hide each other
_BASELINE = {
    "color": "black",
    "linestyle": (0, (4, 2)),
    "linewidth": 2.4,
    "marker": "X",
    "markersize": 7,
    "zorder": 3,
}


class Point(NamedTuple):
    """A bucket of one cell: words, BLEU (NaN: none), what the bar spans below and above and what it is."""

    x: float
    y: float
    bar: tuple[float, float] | None
    note: str
    bucket: Record


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

    rows = comparison.rows
    looks = styles(rows, comparison.varying)
    shown = comparison.varying or AXES
    texts = entries(rows, shown)
    width = 5.8 + 0.075 * max(map(len, texts))  # inches; a character of the legend has about 0.075
    settings: Any = {
        "svg.hashsalt": "attnlab",
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(width, max(3.8, 0.26 * len(rows) + 1.2)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        lines, notes = [], set()
        for number, (row, look) in enumerate(zip(rows, looks, strict=True)):
            curve = points(row, rows)
            (line,) = axes.plot(
                [point.x for point in curve],
                [point.y for point in curve],
                **look,
                markeredgecolor="white",
                markeredgewidth=0.6,
            )
            lines.append(line)
            notes |= _bars(axes, curve, look["color"], _ASIDE * (number - (len(rows) - 1) / 2))
        _describe(axes, rows, comparison, sorted(notes))
        box = axes.legend(
            lines,
            texts,
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


def entries(rows: Sequence[Row], axes: Sequence[str]) -> list[str]:
    """The lines of the legend, all different, in the order of the table; long ones are cut.

    Lines that the cut would make alike name their row of the table.
    """
    several = len({len(row.runs) for row in rows}) > 1
    tails = [f" (seeds: {len(row.runs)})" if several else "" for row in rows]
    shortest = [_cut(row.name(axes), max(tails, key=len)) for row in rows]
    times = Counter(shortest)
    return [
        _cut(row.name(axes), f" (row {number}){tail}" if times[text] > 1 else tail)
        for number, (row, text, tail) in enumerate(zip(rows, shortest, tails, strict=True), 1)
    ]


def _cut(text: str, tail: str) -> str:
    room = _LEGEND - len(tail)
    text = " ".join(text.split())
    return (text if len(text) <= room else text[: room - 1].rstrip(" ,") + "…") + tail


def points(row: Row, rows: Sequence[Row]) -> list[Point]:
    """A row's points, without the buckets at either end that have no sentence in any of the rows."""
    lows = [bucket["lo"] for other in rows for bucket, _ in other.buckets(NAME) if bucket["n"]] or [0]
    found = []
    for index, (bucket, spread) in enumerate(row.buckets(NAME)):
        if not min(lows) <= bucket["lo"] <= max(lows):
            continue
        y = float("nan") if spread.mean is None else spread.mean
        bar, note = None, ""
        if spread.mean is not None and spread.deviation is not None:
            bar, note = (spread.deviation, spread.deviation), "sample deviation over the seeds"
        elif spread.mean is not None and len(row.runs) == 1 and len(rows) <= _CROWD:
            interval = row.runs[0].test[NAME][index]["ci"]
            if interval:
                bar = (max(y - interval[0], 0.0), max(interval[1] - y, 0.0))
                note = f"{_level(row):g} % bootstrap interval"
                note += " (one seed)" if any(len(other.runs) > 1 for other in rows) else ""
        found.append(Point(centre(bucket, _open_width(row)), y, bar, note, bucket))
    return found


def floor(curves: Sequence[Sequence[Point]]) -> int:
    """Where the score axis starts: 0, or the ten below the lowest value where all lie above 50."""
    scored = [point for curve in curves for point in curve if point.y == point.y]
    lowest = min((point.y - (point.bar[0] if point.bar else 0) for point in scored), default=0.0)
    return 10 * (ceil(lowest / 10) - 1) if lowest > 50 else 0


def _level(row: Row) -> float:
    bootstrap = (row.config.get("metrics") or {}).get("bootstrap") or {}
    return 100 * float(bootstrap.get("level") or 0.95)


def _bars(axes: Any, curve: Sequence[Point], colour: str, aside: float) -> set[str]:
    """Thin bars beside the points that have an interval or a deviation, and in words what they are."""
    barred = [point for point in curve if point.bar is not None]
    if barred:
        heights = list(zip(*(point.bar for point in barred if point.bar), strict=True))
        places, values = [point.x + aside for point in barred], [point.y for point in barred]
        axes.errorbar(places, values, heights, fmt="none", ecolor=colour, elinewidth=0.8, capsize=2)
    return {point.note for point in barred}


def _describe(axes: Any, rows: Sequence[Row], comparison: Comparison, notes: Sequence[str]) -> None:
    ticks: dict[float, str] = {}
    curves = [points(row, rows) for row in rows]
    for point in (point for curve in curves for point in curve):
        weak = {"few": "*", "too_short": "\n(short)"}.get(point.bucket["mark"], "")
        name = label(point.bucket).replace("<=", "≤")
        ticks.setdefault(point.x, f"{name}\nn={point.bucket['n']}{weak}")
    axes.set_xticks(list(ticks), list(ticks.values()))
    few = "; * too few to rely on" if any("*" in text for text in ticks.values()) else ""
    below = [f"source words (n: sentences in the bucket{few})"]
    below += [f"bars: {'; '.join(notes)}"] if notes else []
    axes.set_xlabel("\n".join(below))
    start = floor(curves)
    top = axes.get_ylim()[1]
    axes.set_ylim(start, top if top > start else start + 1)
    axes.set_ylabel(f"BLEU (axis starts at {start})" if start else "BLEU")
    axes.grid(axis="y", color="0.88", linewidth=0.7)
    axes.set_axisbelow(True)
    title = f"{comparison.label}: BLEU against source length"
    if comparison.several and (comparison.origin or comparison.content):
        title += f"\n{'; '.join(filter(None, [comparison.origin, comparison.content]))}"
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)


def _open_width(row: Row) -> float:
    """The open bucket is drawn as wide as the one before it."""
    closed = [bucket for bucket, _ in row.buckets(NAME) if bucket["hi"] is not None]
    return float(closed[-1]["hi"] - max(closed[-1]["lo"] - 1, 0)) if closed else 10.0
