"""Step 5: scaled states chained tip to tail, and what the context is near to."""

from __future__ import annotations

from attnlab.explain import example
from attnlab.explain.drawing import Bound, Picture

UNIT, ZERO_X, ZERO_Y = 196, 126, 206


def chain() -> Picture:
    """The context in two of its slots."""
    made = Picture(
        "chain",
        "The context: scaled states, tip to tail",
        "In slots {plane.slots.0} and {plane.slots.1}: the three scaled states one behind the other end at "
        "the context, ({plane.chain.3.0:2}, {plane.chain.3.1:2}), between the tips of the states. The hard "
        "choice is the tip of {heaviest}.",
        height=336,
    )

    def x(path: str) -> Bound:
        return Bound(f"plane.{path}.0", UNIT, ZERO_X)

    def y(path: str) -> Bound:
        return Bound(f"plane.{path}.1", -UNIT, ZERO_Y)

    made.line(14, ZERO_Y, 318, ZERO_Y, "line-strong")
    made.line(ZERO_X, 8, ZERO_X, 326, "line-strong")
    made.text(318, ZERO_Y + 15, "slot {plane.slots.0}", size=12, anchor="end", fill="muted")
    made.text(ZERO_X - 5, 18, "slot {plane.slots.1}", size=12, anchor="end", fill="muted")
    for j in range(3):
        tip, other = f"states.{j}", f"states.{(j + 1) % 3}"
        made.line(x(tip), y(tip), x(other), y(other), "line-strong", stroke_dasharray="2 3")
    for j in range(3):
        tip = f"states.{j}"
        made.arrow(ZERO_X, ZERO_Y, x(tip), y(tip), f"series-{j + 1}", stroke_width=1.2, stroke_opacity=0.55)
    made.add("circle", cx=x("hard"), cy=y("hard"), r=9, fill="none", stroke="warn", stroke_width=2)
    for j in range(3):
        here, there = f"chain.{j}", f"chain.{j + 1}"
        made.arrow(x(here), y(here), x(there), y(there), f"series-{j + 1}", stroke_width=3.4)
    made.arrow(ZERO_X, ZERO_Y, x("chain.3"), y("chain.3"), "ink", stroke_width=2.4)
    for j in range(3):
        tip = f"states.{j}"
        made.text(
            Bound(f"plane.{tip}.0", UNIT, ZERO_X + 8),
            Bound(f"plane.{tip}.1", -UNIT, ZERO_Y - 8),
            f"h_{j + 1}",
            size=13,
            bold=True,
        )
    made.text(
        Bound("plane.chain.3.0", UNIT, ZERO_X + 8),
        Bound("plane.chain.3.1", -UNIT, ZERO_Y - 6),
        "c",
        size=15,
        bold=True,
    )
    _legend(made)
    return made


def _legend(made: Picture) -> None:
    left = 334
    for j in range(3):
        made.line(left, 24 + 24 * j, left + 20, 24 + 24 * j, f"series-{j + 1}", stroke_width=3.4)
        made.text(left + 28, 28 + 24 * j, f"{{a.{j}:4}} h_{j + 1}", size=13)
    made.line(left, 96, left + 20, 96, "ink", stroke_width=2.4)
    made.text(left + 28, 100, "c, soft choice", size=13)
    made.add("circle", cx=left + 10, cy=120, r=8, fill="none", stroke="warn", stroke_width=2)
    made.text(left + 28, 124, "hard choice", size=13)
    made.text(left, 160, "c = (", size=12, fill="muted")
    for k in range(4):
        made.text(
            left + 90,
            160 + 18 * k,
            f"{{c.{k}:4}}" + (" )" if k == 3 else ","),
            size=12,
            anchor="end",
            fill="muted",
        )
    made.text(left, 254, "soft to hard:", size=12, fill="muted")
    made.text(left, 271, "distance {gap:4}", size=12, fill="muted")


def near() -> Picture:
    """Share, cosine and distance of each state."""
    made = Picture(
        "near",
        "How near the context is to each state",
        "Shares {a.0:3}, {a.1:3}, {a.2:3}; cosines {cosine.0:3}, {cosine.1:3}, {cosine.2:3}; distances "
        "{distance.0:4}, {distance.1:4}, {distance.2:4}. Heaviest: {heaviest}; nearest: {nearest}.",
        height=176,
    )
    columns = (
        (58, "share", "a", 3, 0, 76, "gold"),
        (194, "cosine", "cosine", 3, 30, 46, "accent"),
        (330, "distance", "distance", 4, 0, 70, "muted"),
    )
    for left, title, path, digits, zero, scale, fill in columns:
        made.text(left, 18, title, bold=True)
        for j in range(3):
            top = 32 + 30 * j
            made.bar(f"{path}.{j}", left + zero, top, scale, 18, fill)
            made.text(left + 124, top + 14, f"{{{path}.{j}:{digits}}}", size=12, anchor="end")
        made.line(left + zero, 28, left + zero, 114, "line-strong")
    for j, word in enumerate(example.SOURCE):
        made.text(4, 46 + 30 * j, word, size=12, fill="muted")
    made.text(4, 144, "heaviest: {heaviest}", size=13)
    made.text(4, 165, "nearest (smallest distance): {nearest}, {verdict}", size=13)
    return made
