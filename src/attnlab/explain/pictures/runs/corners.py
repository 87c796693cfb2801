"""Step 7 of a run: equal scores, one far above, one word alone, and sizes that have no dot product."""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from attnlab.explain.drawing import Bound, Picture
from attnlab.explain.reading import Reading

_WIDE, _TALL = 210, 70
_BASE = 104
_LETTERS = 74


def corners(reading: Reading) -> Picture:
    """The corners of this run's attention at the state that asks now."""
    sizes = reading.facts["sizes"]
    lines = textwrap.wrap(sizes["refusal"], _LETTERS, break_on_hyphens=False)
    made = Picture(
        "corners",
        "Four corners of {name}",
        "At step {t}. All scores at their mean: weights up to {corners.uniform_top:3}, in all "
        "{corners.uniform_sum:3}; {corners.level}. Their differences times {corners.times}: the largest "
        "weight {corners.peak:3}; {corners.sharp}. The word {heaviest} alone: {corners.single:3}; "
        "{corners.alone}. "
        f"Sizes {sizes['H']} and {sizes['K']} have no dot product.",
        height=354 + 15 * len(lines),
    )
    highest = max(step["corners"]["uniform_top"] for step in reading.steps) or 1.0
    _bars(made, 4, "uniform", len(reading.source), _TALL / highest)
    made.text(4, 18, "Equal scores, all at their mean", bold=True)
    made.text(4, _BASE + 34, "largest {corners.uniform_top:3}, sum {corners.uniform_sum:3}", size=12)
    made.text(4, _BASE + 52, "{corners.level}", size=11, fill="muted")
    _bars(made, 244, "peaked", len(reading.source), _TALL)
    made.text(244, 18, "Score differences × {corners.times}", bold=True)
    peak = "{corners.peak_word}: {corners.peak:3}, sum {corners.peaked_sum:3}"
    made.text(244, _BASE + 34, peak, size=12)
    made.text(244, _BASE + 52, "{corners.sharp}", size=11, fill="muted")
    top = _BASE + 70
    made.text(4, top + 16, "One word: {heaviest} alone", bold=True)
    made.rect(4, top + 24, _WIDE, 16, "heat-empty")
    made.rect(4, top + 24, Bound("corners.single", _WIDE), 16, "gold")
    made.text(226, top + 37, "weight {corners.single:3}", size=12)
    made.text(4, top + 56, "{corners.alone}", size=11, fill="muted")
    _refused(made, sizes, lines, top + 74)
    return made


def _bars(made: Picture, left: float, path: str, size: int, tall: float) -> None:
    """A bar a source position, and the numbers of the first and the last."""
    step = _WIDE / size
    for k in range(size):
        x = left + step * k
        made.rect(x + step * 0.08, _BASE + 2, step * 0.84, 3, "line-strong")
        y, height = Bound(f"corners.{path}.{k}", -tall, _BASE), Bound(f"corners.{path}.{k}", tall)
        made.rect(x + step * 0.08, y, step * 0.84, height, "gold", rx=1)
    made.text(left, _BASE + 17, "word 1", size=11, fill="muted")
    made.text(left + _WIDE, _BASE + 17, f"{size}", size=11, anchor="end", fill="muted")


def _refused(made: Picture, sizes: Mapping[str, Any], lines: list[str], y: float) -> None:
    """Two lists of unequal length, what the framework says, and the two ways out."""
    title = "Unequal sizes: here" if sizes["own"] else "Unequal sizes: were the source states half as wide"
    made.text(4, y + 14, title, bold=True)
    unit = 330 / max(sizes["H"], sizes["K"])
    less = min(sizes["H"], sizes["K"])
    for name, shown, key, top in (("s", "H", "H", y + 22), ("h_j", "K", "K", y + 42)):
        made.text(4, top + 12, name, size=12, fill="muted")
        made.rect(32, top, unit * less, 15, "accent-soft", stroke="line-strong")
        if sizes[key] > less:
            made.rect(32 + unit * less, top, unit * (sizes[key] - less), 15, "warn", stroke="line-strong")
        made.text(372, top + 12, f"{shown} = {sizes[key]}", size=12)
    for k, line in enumerate(lines):
        made.text(4, y + 76 + 15 * k, line, size=11, fill="warn")
    end = y + 76 + 15 * len(lines)
    made.text(4, end + 4, "two ways out: 1. make the sizes equal", size=12)
    ways = f"2. matrices between: general {sizes['general']:,}, additive {sizes['additive']:,} parameters"
    made.text(76, end + 21, ways, size=12)
