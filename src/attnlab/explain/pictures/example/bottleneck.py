"""Step 1: the last state against all of them."""

from __future__ import annotations

from attnlab.explain import example
from attnlab.explain.drawing import Picture


def bottleneck() -> Picture:
    """One last state, or a doorway to every state."""
    made = Picture(
        "bottleneck",
        "One last state, or a doorway to every state",
        "Above, three encoder states in a row and one arrow, from the last of them, to the decoder: "
        "{sizes.K} numbers. Below, the same states with an arrow from each to the decoder: {sizes.doors} "
        "numbers.",
        height=292,
    )
    halves = (
        (0, "Without attention", "{sizes.K} numbers"),
        (146, "With attention", "{sizes.doors} numbers"),
    )
    for top, title, count in halves:
        middle = top + 76
        open_doors = top > 0
        made.text(8, top + 18, title, bold=True)
        for k, word in enumerate(example.SOURCE):
            x = 52 + 86 * k
            lit = open_doors or k == 2
            made.node(
                x,
                middle,
                50,
                32,
                f"h_{k + 1}",
                fill="accent-soft" if lit else "surface",
                opacity=1,
                stroke="accent" if lit else "line-strong",
                ink="ink" if lit else "muted",
            )
            made.text(x, middle + 38, word, anchor="middle", fill="muted")
            if k < 2:
                made.arrow(x + 26, middle, x + 59, middle, "muted")
            if open_doors:
                lift = 34 - 8 * k
                made.bent(
                    f"M{x} {middle - 17} C{x + 30} {middle - lift - 22} {340 - 20 * k} "
                    f"{middle - lift - 14} 386 {middle - 13 + 5 * k}",
                    "gold",
                )
        if not open_doors:
            # The neck: what is wide before it and wide behind it goes through one state.
            made.add(
                "path",
                d=f"M252 {middle - 30} Q290 {middle - 5} 350 {middle - 5} L350 {middle + 5} "
                f"Q290 {middle + 5} 252 {middle + 30} Z",
                fill="line-strong",
            )
            made.arrow(252, middle, 386, middle, "gold", stroke_width=2.4)
        made.node(418, middle, 62, 36, "decoder", stroke="ink", size=12)
        made.text(418, middle + 38, count, anchor="middle", size=12, fill="muted")
    return made
