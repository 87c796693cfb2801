"""The largest summands of one score, each with the numbers that make it: a row a unit, or a row a slot."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attnlab.attention import Additive, Concat, Dot, General, Location, ScaledDot, Scorer

Tree = dict[str, Any]
ROWS = 10
"""Units that have a row of their own; the rest is told in one."""
POINTS = 96
"""Of the curve of all units, at most."""
_NEAR = 1e-3
"""By what, beside the score, the units may miss it before they count as those of another formula."""
_FACTORS: dict[type[Scorer], list[str]] = {
    Dot: ["s", "h_j"],
    ScaledDot: ["s", "h_j"],
    General: ["s", "W h_j"],
    Location: ["s", "row j of W"],
}
_FUNNELS: dict[type[Scorer], list[str]] = {
    Additive: ["W s", "U h_j", "sum", "tanh", "v"],
    Concat: ["W s", "h_j", "sum", "tanh", "v"],
}


def columns(scorer: Scorer) -> list[str]:
    """What stands in a row before the summand; nothing for a class whose formula is not known here."""
    kind = type(scorer)
    return list(_FUNNELS.get(kind) or _FACTORS.get(kind) or ())


def units(scorer: Scorer, query: Tensor, key: Tensor, score: float) -> Tree | None:
    """The summands of a score, largest first.

    Args:
        scorer: whose score it is.
        query: s, [H].
        key: what the scorer prepared of the state, [A].
        score: e_j, before a window has acted on it.

    Returns:
        `rows`, at most `ROWS`, each with its `name`, its `cells` (the numbers under `columns`) and its
        `value`; `rest`, of all others: how many (`count`), their sum (`value`), and apart what pulls up
        (`up`, `gain`) and down (`down`, `loss`); `curve`, all summands from the highest to the lowest, at
        most `POINTS` of them. None where the summands of this class are not known, or are not those of
        this score.
    """
    kind = type(scorer)
    if kind in _FUNNELS:
        name, cells, values = "unit", *_funnel(scorer, query, key)
    elif kind in _FACTORS:
        name, cells, values = "slot", *_products(scorer, query, key)
    else:
        return None
    if abs(float(values.sum()) - score) > _NEAR * max(1.0, abs(score)):
        return None
    order = values.abs().argsort(descending=True, stable=True).tolist()
    rows = [
        {"name": f"{name} {k + 1}", "cells": cells[:, k].tolist(), "value": float(values[k])}
        for k in order[:ROWS]
    ]
    left = values[order[ROWS:]]
    up, down = left[left > 0], left[left <= 0]
    rest = {"count": len(left), "value": float(left.sum())}
    rest |= {"up": len(up), "gain": float(up.sum()), "down": len(down), "loss": float(down.sum())}
    fall = values.sort(descending=True).values
    picked = torch.linspace(0, len(fall) - 1, min(len(fall), POINTS)).round().long()
    return {"rows": rows, "rest": rest, "curve": [round(value, 4) for value in fall[picked].tolist()]}


def _funnel(scorer: Any, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """W s, U h_j, their sum, its tanh and v, [5, U]; and v times tanh."""
    asked, told, v = (one.detach().double().cpu() for one in (scorer.W(query), key, scorer.v))
    inside = asked + told
    return torch.stack([asked, told, inside, inside.tanh(), v]), v * inside.tanh()


def _products(scorer: Any, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """The two factors, [2, A]; and their product."""
    factors = torch.stack([query.detach().double().cpu(), key.detach().double().cpu()])
    scale = math.sqrt(scorer.key_dim) if type(scorer) is ScaledDot else 1.0
    return factors, factors[0] * factors[1] / scale
