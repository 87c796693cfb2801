"""Steps 1 and 2: the last state against all of them, and the beam of the scores."""

from __future__ import annotations

from attnlab.explain import example
from attnlab.explain.drawing import Bound, Picture


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


def beam() -> Picture:
    """A lamp on the source; brightness is the score beside the best one."""
    made = Picture(
        "beam",
        "A beam from the decoder state to each source word",
        "The decoder state lights three words. Brightness beside the best beam: der {bright.0:2}, Hund "
        "{bright.1:2}, schlief {bright.2:2}; scores {e.0:4}, {e.1:4}, {e.2:4}.",
        height=224,
    )
    for j in range(3):
        x = 80 + 150 * j
        spread = f"230,50 {x - 52},170 {x + 52},170"
        made.add("polygon", points=spread, fill="line", fill_opacity=0.5)
        made.add("polygon", points=spread, fill="gold", fill_opacity=Bound(f"bright.{j}", 0.8, 0.0))
    made.node(230, 32, 236, 36, "s = ({s.0:2}, {s.1:2}, {s.2:2}, {s.3:2})", stroke="ink")
    made.text(356, 30, "step {output},", size=12, fill="muted")
    made.text(356, 46, "to write {target}", size=12, fill="muted")
    for j, word in enumerate(example.SOURCE):
        x = 80 + 150 * j
        made.text(x, 192, word, anchor="middle", size=15, bold=True)
        made.text(x, 213, f"e_{j + 1} = {{e.{j}:4}}", anchor="middle")
    return made
