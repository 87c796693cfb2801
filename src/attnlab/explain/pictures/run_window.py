"""Pictures of a trained run over all source positions: the window with its weights, the map of all steps."""

from __future__ import annotations

from attnlab.explain.drawing import WIDTH, Bound, Picture
from attnlab.explain.filling import short
from attnlab.explain.pictures.spreading import over_steps
from attnlab.explain.pictures.words import LETTER, widest
from attnlab.explain.reading import Reading


def window(reading: Reading) -> Picture:
    """The weights in their window, and the entropy of every step."""
    facts, size = reading.facts, len(reading.source)
    made = Picture(
        "window",
        "The window of {name}",
        "At step {t}, for {word}, {scored} of the source positions are scored, {first} to {last}; the "
        "largest weight is {top:2}, on {heaviest}; entropy {entropy:2}.",
        height=286,
    )
    step, base, tall = (WIDTH - 20) / size, 112, 84
    made.text(8, 16, "step {t}, {word}: {scored} scored, {first} to {last}", size=12, bold=True)
    for k in range(size):
        x = 10 + step * k
        made.rect(x + 1, base + 2, max(step - 2, 1), 3, "line-strong")
        made.rect(x + 1, Bound(f"a.{k}", -tall, base), max(step - 2, 1), Bound(f"a.{k}", tall), "heat", rx=1)
    made.line(
        Bound("first", step, 10 - step),
        base + 10,
        Bound("last", step, 10),
        base + 10,
        "gold",
        stroke_width=2.4,
    )
    if facts["local"]:
        centre = Bound("centre", step, 10 - step / 2)
        made.line(centre, base - tall, centre, base + 16, "gold", stroke_dasharray="3 3")
        reach = "" if facts["D"] is None else f", D = {facts['D']}"
        made.text(452, base + 30, "centre {centre:1}" + reach, size=12, anchor="end", fill="muted")
    if "gauss" in reading.steps[0]:
        for k in range(size):  # a dot a position: the Gaussian is asked nowhere else, and not outside
            at = 10 + step * (k + 0.5), Bound(f"gauss.{k}", -tall, base)
            made.add(
                "circle", cx=at[0], cy=at[1], r=2.4, fill="warn", fill_opacity=Bound(f"outside.{k}", -1, 1)
            )
    made.text(8, base + 30, "weights of the source positions", size=12, fill="muted")
    made.text(8, 174, "entropy of the weights, nats, step by step; now {entropy:2}", size=12, bold=True)
    over_steps(made, reading, 30, 258, 70)
    return made


def heat(reading: Reading) -> Picture:
    """All steps at once, with the gold links outlined."""
    across, down = reading.source, reading.target
    left = 14 + widest(down)
    size = max(13.0, min(26.0, (WIDTH - left - 14) / len(across)))
    top = 16 + widest(across) * 0.86
    slant = LETTER * len(short(across[-1])) * 0.5
    made = Picture(
        "heat",
        "Where {name} looked at every step",
        "A map with a row for each word written and a column for each source word; the row of step {t}, "
        "{word}, is outlined. Its largest weight is {top:2}, on {heaviest}.",
        height=top + 34 + size * len(down),
        width=max(WIDTH, left + size * len(across) + slant),
    )
    for j, word in enumerate(across):
        x = left + size * (j + 0.5) + 4
        turn = f"rotate(-60 {x:.1f} {top - 5:.1f})"
        made.text(x, top - 5, short(word), size=11, transform=turn)
    for i, word in enumerate(down):
        y = top + size * i
        made.text(left - 6, y + size * 0.5 + 4, short(word), size=11, anchor="end")
        for j, weight in enumerate(reading.steps[i]["a"]):
            x = left + size * j
            made.rect(x + 0.5, y + 0.5, size - 1, size - 1, "heat-empty")
            if weight > 0.004:
                made.rect(x + 0.5, y + 0.5, size - 1, size - 1, "heat", fill_opacity=weight)
    for i, j in reading.gold or ():
        made.rect(
            left + size * j + 1,
            top + size * i + 1,
            size - 2,
            size - 2,
            "none",
            stroke="gold",
            stroke_width=1.8,
        )
    made.rect(
        left - 1,
        Bound("t", size, top - size - 1),
        size * len(across) + 2,
        size + 2,
        "none",
        stroke="ink",
        stroke_width=1.5,
    )
    _scale(made, left, top + size * len(down) + 14, gold=bool(reading.gold))
    return made


def _scale(made: Picture, x: float, y: float, *, gold: bool) -> None:
    """Which colour stands for which weight, and what an outline is."""
    made.text(x - 6, y + 10, "weight", size=11, anchor="end", fill="muted")
    for k, weight in enumerate((0.0, 0.25, 0.5, 0.75, 1.0)):
        at = x + 42 * k
        made.rect(at, y, 13, 13, "heat-empty")
        made.rect(at, y, 13, 13, "heat", fill_opacity=weight)
        made.text(at + 16, y + 10, f"{weight:g}", size=11, fill="muted")
    if gold:
        made.rect(x + 218, y + 1, 11, 11, "none", stroke="gold", stroke_width=1.8)
        made.text(x + 234, y + 10, "gold link", size=11, fill="muted")
