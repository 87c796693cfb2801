"""Step 1 of a run: the states that its decoder can look at."""

from __future__ import annotations

from attnlab.explain.drawing import Picture
from attnlab.explain.reading import Reading


def doorways(reading: Reading) -> Picture:
    """As many boxes as states that the decoder can look at."""
    facts = reading.facts
    size, seen, final = facts["S"], facts["numbers"], facts["final"]
    doors = "every state" if reading.attends else "the encoder's final state"
    made = Picture(
        "doorways",
        "What the decoder of {name} can look at",
        f"{size} source states of {facts['K']} numbers; the decoder looks at {doors}: {seen:,} numbers.",
        height=108 if reading.attends and not facts["local"] else 124,
    )
    step = min(24.0, 300 / size)
    for k in range(size):
        lit = reading.attends or k in final
        x = 8 + step * k
        made.rect(x, 50, step - 3, 26, "accent" if lit else "heat-empty", fill_opacity=0.85 if lit else 1)
        if lit:
            made.bent(
                f"M{x + step / 2 - 1.5:.1f} 48 C{x + 40:.1f} 14 330 14 384 52",
                "gold",
                head=False,
                stroke_width=1.2,
                stroke_opacity=0.7,
            )
    made.node(416, 64, 72, 36, "decoder", stroke="ink", size=12)
    made.text(8, 100, f"{size} states of K = {facts['K']}", size=12, fill="muted")
    made.text(452, 100, f"{seen:,} numbers to look at", size=12, anchor="end", fill="muted")
    below = ""
    if reading.attends and facts["local"]:
        most = max(step["scored"] for step in reading.steps)
        below = f"at one step of this sentence those of at most {most} states"
    elif not reading.attends:
        below = "the final state: " + (
            "the forward state at the last word and the backward one at the first"
            if len(final) > 1
            else "one state of the encoder"
        )
    made.text(452, 117, below, size=12, anchor="end", fill="muted")
    return made
