"""Step 8: three windows over a longer source, and entropy as it grows."""

from __future__ import annotations

from attnlab.explain import example
from attnlab.explain.drawing import Bound, Curve, Picture

PLACE, LEFT, TALL = 11, 10, 140
_ROWS = (
    ("global", "global: {window.global.scored} scored, entropy {window.global.entropy:2}", False),
    ("local_m", "local_m: {window.local_m.scored} scored, entropy {window.local_m.entropy:2}", True),
    (
        "local_p",
        "local_p: {window.local_p.scored} scored, sum {window.local_p.sum:2}, entropy "
        "{window.local_p.entropy:2}",
        True,
    ),
)


def window() -> Picture:
    """The weights of equal scores under three windows."""
    made = Picture(
        "window",
        "Three windows over {window.S} words of equal score",
        "global weighs all {window.S} words; local_m the words {window.local_m.first} to "
        "{window.local_m.last} around {window.local_m.centre:0}; local_p the words {window.local_p.first} "
        "to {window.local_p.last} around {window.local_p.centre:2}, under a Gaussian.",
        height=348,
    )
    for row, (name, title, local) in enumerate(_ROWS):
        top, base = 108 * row, 108 * row + 86
        made.text(LEFT, top + 16, title, size=13)
        for k in range(example.LONGEST):
            x = LEFT + PLACE * k
            made.rect(x + 1, base + 2, PLACE - 2, 3, "line-strong", fill_opacity=Bound(f"window.there.{k}"))
            made.rect(
                x + 1,
                Bound(f"window.{name}.weights.{k}", -TALL, base),
                PLACE - 2,
                Bound(f"window.{name}.weights.{k}", TALL),
                "heat",
                rx=1,
            )
        left, right = (
            Bound(f"window.{name}.first", PLACE, LEFT - PLACE),
            Bound(f"window.{name}.last", PLACE, LEFT),
        )
        made.line(left, base + 10, right, base + 10, "gold", stroke_width=2.4)
        if local:
            centre = Bound(f"window.{name}.centre", PLACE, LEFT - PLACE / 2)
            made.line(centre, base - 60, centre, base + 16, "gold", stroke_dasharray="3 3")
    base = 108 * 2 + 86
    for place in (1, *range(10, example.LONGEST + 1, 10)):
        x = LEFT + PLACE * (place - 0.5)
        made.text(x, base + 24, str(place), size=11, anchor="middle", fill="muted")
    made.add(
        "polyline",
        points=Curve("window.gauss", LEFT + PLACE / 2, PLACE, base, -TALL),
        fill="none",
        stroke="warn",
        stroke_width=1.5,
    )
    made.text(
        LEFT,
        340,
        "bars: weights; below: the interval that is scored; dashes: its centre; line: the Gaussian",
        size=11,
        fill="muted",
    )
    return made


def growth() -> Picture:
    """Entropy of equal scores against the length of the source."""
    made = Picture(
        "growth",
        "Entropy as the source grows",
        "With equal scores the entropy of a global attention grows as log S, to {growth.global.59:2} at 60 "
        "words; local_m stays at {growth.local_m.59:2} and local_p near {growth.local_p.59:2}.",
        height=256,
    )
    left, base, wide, tall = 36, 214, 340, 46
    for value in range(5):
        y = base - tall * value
        made.line(left, y, left + wide, y, "line")
        made.text(left - 6, y + 4, str(value), size=11, anchor="end", fill="muted")
    step = wide / (example.GROWTH - 1)
    for size in (1, 10, 20, 30, 40, 50, 60):
        made.text(left + step * (size - 1), base + 18, str(size), size=11, anchor="middle", fill="muted")
    made.text(left + wide / 2, base + 37, "words of the source, S", size=12, anchor="middle", fill="muted")
    made.text(2, 14, "entropy, nats", size=12, fill="muted")
    for k, name in enumerate(("global", "local_m", "local_p"), start=1):
        made.add(
            "polyline",
            points=Curve(f"growth.{name}", left, step, base, -tall),
            fill="none",
            stroke=f"series-{k}",
            stroke_width=2.4,
        )
        shift = {"global": 4, "local_m": -2, "local_p": 12}[name]
        made.text(
            left + wide + 6,
            Bound(f"growth.{name}.59", -tall, base + shift),
            f"{name} {{growth.{name}.59:2}}",
            size=12,
            bold=True,
        )
    return made
