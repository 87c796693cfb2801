"""How far two computations of one thing may lie apart: the mathematics of the contract's tolerances.

A score is a sum of products. Let eps be the distance from 1 to the next number of a precision: 2^-52 in
float64, 2^-23 in float32, 2^-10 in float16, 2^-7 in bfloat16. One rounding moves a number by at most eps / 2
of itself. A bilinear score is rounded three times, s, the key and the result; products of the three lie
within the largest score of a batch, and the errors of a sum's terms, which have either sign, add up no
faster than the terms. Deeper formulas round a few times more. So an honest score is off by less than

    d = 4 eps max |e|,            eight roundings of the largest score.

The softmax sees differences of scores. Where one score is raised by d and all others are lowered by d, a
share a becomes a' with a' / (1 - a') = e^(2d) a / (1 - a). The change a' - a is largest where a and a' lie
symmetrically around 1/2, that is at log(a / (1 - a)) = -d, and is there

    sigmoid(d) - sigmoid(-d) = tanh(d / 2).

No other errors of at most d move a set of shares by more, so a context, sum_j a_j h_j, moves in each
component by at most tanh(d / 2) (max_j h_j - min_j h_j). With scores up to 10 in bfloat16, d = 0.31 and the
bound is 0.16; with scores up to 100, which bfloat16 holds in steps of 1/2, it is 0.92: such a scorer is
coarse by its size alone, and no fault of arithmetic can be told from it there. Whether it computes with
care is seen from the scores themselves, relative to their size (`practice.precision`).

A context has an error of its own beside that of its weights, which no score makes larger: the shares, the
products and their sum are rounded, eight times at most as above, so it lies within 4 eps sum_j a_j |h_j| of
what its own weights give.

In float64 all of this is below 1e-12 for scores up to 1000, so equal things are held equal to 1e-12 and 1e-9.
A scorer or a window may compute in float32 inside whatever it is given, as the remedy of `half precision`
advises. What passes through float32 is equal to 8 roundings of float32 relative to the largest value, with a
factor of 100 for sums that cancel: 1e-4.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

COARSE = 0.15
"""The least bound of a share, and of a context's component, in bfloat16 against float32: that of scores up to
9.7. Queries and states of N(0, 1) seldom have larger ones, and deeper formulas have smaller ones that are
rounded more often."""
EXACT = 1e-12  # of weights and contexts in float64
CLOSE = 1e-9  # of scores in float64, relative to 1 and to the largest
SINGLE = 1e-4  # of all that passes through float32


class _Narrowest(TorchDispatchMode):
    """Notes the smallest floating-point numbers that come out of any operation."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 8

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for one in found if isinstance(found, tuple | list) else (found,):
            if isinstance(one, Tensor) and one.is_floating_point() and one.ndim:
                self.bytes = min(self.bytes, one.itemsize)
        return found


def narrowest(run: Callable[[], Any]) -> int:
    """Bytes of the smallest floating-point numbers that a computation passes through; 8 is float64.

    Numbers that are no tensors with axes do not count.
    """
    with torch.no_grad(), _Narrowest() as seen:
        run()
    return seen.bytes


def near(ours: Tensor, theirs: Tensor, single: bool = False) -> bool:
    """Whether two tensors of one shape are equal but for rounding, relative to 1 and to the largest value."""
    if ours.shape != theirs.shape:
        return False
    ours, theirs = ours.detach().double(), theirs.detach().double()
    size = 1 + float(theirs.abs().max()) if theirs.numel() else 1
    return torch.allclose(ours, theirs, rtol=0, atol=size * (SINGLE if single else CLOSE))


def moved(scores: Tensor, dtype: torch.dtype) -> float:
    """By how much a share of the softmax may differ that is computed in `dtype`, from 0 to 1."""
    finite = scores.detach()[scores.detach().isfinite()]  # -inf hides a place
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    return math.tanh(2 * torch.finfo(dtype).eps * largest)


def summed(weights: Tensor, states: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The contexts that weights give, and by how much those computed in `dtype` may differ from them.

    Args:
        weights: [B, T, S].
        states: [B, S, K], in float32 the values that were summed.
        dtype: of the sum.

    Returns:
        Both [B, T, K], in the precision of the states.
    """
    shares = weights.detach().to(states.dtype)
    rounding = 4 * torch.finfo(dtype).eps * (shares.abs() @ states.abs())
    return shares @ states, rounding + torch.finfo(dtype).tiny
