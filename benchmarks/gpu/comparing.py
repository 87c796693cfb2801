"""How far two results are apart, as a row of a check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gpu.parts import Rows


def apart(one: Sequence[Tensor | None], other: Sequence[Tensor | None]) -> float:
    """The largest difference beside the largest value, in float64 on the host."""
    worst = 0.0
    for x, y in zip(one, other, strict=True):
        if x is None and y is None:
            continue
        x, y = (torch.zeros(()) if z is None else z.detach().double().cpu() for z in (x, y))
        if x.numel() or y.numel():
            scale = max(1.0, float(y.abs().max()) if y.numel() else 1.0)
            worst = max(worst, float((x - y).abs().nan_to_num(torch.inf).max()) / scale)
    return worst


def told(rows: Rows, what: str, difference: float, bound: float) -> None:
    """One row of a check."""
    row: dict[str, Any] = {"check": what, "difference": difference, "bound": bound}
    if not difference <= bound:
        row["fault"] = f"{what}: {difference:.2e} apart, bound {bound:.0e}"
    rows.append(row)
