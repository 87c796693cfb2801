"""Points of cells in a plane: bars, scales, and numbers beside them that hide nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import cos, pi, sin
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.report.figures import numbers, paper
from attnlab.report.figures.numbers import Line
from attnlab.report.figures.styles import Cast
from attnlab.report.rows import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOG_FROM = 10.0  # a wider range than this factor gets a logarithmic axis
LEAST_BLEU, LEAST_SHARE = 4.0, 0.2  # points of BLEU; of the middle of the other axis
_RADII = (5.5, 8.0, 11.0, 15.0, 20.0, 26.0)  # points from the mark to the middle of its label
_ANGLES = 16
_LEADER = 9.0  # points; labels farther away get a line to their mark
_MARK = 2.6  # half the size of a mark, in points


class Point(NamedTuple):
    """A place in the units of the axes, and what is written beside it, if anything."""

    x: float
    y: float
    text: str = ""


class Box(NamedTuple):
    """A rectangle in points."""

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: Box) -> float:
        """The shared area."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.top, other.top) - max(self.bottom, other.bottom)
        return wide * high if wide > 0 and high > 0 else 0.0


def panel(axes: Any, rows: Sequence[Row], lines: Sequence[Line], cast: Cast, x: str) -> list[Point]:
    """Draws the lines that have both values, BLEU over `x`; the points bear the numbers of their rows."""
    known = {line["key"]: line for line in lines if line[x] is not None and line["bleu"] is not None}
    order = {row.key: str(number) for number, row in enumerate(rows, 1)}
    points = []
    for row in cast.order(rows):
        line, look = known.get(row.key), cast.looks.get(row.key)
        if line is None:
            continue
        span = numbers.ends(line, "bleu")
        if span and look is not None:
            axes.vlines(line[x], span[0], span[1], color=look.color, linewidth=0.8, zorder=2)
        axes.plot(line[x], line["bleu"], **paper.dot(look))
        points.append(Point(line[x], line["bleu"], order[row.key] if look is not None else ""))
    axes.margins(0.12, 0.1)
    scale(axes, [point.x for point in points])
    _widen(axes)
    return points


def scale(axes: Any, values: Iterable[float]) -> None:
    """A logarithmic axis with plain numbers where the values differ by more than a factor of 10."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    values = list(values)
    if values and min(values) > 0 and max(values) / min(values) > LOG_FROM:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))


def _widen(axes: Any) -> None:
    """Keeps differences that are nothing from looking like something: a least span of both axes."""
    low, high = axes.get_ylim()
    if (lacking := LEAST_BLEU - (high - low)) > 0:
        axes.set_ylim(low - lacking / 2, high + lacking / 2)
    low, high = axes.get_xlim()
    lacking = LEAST_SHARE * (low + high) / 2 - (high - low)
    if axes.get_xscale() == "linear" and lacking > 0:
        axes.set_xlim(low - lacking / 2, high + lacking / 2)


def label(figure: Figure, axes: Any, points: Sequence[Point]) -> None:
    """Writes the text of each point beside it, where it hides no point, no bar and no other text.

    Tried in turn: the places of a few circles around the point, nearest first; the first free one is taken,
    else the one that hides least.
    """
    figure.draw_without_rendering()  # sets the layout, on which the distances depend
    unit = 72.0 / figure.dpi  # points a pixel

    def place(x: float, y: float) -> tuple[float, float]:
        at = axes.transData.transform((x, y)) * unit
        return float(at[0]), float(at[1])

    frame = axes.get_window_extent()
    edge = Box(frame.x0 * unit, frame.y0 * unit, frame.x1 * unit, frame.y1 * unit)
    taken = [_around(*place(point.x, point.y), _MARK, _MARK) for point in points]
    taken += [_around(*place(x, (low + high) / 2), 0.5, abs(place(x, high)[1] - place(x, low)[1]) / 2)
              for x, low, high in _bars(axes)]  # fmt: skip
    for x, y, text in points:
        if not text:
            continue
        at = place(x, y)
        half = (paper.measure(text) * 36 + 1.0, 3.4)
        best = min(
            ((radius, step) for radius in _RADII for step in range(_ANGLES)),
            key=lambda one: (_cost(_box(at, one, half), taken, edge), one),
        )
        taken.append(_box(at, best, half))
        radius, step = best
        offset = (radius * cos(2 * pi * step / _ANGLES), radius * sin(2 * pi * step / _ANGLES))
        leader = {"arrowstyle": "-", "linewidth": 0.4, "color": "0.5", "shrinkA": 0, "shrinkB": 2}
        note = axes.annotate(
            text,
            (x, y),
            offset,
            textcoords="offset points",
            ha="center",
            va="center_baseline",
            arrowprops=leader if radius > _LEADER else None,
            zorder=6,
        )
        note.set_parse_math(False)
        note.set_in_layout(False)


def _cost(box: Box, taken: Sequence[Box], edge: Box) -> float:
    inside = box.overlap(edge)
    outside = (box.right - box.left) * (box.top - box.bottom) - inside
    return round(sum(box.overlap(other) for other in taken) + 3 * max(outside, 0.0), 3)


def _box(at: tuple[float, float], place: tuple[float, int], half: tuple[float, float]) -> Box:
    radius, step = place
    angle = 2 * pi * step / _ANGLES
    return _around(at[0] + radius * cos(angle), at[1] + radius * sin(angle), *half)


def _around(x: float, y: float, wide: float, high: float) -> Box:
    return Box(x - wide, y - high, x + wide, y + high)


def _bars(axes: Any) -> list[tuple[float, float, float]]:
    """The upright bars as (x, low, high)."""
    return [
        (float(part[0][0]), float(part[0][1]), float(part[1][1]))
        for bars in axes.collections
        for part in bars.get_segments()
    ]
