"""Step 4 of a trained run: from scores to weights, and the slopes of the largest weights."""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

from attnlab.explain.drawing import Bound, Picture
from attnlab.explain.following import TOP
from attnlab.explain.pictures.runs.listing import Column, listed, signed, whole
from attnlab.explain.reading import Reading


def shares(reading: Reading) -> Picture:
    """Score, exponential and weight of every source word; of a window that acts on scores both numbers."""
    made = Picture(
        "shares",
        "From scores to weights in {name}",
        "At step {t}, for {word}: the largest weight is {top:3}, of {heaviest}; the weights add up to "
        "{sum:3}.",
        height=76 + 19 * len(reading.source),
    )
    facts = reading.facts
    columns: list[Column] = []
    names = [("raw", "score"), ("e", "in window")] if facts["on_scores"] else [("e", "score")]
    for path, name in names:
        values = [value for step in reading.steps for value in step[path]]
        columns.append((name, path, 2, "accent", signed(values)))
    acts = facts["on_scores"] or facts["on_weights"]
    columns.append(("exp(…)" if acts else "exp(score − best)", "bright", 3, "accent", whole))
    if facts["on_weights"]:
        columns.append(("share", "share", 3, "accent", whole))
    columns.append(("weight", "a", 3, "gold", whole))
    listed(made, reading, columns)
    bottom = 50 + 19 * len(reading.source)
    made.text(
        4,
        bottom,
        "step {t}, {word}: exp(score − best) adds up to {total:3}, the weights to {sum:3}",
        size=12,
        fill="muted",
    )
    own = "" if facts["on_scores"] or facts["on_weights"] else "a (1 − a) = "
    slope = f"slope of the largest for its own score: {own}{{slope:3}}"
    made.text(4, bottom + 18, slope, size=12, fill="muted")
    return made


def slopes() -> Picture:
    """The Jacobian among the largest weights."""
    made = Picture(
        "slopes",
        "Slopes of the largest weights of {name}",
        "At step {t}, for {word}: when the score of {slopes.words.0} rises, its own weight changes by "
        "{slopes.rows.0.0:4} times as much, that of {slopes.words.1} by {slopes.rows.1.0:4}.",
        height=76 + 36 * TOP,
    )
    made.text(282, 16, "for a rise of the score of", size=12, anchor="middle", fill="muted")
    for k in range(TOP):
        made.text(162 + 80 * k, 36, f"{{slopes.words.{k}}}", size=12, anchor="middle", bold=True)
        made.text(116, 65 + 36 * k, f"{{slopes.words.{k}}}", size=12, anchor="end", bold=True)
        for i in range(TOP):
            x, y, path = 124 + 80 * k, 44 + 36 * i, f"slopes.rows.{i}.{k}"
            made.rect(x, y, 77, 33, "heat-empty", rx=4)
            made.rect(x, y, 77, 33, "accent", rx=4, fill_opacity=Bound(path, 1.8, 0, "above"))
            made.rect(x, y, 77, 33, "warn", rx=4, fill_opacity=Bound(path, -1.8, 0, "below"))
            made.text(x + 38, y + 21, f"{{{path}:+4}}", size=12, anchor="middle")
    note = "the largest weights (rows), through the whole of the window"
    made.text(282, 66 + 36 * TOP, note, size=12, anchor="middle", fill="muted")
    return made
