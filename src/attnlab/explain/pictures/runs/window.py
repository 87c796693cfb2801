"""Step 8 of a run: its window, and how widely it looks over the steps and as the source grows.

The axes of entropy are the same for all runs.
"""

from __future__ import annotations

import math

from attnlab.explain.drawing import WIDTH, Bound, Picture
from attnlab.explain.probes import LONGEST, ceiling
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


def over_steps(made: Picture, reading: Reading, left: float, base: float, tall: float) -> None:
    """Entropy over the steps, the present one marked, under the most that it can be.

    Args:
        made: the picture, `WIDTH` wide.
        reading: the run.
        left: where the axes meet.
        base: the same, downwards.
        tall: of the axis.
    """
    size, count = len(reading.source), len(reading.steps)
    most = max(math.ceil(math.log(size) - 1e-9), 1)  # the same for all runs on the sentence
    top = ceiling(reading.facts["D"] if reading.facts["local"] else None, size)
    dx = (WIDTH - left - 14) / max(count - 1, 1)
    for value in range(most + 1):
        y = base - tall * value / most
        made.line(left, y, WIDTH - 14, y, "line")
        made.text(left - 6, y + 4, str(value), size=11, anchor="end", fill="muted")
    y = base - tall * top / most
    made.line(left, y, WIDTH - 14, y, "warn", stroke_dasharray="5 3")
    told = f"at most log {round(math.exp(top))} = {top:.2f}"
    made.text(WIDTH - 14, y - 4, told, size=11, anchor="end", fill="warn")
    points = " ".join(
        f"{left + dx * k:.1f},{base - tall * step['entropy'] / most:.1f}"
        for k, step in enumerate(reading.steps)
    )
    made.add("polyline", points=points, fill="none", stroke="accent", stroke_width=1.8)
    at = Bound("t", dx, left - dx), Bound("entropy", -tall / most, base)
    made.add("circle", cx=at[0], cy=at[1], r=4.5, fill="gold")
    made.text(left, base + 18, "step 1", size=11, fill="muted")
    made.text(WIDTH - 14, base + 18, str(count), size=11, anchor="end", fill="muted")


def entropy(reading: Reading) -> Picture:
    """Entropy against the length of the source."""
    facts, size = reading.facts, len(reading.source)
    width = facts["D"] if facts["local"] else None
    bound = "log S" if width is None else f"log(2 D + 1) = {ceiling(width, LONGEST):.2f}"
    tested = [row for row in reading.by_length if row["lo"] <= LONGEST]
    made = Picture(
        "entropy",
        "The entropy of {name} as the source grows",
        f"With equal scores the entropy reaches {facts['growth'][-1]:.2f} at {LONGEST} words; the most "
        f"that it "
        f"can be is {bound}. " + "At step {t} of this sentence it is {entropy:2}.",
        height=262 if tested else 246,
    )
    left, base, wide, tall = 36.0, 190.0, 410.0, 40.0
    step = wide / (LONGEST - 1)

    def x(words: float) -> float:
        return left + step * (words - 1)

    for value in range(5):
        y = base - tall * value
        made.line(left, y, left + wide, y, "line")
        made.text(left - 6, y + 4, str(value), size=11, anchor="end", fill="muted")
    for words in (1, 10, 20, 30, 40, 50, 60):
        made.text(x(words), base + 18, str(words), size=11, anchor="middle", fill="muted")
    made.text(2, 14, "entropy, nats", size=12, fill="muted")
    made.text(left + wide, base + 34, "words of the source, S", size=12, anchor="end", fill="muted")
    limit = [ceiling(width, words) for words in range(1, LONGEST + 1)]
    for values, colour, more in (
        (facts["growth"], "series-1", {"stroke_width": 1.8}),
        (limit, "warn", {"stroke_dasharray": "5 3", "stroke_width": 1.4}),
    ):
        points = " ".join(f"{x(k):.1f},{base - tall * value:.1f}" for k, value in enumerate(values, start=1))
        made.add("polyline", points=points, fill="none", stroke=colour, **more)
    for row in tested:
        first, last = max(row["lo"], 2), min(row["hi"] or LONGEST, LONGEST)
        points = " ".join(
            f"{x(words):.1f},{base - tall * row['entropy_normalised'] * math.log(words):.1f}"
            for words in range(first, last + 1)
        )
        made.add("polyline", points=points, fill="none", stroke="series-3", stroke_width=3)
    for tree in reading.steps:
        y = base - tall * tree["entropy"]
        made.add("circle", cx=x(size), cy=y, r=2.2, fill="muted", fill_opacity=0.5)
    made.add("circle", cx=x(size), cy=Bound("entropy", -tall, base), r=4.5, fill="gold")
    _legend(made, base + 34, bound, bool(tested))
    return made


def _legend(made: Picture, y: float, bound: str, tested: bool) -> None:
    made.line(4, y - 4, 26, y - 4, "warn", stroke_dasharray="5 3", stroke_width=1.4)
    made.text(32, y, f"ceiling: {bound}", size=11, fill="muted")
    made.line(4, y + 12, 26, y + 12, "series-1", stroke_width=1.8)
    made.text(32, y + 16, "equal scores", size=11, fill="muted")
    made.add("circle", cx=195, cy=y + 12, r=4.5, fill="gold")
    made.text(206, y + 16, "this sentence: step {t}, {entropy:2}; grey, the others", size=11, fill="muted")
    if tested:
        made.line(4, y + 28, 26, y + 28, "series-3", stroke_width=3)
        made.text(
            32, y + 32, "test set: mean of entropy / log S by length, times log S", size=11, fill="muted"
        )
