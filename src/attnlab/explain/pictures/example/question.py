"""Step 2: the beam of the scores."""

from __future__ import annotations

from attnlab.explain import example
from attnlab.explain.drawing import Bound, Picture


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
