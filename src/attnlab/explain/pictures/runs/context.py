"""Step 5 of a run: its context as a chain of scaled states, beside the hard choice; what it is near to."""

from __future__ import annotations

from attnlab.explain.drawing import Bound, Picture
from attnlab.explain.pictures.runs.listing import Column, listed, signed, whole
from attnlab.explain.plane import HEIGHT, LABELS, NAMED, axes
from attnlab.explain.reading import Reading


def plane(reading: Reading) -> Picture:
    """The plane in which the states of the sentence spread most."""
    found = reading.facts["plane"]
    unit, left, top = found["unit"], found["left"], found["top"]
    made = Picture(
        "plane",
        "The context of {name} as a chain",
        "At step {t}, for {word}, the scaled states, one behind the other, end at the context c; nearest to "
        "it is the state of {nearest}. A ring marks the hard choice, the state of {heaviest}.",
        height=HEIGHT + 58,
    )
    made.line(left, 4, left, HEIGHT - 2, "line")
    made.line(4, top, 456, top, "line")
    for k, ((x, y, anchor, _), share) in enumerate(zip(axes(found), found["shares"], strict=True), start=1):
        name = f"direction {k}, {round(100 * share)} %"
        made.text(x, y, name, size=11, anchor=anchor, fill="muted")
    for k, (x, y) in enumerate(found["states"]):
        at, colour = (left + unit * x, top - unit * y), f"series-{k % 6 + 1}"
        made.line(left, top, *at, colour, stroke_dasharray="2 4", stroke_opacity=Bound(f"a.{k}", 0.8, 0.15))
        made.add("circle", cx=at[0], cy=at[1], r=3, fill="muted")
    for i in range(LABELS):
        ends = [Bound(f"marks.{i}.{name}") for name in ("px", "py", "lx", "ly")]
        made.line(ends[0], ends[1], ends[2], ends[3], "line-strong")
    hard = Bound("hard.0", unit, left), Bound("hard.1", -unit, top)
    made.add("circle", cx=hard[0], cy=hard[1], r=9, fill="none", stroke="warn", stroke_width=2)
    for k in range(len(found["states"])):
        here, there = f"chain.{k}", f"chain.{k + 1}"
        made.line(
            Bound(f"{here}.0", unit, left),
            Bound(f"{here}.1", -unit, top),
            Bound(f"{there}.0", unit, left),
            Bound(f"{there}.1", -unit, top),
            f"series-{k % 6 + 1}",
            stroke_width=4,
        )
    end = f"chain.{len(found['states'])}"
    made.arrow(
        left, top, Bound(f"{end}.0", unit, left), Bound(f"{end}.1", -unit, top), "ink", stroke_width=1.8
    )
    for i in range(LABELS):
        made.text(
            Bound(f"marks.{i}.x"),
            Bound(f"marks.{i}.y"),
            f"{{marks.{i}.word}}",
            size=12,
            paint_order="stroke",
            stroke="surface",
            stroke_width=3,
        )
    made.text(
        Bound("c.x"),
        Bound("c.y"),
        "c",
        size=14,
        bold=True,
        paint_order="stroke",
        stroke="surface",
        stroke_width=3,
    )
    _legend(made)
    return made


def _legend(made: Picture) -> None:
    """What is what, below."""
    y = HEIGHT + 14
    made.line(8, y - 4, 30, y - 4, "series-1", stroke_width=4)
    made.text(36, y, "a_j h_j, tip to tail", size=11, fill="muted")
    made.line(158, y - 4, 180, y - 4, "series-1", stroke_dasharray="2 4")
    made.text(186, y, f"h_j, named above the weight {NAMED}", size=11, fill="muted")
    made.arrow(8, y + 14, 30, y + 14, "ink", stroke_width=1.8)
    made.text(36, y + 18, "c, the soft choice", size=11, fill="muted")
    made.add("circle", cx=169, cy=y + 14, r=7, fill="none", stroke="warn", stroke_width=2)
    made.text(186, y + 18, "the hard choice: {heaviest}", size=11, fill="muted")
    made.text(
        8, y + 36, "%: part of the states' squared lengths that lies along the axis", size=11, fill="muted"
    )


def context(reading: Reading) -> Picture:
    """Share, cosine and distance of every source word."""
    made = Picture(
        "context",
        "What the context of {name} is near to",
        "At step {t} the context is {norm:2} long. Heaviest: {heaviest}; nearest: {nearest}, {verdict}.",
        height=74 + 19 * len(reading.source),
    )
    cosines = [value for step in reading.steps for value in step["cosine"]]
    distances = [value for step in reading.steps for value in step["distance"]]
    columns: list[Column] = [
        ("weight", "a", 3, "gold", whole),
        ("cosine", "cosine", 3, "accent", signed(cosines)),
        ("distance", "distance", 4, "muted", signed(distances)),
    ]
    listed(made, reading, columns)
    bottom = 26 + 19 * len(reading.source)
    made.text(4, bottom + 20, "c is {norm:2} long; heaviest: {heaviest};", size=12)
    made.text(4, bottom + 38, "nearest: {nearest}, {verdict}", size=12)
    return made
