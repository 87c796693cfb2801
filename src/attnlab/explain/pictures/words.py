"""Pictures of a trained run that list every source word, and the chain of its context."""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnlab.explain.drawing import Bound, Picture
from attnlab.explain.reading import Reading

LETTER = 7.2
"""Width of a letter of a label."""
_LONGEST = 13
_FLOOR = 274


def short(word: str) -> str:
    """A word as a label."""
    return word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"


def widest(words: Sequence[str]) -> float:
    """Width of the widest label."""
    return max(len(short(word)) for word in words) * LETTER


Column = tuple[str, str, int, str, Callable[[float], tuple[float, float]]]


def _listed(made: Picture, reading: Reading, columns: Sequence[Column]) -> None:
    """A row a source word, a bar and a number a column."""
    left = 12 + widest(reading.source)
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
    for k, word in enumerate(reading.source):
        made.text(4, 38 + 19 * k, short(word), size=12, fill="muted")


def _signed(values: Sequence[float | None]) -> Callable[[float], tuple[float, float]]:
    """A scale with a zero line that has room for the least and the most."""
    there = [value for value in values if value is not None] or [0.0]
    low, high = min(0.0, *there), max(0.0, *there)
    span = (high - low) or 1.0
    return lambda room: (room * -low / span, room / span)


def shares(reading: Reading) -> Picture:
    """Score, exponential and share of every source word."""
    made = Picture(
        "shares",
        f"From scores to shares in {reading.name}",
        "At step {t}, for {word}: the largest share is {top:3}, of {heaviest}; the weights add up to "
        "{sum:3}.",
        height=76 + 19 * len(reading.source),
    )
    scores = [value for step in reading.steps for value in step["e"]]
    unit: Callable[[float], tuple[float, float]] = lambda room: (0.0, room)  # noqa: E731
    _listed(
        made,
        reading,
        [
            ("score", "e", 2, "accent", _signed(scores)),
            ("e^(score − best)", "bright", 3, "accent", unit),
            ("weight", "a", 3, "gold", unit),
        ],
    )
    bottom = 50 + 19 * len(reading.source)
    made.text(4, bottom, "step {t}, {word}: the weights add up to {sum:3}", size=12, fill="muted")
    made.text(
        4, bottom + 18, "slope of the largest for its own score: a (1 − a) = {slope:3}", size=12, fill="muted"
    )
    return made


def plane(reading: Reading) -> Picture:
    """Scaled states chained tip to tail, in the plane in which the states spread most."""
    states = reading.facts["plane"]["states"]
    made = Picture(
        "plane",
        f"The context of {reading.name} as a chain",
        "At step {t} the scaled states, one behind the other, end at the context, near the state of "
        "{heaviest}.",
        height=300,
    )
    points = [*states, *(point for step in reading.steps for point in step["chain"]), [0.0, 0.0]]
    low = [min(point[k] for point in points) for k in (0, 1)]
    high = [max(point[k] for point in points) for k in (0, 1)]
    unit = min(380 / ((high[0] - low[0]) or 1.0), 236 / ((high[1] - low[1]) or 1.0))
    left = 40 - unit * low[0] + (380 - unit * (high[0] - low[0])) / 2
    top = 24 + unit * high[1]
    made.line(left, 12, left, 268, "line")
    made.line(12, top, 448, top, "line")
    for x, y in states:
        at = left + unit * x, top - unit * y
        made.line(left, top, *at, "line-strong", stroke_dasharray="2 3")
        made.add("circle", cx=at[0], cy=at[1], r=3, fill="muted")
    _apart(
        made,
        [
            (short(word), left + unit * x, top - unit * y)
            for word, (x, y) in zip(reading.source, states, strict=True)
        ],
    )
    for k in range(len(states)):
        here, there = f"chain.{k}", f"chain.{k + 1}"
        made.line(
            Bound(f"{here}.0", unit, left),
            Bound(f"{here}.1", -unit, top),
            Bound(f"{there}.0", unit, left),
            Bound(f"{there}.1", -unit, top),
            f"series-{k % 6 + 1}",
            stroke_width=4,
        )
    end = f"chain.{len(states)}"
    tip = Bound(f"{end}.0", unit, left), Bound(f"{end}.1", -unit, top)
    made.arrow(left, top, *tip, "ink", stroke_width=1.8)
    made.text(Bound(f"{end}.0", unit, left - 12), Bound(f"{end}.1", -unit, top - 8), "c", size=14, bold=True)
    seen = round(100 * reading.facts["plane"]["share"])
    made.text(
        8,
        292,
        f"coloured: a_j h_j, tip to tail; the plane holds {seen} % of the states' squares",
        size=11,
        fill="muted",
    )
    return made


def _apart(made: Picture, labels: Sequence[tuple[str, float, float]]) -> None:
    """Labels beside their points, each a line lower where it would lie on another."""
    there: list[tuple[float, float, float]] = []
    for word, x, y in sorted(labels, key=lambda label: label[2]):
        wide = len(word) * 6.6
        while any(abs(y - other) < 11 and x < right and left < x + wide for left, right, other in there):
            y += 3
        if y > _FLOOR:  # no room is left beside its point
            continue
        there.append((x, x + wide, y))
        made.text(x + 5, y + 4, word, size=11, fill="muted")


def context(reading: Reading) -> Picture:
    """Share, cosine and distance of every source word."""
    made = Picture(
        "context",
        f"What the context of {reading.name} is near to",
        "At step {t} the context is {norm:2} long. Heaviest: {heaviest}; nearest: {nearest}, {verdict}.",
        height=74 + 19 * len(reading.source),
    )
    cosines = [value for step in reading.steps for value in step["cosine"]]
    distances = [value for step in reading.steps for value in step["distance"]]
    unit: Callable[[float], tuple[float, float]] = lambda room: (0.0, room)  # noqa: E731
    columns: list[Column] = [
        ("weight", "a", 3, "gold", unit),
        ("cosine", "cosine", 3, "accent", _signed(cosines)),
        ("distance", "distance", 4, "muted", _signed(distances)),
    ]
    _listed(made, reading, columns)
    bottom = 26 + 19 * len(reading.source)
    made.text(4, bottom + 20, "c is {norm:2} long; heaviest: {heaviest};", size=12)
    made.text(4, bottom + 38, "nearest: {nearest}, {verdict}", size=12)
    return made
