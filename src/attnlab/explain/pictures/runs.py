"""The pictures of a trained run on one sentence; all but the map move with the step."""

from __future__ import annotations

from collections.abc import Sequence

from attnlab.explain.drawing import WIDTH, Bound, Curve, Picture
from attnlab.explain.pictures.lanes import lanes
from attnlab.explain.pictures.words import LETTER, context, plane, shares, short, widest
from attnlab.explain.reading import TERMS, Reading


def pictures_of(reading: Reading) -> dict[str, list[Picture]]:
    """Of each step its pictures; none where a model without attention has nothing to show."""
    made: dict[str, list[Picture]] = {
        "bottleneck": [doorways(reading)],
        "lanes": [lanes("lanes", reading.facts["factors"], reading.facts["W_c"], reading.name)],
    }
    if reading.attends:
        made |= {
            "question": [beams(reading)],
            "score": [score(reading)],
            "softmax": [shares(reading)],
            "context": [plane(reading), context(reading)],
            "window": [window(reading)],
            "whole": [heat(reading)],
        }
    return made


def doorways(reading: Reading) -> Picture:
    """As many boxes as states that the decoder can look at."""
    facts = reading.facts
    size, seen = facts["S"], facts["numbers"]
    doors = "every state" if reading.attends else "the last state"
    made = Picture(
        "doorways",
        f"What the decoder of {reading.name} can look at",
        f"{size} source states of {facts['K']} numbers; the decoder looks at {doors}: {seen:,} numbers.",
        height=124 if facts.get("local") else 108,
    )
    step = min(24.0, 300 / size)
    for k in range(size):
        lit = reading.attends or k == size - 1
        x = 8 + step * k
        made.rect(x, 50, step - 3, 26, "accent" if lit else "heat-empty", fill_opacity=0.85 if lit else 1)
        if lit:
            made.bent(
                f"M{x + step / 2 - 1.5:.1f} 48 C{x + 40:.1f} 14 330 14 384 {52:.0f}",
                "gold",
                head=False,
                stroke_width=1.2,
                stroke_opacity=0.7,
            )
    made.node(416, 64, 72, 36, "decoder", stroke="ink", size=12)
    made.text(8, 100, f"{size} states of K = {facts['K']}", size=12, fill="muted")
    if facts.get("local"):
        reach = f"at one step those of at most 2 D + 1 = {2 * facts['D'] + 1} states"
        made.text(452, 116, reach, size=12, anchor="end", fill="muted")
    made.text(452, 100, f"{seen:,} numbers to look at", size=12, anchor="end", fill="muted")
    return made


def beams(reading: Reading) -> Picture:
    """A lamp on every source word."""
    words = reading.source
    size = len(words)
    room = widest(words)
    wide = max(WIDTH, 40 + 13 * size)
    step = (wide - 40) / size
    flat = step > room + 6
    height = 178 + (22 if flat else room * 0.86 + 14)
    made = Picture(
        "beams",
        f"Where {reading.name} looks, step by step",
        "At step {t}, for {word}, the brightest beam is on {heaviest}, share {top:2}.",
        height=height,
        width=wide,
    )
    for k in range(size):
        x = 28 + step * (k + 0.5)
        half = min(step * 0.46, 34)
        points = f"{wide / 2:.1f},42 {x - half:.1f},160 {x + half:.1f},160"
        made.add("polygon", points=points, fill="line", fill_opacity=0.4)
        made.add("polygon", points=points, fill="gold", fill_opacity=Bound(f"bright.{k}", 0.9))
    made.node(wide / 2, 26, 210, 32, "step {t}: {word}", stroke="ink", bold=True)
    _across(made, words, 28, step, 166, flat)
    return made


def _across(made: Picture, words: Sequence[str], left: float, step: float, y: float, flat: bool) -> None:
    """Labels under columns: upright where they fit, else slanted."""
    for k, word in enumerate(words):
        x = left + step * (k + 0.5)
        if flat:
            made.text(x, y + 12, short(word), size=12, anchor="middle")
        else:
            turn = f"rotate(-60 {x + 4:.1f} {y + 6:.1f})"
            made.text(x + 4, y + 6, short(word), size=12, anchor="end", transform=turn)


def score(reading: Reading) -> Picture:
    """The formula with its shapes, and the largest parts of the heaviest word's score."""
    facts = reading.facts
    made = Picture(
        "score",
        f"The score of {reading.name}",
        f"{facts['formula']}, with {facts['scorer']}; {facts['parameters']:,} parameters of the "
        f"attention. The "
        "heaviest word of step {t} is {heaviest}.",
        height=232 if reading.steps[0]["terms"] else 84,
    )
    made.text(4, 20, facts["formula"], size=15, bold=True)
    made.text(4, 44, facts["scorer"], size=12)
    made.text(
        4,
        64,
        f"H = {facts['H']}, K = {facts['K']}; scorer and window: {facts['parameters']:,} parameters",
        size=12,
        fill="muted",
    )
    if reading.steps[0]["terms"]:
        largest = max(abs(row["value"]) for step in reading.steps for row in step["terms"]) or 1.0
        made.text(4, 96, "the score of {heaviest}, taken apart", size=12, bold=True)
        count = min(TERMS + 1, len(reading.steps[0]["terms"]))
        for k in range(count):
            y = 106 + 20 * k
            made.text(4, y + 13, f"{{terms.{k}.name}}", size=12, fill="muted")
            made.bar(f"terms.{k}.value", 240, y, 120 / largest, 15, "accent")
            made.text(452, y + 13, f"{{terms.{k}.value:3}}", size=12, anchor="end")
        made.line(240, 104, 240, 106 + 20 * count, "line-strong")
        made.text(4, 226, "together", size=12, bold=True)
        made.text(452, 226, "{whole:3}", size=12, anchor="end", bold=True)
    return made


def window(reading: Reading) -> Picture:
    """The weights in their window, and the entropy of every step."""
    facts, size = reading.facts, len(reading.source)
    made = Picture(
        "window",
        f"The window of {reading.name}",
        "At step {t}, for {word}, {scored} of the source positions are scored, {first} to {last}; "
        "entropy {entropy:2}.",
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
        made.text(
            452, base + 30, "centre {centre:1}, D = " + str(facts["D"]), size=12, anchor="end", fill="muted"
        )
    if "gauss" in reading.steps[0]:
        made.add(
            "polyline",
            points=Curve("gauss", 10 + step / 2, step, base, -tall),
            fill="none",
            stroke="warn",
            stroke_width=1.5,
        )
    made.text(8, base + 30, "weights of the source positions", size=12, fill="muted")
    _entropies(made, reading)
    return made


def _entropies(made: Picture, reading: Reading) -> None:
    """Entropy over the steps, the present one marked."""
    count = len(reading.steps)
    most = max(max(step["entropy"] for step in reading.steps), 1.0)
    left, base, tall = 30, 258, 70
    dx = (WIDTH - left - 14) / max(count - 1, 1)
    made.text(
        8, base - tall - 14, "entropy of the weights, step by step; now {entropy:2}", size=12, bold=True
    )
    for value in range(int(most) + 1):
        y = base - tall * value / most
        made.line(left, y, WIDTH - 14, y, "line")
        made.text(left - 6, y + 4, str(value), size=11, anchor="end", fill="muted")
    points = " ".join(
        f"{left + dx * k:.1f},{base - tall * step['entropy'] / most:.1f}"
        for k, step in enumerate(reading.steps)
    )
    made.add("polyline", points=points, fill="none", stroke="accent", stroke_width=1.8)
    made.add(
        "circle", cx=Bound("t", dx, left - dx), cy=Bound("entropy", -tall / most, base), r=4.5, fill="gold"
    )
    made.text(left, base + 18, "step 1", size=11, fill="muted")
    made.text(WIDTH - 14, base + 18, str(count), size=11, anchor="end", fill="muted")


def heat(reading: Reading) -> Picture:
    """All steps at once, with the gold links outlined."""
    across, down = reading.source, reading.target
    left = 14 + widest(down)
    size = max(13.0, min(26.0, (WIDTH - left - 14) / len(across)))
    top = 16 + widest(across) * 0.86
    slant = LETTER * len(short(across[-1])) * 0.5
    made = Picture(
        "heat",
        f"Where {reading.name} looked at every step",
        "A map with a row for each word written and a column for each source word; the row of step {t}, "
        "{word}, is "
        "outlined. Its largest weight is {top:2}, on {heaviest}.",
        height=top + 8 + size * len(down),
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
    return made
