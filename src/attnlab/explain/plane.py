"""The states of a sentence in the plane in which they spread most, and where a picture names them.

Places of labels depend on the step, so they are numbers of the step like all others: the page moves them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnlab.explain.drawing import WIDTH

Tree = dict[str, Any]
NAMED = 0.02
"""A state with more weight than this is named."""
LABELS = 6
"""States that are named at most: the heaviest."""
HEIGHT, EDGE = 276.0, 30.0
"""Of the picture, in its units, and what is left free around the states."""
_LETTER, _LINE = 6.4, 14.0
_RING = 12.0


class Box(NamedTuple):
    """A rectangle of the picture."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether they overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def plane(states: Tensor) -> Tree:
    """The states in the plane through the origin in which their squared lengths are largest.

    Args:
        states: [S, K].

    Returns:
        `states` [S, 2], and `shares` [2]: the part of the squared lengths that lies along each axis.
    """
    axes = torch.linalg.svd(states, full_matrices=False)[2][:2]
    if len(axes) < 2:
        axes = torch.cat((axes, torch.zeros(2 - len(axes), states.shape[1], dtype=states.dtype)))
    flat = states @ axes.T
    flat = flat * torch.where(flat.sum(0) < 0, -1.0, 1.0)  # the sign of an axis is the library's whim
    shares = flat.square().sum(0) / states.square().sum().clamp(min=1e-30)
    return {"states": flat.tolist(), "shares": shares.tolist()}


def placed(found: Tree, steps: Sequence[Tree], words: Sequence[str]) -> None:
    """Gives the plane its scale, and each step its chain, its hard choice and its labels.

    Args:
        found: what `plane` gave; gets `unit`, `left`, `top`: a point (x, y) of the plane stands at
            (left + unit x, top - unit y).
        steps: of which `a` is read; gets `chain` [S + 1, 2], `hard` [2] (both in the plane), `marks`, a list
            of `LABELS` with the place of the label (`x`, `y`), the ends of the line that joins it to its
            state (`px`, `py`, `lx`, `ly`) and its `word` (all in the picture), and `c`, the label of the
            context.
        words: of the states.
    """
    flat = torch.tensor(found["states"], dtype=torch.float64)
    for step in steps:
        scaled = torch.tensor(step["a"], dtype=flat.dtype).unsqueeze(-1) * flat
        step["chain"] = torch.cat((flat.new_zeros(1, 2), scaled.cumsum(0))).tolist()
        step["hard"] = found["states"][max(range(len(step["a"])), key=step["a"].__getitem__)]
    points = torch.cat([flat, flat.new_zeros(1, 2), *(flat.new_tensor(step["chain"]) for step in steps)])
    low, high = points.amin(0).tolist(), points.amax(0).tolist()
    span = [(high[k] - low[k]) or 1.0 for k in (0, 1)]
    unit = min((WIDTH - 2 * EDGE) / span[0], (HEIGHT - 2 * EDGE) / span[1])
    left = EDGE - unit * low[0] + (WIDTH - 2 * EDGE - unit * span[0]) / 2
    top = EDGE + unit * high[1] + (HEIGHT - 2 * EDGE - unit * span[1]) / 2
    found |= {"unit": unit, "left": left, "top": top}
    for step in steps:
        _label(step, found, words)


def axes(found: Tree) -> list[tuple[float, float, str, Box]]:
    """Where the names of the two axes stand: x, y, anchor, and the place that they take."""
    right, wide = found["left"] < WIDTH / 2, 112.0
    x = found["left"] + (6 if right else -6)
    edge = x if right else x - wide
    return [
        (WIDTH - 6, found["top"] - 5, "end", Box(WIDTH - wide, found["top"] - 18, WIDTH, found["top"])),
        (x, 14, "start" if right else "end", Box(edge, 2, edge + wide, 18)),
    ]


def _label(step: Tree, found: Tree, words: Sequence[str]) -> None:
    """Names c and the heaviest states, each where nothing else is named."""

    def at(point: Sequence[float]) -> tuple[float, float]:
        return found["left"] + found["unit"] * point[0], found["top"] - found["unit"] * point[1]

    a, points = step["a"], [at(point) for point in found["states"]]
    heaviest = sorted(range(len(a)), key=lambda j: -a[j])[:LABELS]
    named = [j for j in heaviest if a[j] > NAMED] or heaviest[:1]
    chain, ring = [at(point) for point in step["chain"]], at(step["hard"])
    busy = [*points, *_along(chain), *_along([chain[0], chain[-1]])]
    taken = [box for _, _, _, box in axes(found)]
    taken.append(Box(ring[0] - 10, ring[1] - 10, ring[0] + 10, ring[1] + 10))
    own = _free(*chain[-1], 10.0, taken, busy)
    step["c"] = {"x": round(own.left, 1), "y": round(own.bottom - 3, 1)}
    marks = []
    for j in named:
        x, y = points[j]
        box = _free(x, y, _LETTER * len(words[j]) + 4, taken, busy)
        near = min(max(x, box.left), box.right), min(max(y, box.top), box.bottom)
        ends = {"px": x, "py": y, "lx": near[0], "ly": near[1]}
        mark: Tree = {"x": box.left + 2, "y": box.bottom - 3, **ends}
        marks.append({**{name: round(value, 1) for name, value in mark.items()}, "word": words[j]})
    unused = {"x": 0.0, "y": 0.0, "px": 0.0, "py": 0.0, "lx": 0.0, "ly": 0.0, "word": ""}
    step["marks"] = [*marks, *[dict(unused) for _ in range(LABELS - len(marks))]]


def _along(line: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Points on a line of straight pieces, so near each other that no label fits in between."""
    for (x, y), (to_x, to_y) in pairwise(line):
        count = int(math.hypot(to_x - x, to_y - y) // 5)
        for k in range(1, count + 1):
            yield x + (to_x - x) * k / (count + 1), y + (to_y - y) * k / (count + 1)


def _free(x: float, y: float, wide: float, taken: list[Box], points: Sequence[tuple[float, float]]) -> Box:
    """A place for a label beside a point, as near as there is one, and takes it.

    One that lies on another label is the last resort, one that lies on a state or on the chain the last but
    one.
    """

    def cost(box: Box) -> tuple[bool, bool, bool]:
        inside = box.left >= 2 and box.right <= WIDTH - 2 and box.top >= 2 and box.bottom <= HEIGHT - 2
        covers = any(
            box.left - 3 < px < box.right + 3 and box.top - 2 < py < box.bottom + 2 for px, py in points
        )
        return any(box.meets(other) for other in taken), not inside, covers

    best = min(_places(x, y, wide), key=cost)  # the first of those that cost as little: the nearest
    taken.append(best)
    return best


def _places(x: float, y: float, wide: float) -> Iterator[Box]:
    """Beside a point, above and below it, nearer places first."""
    for gap in (_RING, 22.0, 34.0, 48.0, 64.0):
        for across, down in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1)):
            left = x + gap * across - (wide if across < 0 else wide / 2 if across == 0 else 0)
            middle = y + (gap if across == 0 else gap * 0.8) * down
            yield Box(left, middle - _LINE / 2, left + wide, middle + _LINE / 2)
