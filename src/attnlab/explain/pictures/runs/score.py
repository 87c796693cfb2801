"""Step 3 of a run: the score of its heaviest word, a row a unit with every number between."""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

from attnlab.explain.drawing import Curve, Picture
from attnlab.explain.reading import Reading

_ROW = 19
_PLACES = {5: (128, 184, 236, 290, 338), 2: (160, 240)}
"""Right edges of the cells of a row, by how many there are."""
_SIGNS = {5: ("+", "=", "→", "×"), 2: ("×",)}


def score(reading: Reading) -> Picture:
    """The formula with its shapes, and the largest summands of the heaviest word's score."""
    facts = reading.facts
    heads = facts["columns"] if reading.steps[0].get("units") else []
    count = len(reading.steps[0]["units"]["rows"]) if heads else 0
    after = bool(facts.get("on_scores")) and bool(heads)
    made = Picture(
        "score",
        "The score of {name}",
        f"{facts['formula']}, with {facts['scorer']}; {facts['parameters']:,} parameters of scorer and "
        f"window. "
        + ("At step {t} the score of the heaviest word, {heaviest}, is {whole:3}." if heads else ""),
        height=84 if not heads else 262 + _ROW * count + (20 if after else 0),
    )
    made.text(4, 20, facts["formula"], size=15, bold=True)
    made.text(4, 44, facts["scorer"], size=12)
    sizes = f"H = {facts['H']}, K = {facts['K']}; scorer and window: {facts['parameters']:,} parameters"
    made.text(4, 64, sizes, size=12, fill="muted")
    if heads:
        _rows(made, reading, list(heads), count)
    return made


def _rows(made: Picture, reading: Reading, heads: list[str], count: int) -> None:
    places, signs = _PLACES[len(heads)], _SIGNS[len(heads)]
    zero = 378 if len(heads) == 5 else 330
    steps = [step["units"] for step in reading.steps]
    largest = max(abs(row["value"]) for found in steps for row in found["rows"]) or 1.0
    reach = (26 if len(heads) == 5 else 60) / largest
    made.text(4, 94, "the score of {heaviest}, step {t}", size=12, bold=True)
    for head, x in zip([*heads, "gives"], [*places, 452], strict=True):
        made.text(x, 114, head, size=11, anchor="end", fill="muted")
    digits = [2, 2, 2, 3, 2] if len(heads) == 5 else [3, 3]
    for k in range(count):
        y = 120 + _ROW * k
        made.text(4, y + 13, f"{{units.rows.{k}.name}}", size=12, fill="muted")
        for c, (x, places_after) in enumerate(zip(places, digits, strict=True)):
            made.text(x, y + 13, f"{{units.rows.{k}.cells.{c}:{places_after}}}", size=12, anchor="end")
        for x, sign in zip(places, signs, strict=False):
            made.text(x + 8, y + 13, sign, size=12, anchor="middle", fill="muted")
        made.bar(f"units.rows.{k}.value", zero, y + 2, reach, 13, "accent")
        made.text(452, y + 13, f"{{units.rows.{k}.value:3}}", size=12, anchor="end")
    bottom = 120 + _ROW * count
    made.line(zero, 116, zero, bottom, "line-strong")
    if steps[0]["rest"]["count"]:
        told = (
            "{units.rest.count} others: {units.rest.up} up, {units.rest.gain:+2}; {units.rest.down} down, "
            "{units.rest.loss:+2}"
        )
        made.text(4, bottom + 14, told, size=12, fill="muted")
        made.text(452, bottom + 14, "{units.rest.value:3}", size=12, anchor="end")
    made.line(4, bottom + 20, 452, bottom + 20, "line-strong")
    made.text(4, bottom + 36, "all together, e_j", size=12, bold=True)
    made.text(452, bottom + 36, "{whole:3}", size=12, anchor="end", bold=True)
    if reading.facts.get("on_scores"):
        made.text(4, bottom + 56, "after the window, which acts on the scores", size=12, fill="muted")
        made.text(452, bottom + 56, "{entering:3}", size=12, anchor="end")
    _curve(made, reading, bottom + (64 if reading.facts.get("on_scores") else 44))


def _curve(made: Picture, reading: Reading, top: float) -> None:
    """All units in order, so that the others are seen too."""
    curves = [step["units"]["curve"] for step in reading.steps]
    high, low = max(0.0, *(curve[0] for curve in curves)), min(0.0, *(curve[-1] for curve in curves))
    unit, count = 62 / ((high - low) or 1.0), len(curves[0])
    zero, dx = top + 24 + unit * high, 448 / max(count - 1, 1)
    found = reading.steps[0]["units"]
    told = (
        f"all {len(found['rows']) + found['rest']['count']}, from what pulls up most to what pulls down most"
    )
    made.text(4, top + 14, told, size=11, fill="muted")
    made.line(4, zero, 452, zero, "line-strong")
    line = Curve("units.curve", 4, dx, zero, -unit)
    made.add("polyline", points=line, fill="none", stroke="accent", stroke_width=2)
