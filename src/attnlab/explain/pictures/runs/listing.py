"""A row a source word: what pictures of a run are listed by, and how wide its label is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnlab.explain.drawing import Picture
from attnlab.explain.filling import Verbatim, short
from attnlab.explain.reading import Reading

LETTER = 7.2
"""Width of a letter of a label."""


def widest(words: Sequence[str]) -> float:
    """Width of the widest label."""
    return max(len(short(word)) for word in words) * LETTER


Column = tuple[str, str, int, str, Callable[[float], tuple[float, float]]]


def listed(made: Picture, reading: Reading, columns: Sequence[Column]) -> None:
    """A row a source word, a bar and a number a column."""
    left = 12 + max(map(len, reading.labels)) * LETTER
    room = (made.width - left - 4) / len(columns)
    for c, (title, path, digits, fill, scaling) in enumerate(columns):
        x = left + room * c
        zero, unit = scaling(room - 62)
        made.text(x, 16, title, size=12, bold=True)
        for k in range(len(reading.source)):
            y = 26 + 19 * k
            made.bar(f"{path}.{k}", x + zero, y, unit, 14, fill)
            made.text(x + room - 12, y + 12, f"{{{path}.{k}:{digits}}}", size=11, anchor="end")
        made.line(x + zero, 22, x + zero, 26 + 19 * len(reading.source), "line-strong")
    for k, word in enumerate(reading.labels):
        made.text(4, 38 + 19 * k, Verbatim(word), size=12, fill="muted")


def whole(room: float) -> tuple[float, float]:
    """A scale from 0 to 1."""
    return 0.0, room


def signed(values: Sequence[float | None]) -> Callable[[float], tuple[float, float]]:
    """A scale with a zero line that has room for the least and the most."""
    there = [value for value in values if value is not None] or [0.0]
    low, high = min(0.0, *there), max(0.0, *there)
    span = (high - low) or 1.0
    return lambda room: (room * -low / span, room / span)
