"""Whether gradients are those of what was computed: against differences, one direction at a time.

For outputs y(x) and a random direction d of x's, each output has the slope (y(x + h d) - y(x - h d)) / (2 h)
along d, by asking twice. With random numbers c of the outputs' shape, autograd's gradient g of sum c y(x)
must give sum g d = sum c slope. Where a part of the way is detached, the two differ by that part's share: far
more than by the errors of the difference. The parameters are moved in place, so that whoever holds one by a
second name (`nn.GRU` does) sees it move.

The errors: the curvature, h^2 relative; and rounding, eps |y| / h. In float64 h = 1e-6 leaves 1e-10 of |y|,
held to 1e-7; in float32 h = 3e-3 leaves 4e-5, held to 1e-3. An output that jumps or bends within h (a floor,
a relu) has another slope over h / 2 than over h, and is left out. What is left of kinks differs from point to
point: a gradient is called wrong where it is at two of three points.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnlab.contract.asking import normal

POINTS = 3


class Slope(NamedTuple):
    """What one tensor's gradient was found to be.

    Attributes:
        reaches: at some point the gradient is not 0.
        matters: at some point the outputs move with the tensor.
        wrong: at two points or more the gradient is not that of the outputs.
    """

    reaches: bool
    matters: bool
    wrong: bool


def slopes(
    points: Sequence[tuple[Callable[..., Tensor], dict[str, Tensor]]],
    parameters: Mapping[str, Tensor],
    single: bool,
) -> dict[str, Slope]:
    """The slopes of outputs along their inputs and along parameters.

    Args:
        points: of each point, what computes the outputs, and the inputs by name, which need gradients.
        parameters: the same at every point.
        single: the computation passes through float32.
    """
    found: dict[str, list[tuple[bool, bool, bool]]] = {}
    h, noise, near = (3e-3, 1e-3, 0.05) if single else (1e-6, 1e-7, 1e-3)
    for seed, (run, inputs) in enumerate(points):
        for place, (name, leaf) in enumerate({**inputs, **parameters}.items()):
            spread = float(leaf.detach().square().mean().sqrt()) or 1.0
            direction = normal(*leaf.shape, seed=100 + place) * spread
            slope = _difference(run, leaf, direction, h)
            other = _difference(run, leaf, direction, h / 2)
            outputs = run()  # after the differences, which move what the graph would hold
            rounding = noise * float(outputs.detach().double().abs().max())
            bent = (slope - other).abs() > 0.1 * slope.abs() + rounding
            weigh = normal(*outputs.shape, seed=10 + seed).masked_fill(bent, 0)
            gradient = None
            if outputs.requires_grad:
                total = (outputs.double() * weigh).sum()
                (gradient,) = torch.autograd.grad(total, [leaf], allow_unused=True)
            said = 0.0 if gradient is None else float((gradient.double() * direction).sum())
            asked = float((slope * weigh).sum())
            close = near * max(abs(asked), abs(said)) + rounding * float(weigh.norm())
            reaches = gradient is not None and bool(gradient.any())
            matters = bool((slope.abs() > rounding)[~bent].any())
            found.setdefault(name, []).append((reaches, matters, abs(asked - said) > close))
    return {
        name: Slope(any(p[0] for p in per), any(p[1] for p in per), sum(p[2] for p in per) > 1)
        for name, per in found.items()
    }


def _difference(run: Callable[..., Tensor], leaf: Tensor, direction: Tensor, h: float) -> Tensor:
    """(y(x + h d) - y(x - h d)) / (2 h) of each output; the tensor is afterwards what it was."""
    values = leaf.detach().clone()
    there = []
    with torch.no_grad():
        for sign in (1, -1):
            leaf.copy_(values + sign * h * direction)
            there.append(run().double())
        leaf.copy_(values)
    return (there[0] - there[1]) / (2 * h)
