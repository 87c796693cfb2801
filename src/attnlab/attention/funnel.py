"""v' tanh(q + k_j) for every query and key, without keeping what is inside the tanh.

Plain autograd keeps every tanh for the backward pass: [B, T, S, U] values a batch, which for S = T = 400 is
what limits the batch. Here the tanh is computed again in the backward pass, a few sentences and one query at
a time, and that is all that ever lives beside the keys and their gradient.
"""

import threading
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from attnlab.attention.gathering import Gathered, Total
from attnlab.attention.picking import Picked

PIECE = 1 << 19
"""Values inside the tanh at a time on a CPU: 2 MB, which stays in the cache of two cores from the sum by way
of the tanh to the product with v. At S = T = 30 that is three times as fast as all [B, T, S, U] at once."""


def funnel(
    query: Float[Tensor, "*G Q U"], keys: Float[Tensor, "*G N U"], v: Float[Tensor, " U"]
) -> Float[Tensor, "*G Q N"]:
    """v' tanh(query + key) for all pairs, in float32 at least.

    A CPU's tanh is faster in float32 than in bfloat16, and the softmax that follows wants float32 anyway.
    Within a loop over steps the keys are `Gathered`: the steps then add to one gradient of them.
    """
    if isinstance(keys, Picked):
        return keys.squash(query, v)
    wide = torch.promote_types(keys.dtype, torch.float32)
    with torch.autocast(keys.device.type, enabled=False):
        total = keys.total(wide) if isinstance(keys, Gathered) else None
        plain = keys.to(wide) if total is None else total.handle
        scores: Tensor = _Funnel.apply(query.to(wide), plain, v.to(wide), total)
    return scores


class _Funnel(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, v: Tensor, total: Total | None) -> Tensor:
        ctx.save_for_backward(query, keys, v)
        ctx.total = total
        keys = keys if total is None else total.data
        scores = query.new_empty(*query.shape[:-1], keys.shape[-2])
        for inside, k, q, e in _pieces(keys, query, scores):
            for place, one in enumerate(q.unbind(-2)):
                e[:, place] = torch.add(one.unsqueeze(-2), k, out=inside).tanh_() @ v
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """With h = tanh(q + k), g = de: dv = sum g h;  dq = v sum_j g (1 - h^2);  dk = v sum_q g (1 - h^2).

        v is a common factor of dq and dk and is multiplied in at the end.
        """
        query, handle, v = ctx.saved_tensors
        total: Total | None = ctx.total
        keys = handle if total is None else total.data
        of_query, of_v = torch.empty_like(query), torch.zeros_like(v)
        of_keys = torch.zeros_like(keys) if total is None else total.gradient()
        unit = keys.new_ones(())
        for inside, k, q, g, dq, dk in _pieces(keys, query, gradient, of_query, of_keys):
            for place, one in enumerate(q.unbind(-2)):
                weigh = g[:, place].unsqueeze(-1)
                h = torch.add(one.unsqueeze(-2), k, out=inside).tanh_()
                of_v += weigh.flatten() @ h.flatten(0, -2)
                torch.addcmul(unit, h, h, value=-1, out=h)  # 1 - h^2 in one pass
                dq[:, place] = (weigh.mT @ h).squeeze(-2)
                dk.addcmul_(h, weigh)
        if total is None:
            return of_query.mul_(v), of_keys.mul_(v), of_v, None
        total.factor = v
        return of_query.mul_(v), torch.zeros_like(handle), of_v, None


def _pieces(keys: Tensor, *tensors: Tensor) -> Iterator[tuple[Any, ...]]:
    """A place for what is inside the tanh, and the parts of the tensors that belong to a few groups G.

    On a GPU there is one piece, and for a compiler, which would take the number of pieces for a constant.
    """
    flat = [each.flatten(0, -3) if each.ndim > 2 else each.unsqueeze(0) for each in (keys, *tensors)]
    if keys.device.type != "cpu" or torch.compiler.is_compiling():
        yield None, *flat  # `out=None`: made anew
        return
    groups, size = len(flat[0]), keys.shape[-2] * keys.shape[-1]
    count = max(1, PIECE // max(1, size))
    scratch = _scratch(keys, min(count, groups) * size)
    for first in range(0, groups, count):
        parts = [each[first : first + count] for each in flat]
        yield scratch[: len(parts[0]) * size].view(len(parts[0]), *keys.shape[-2:]), *parts


_HELD = threading.local()


def _scratch(like: Tensor, size: int) -> Tensor:
    """Memory for `size` values, the same again at the next call.

    Freed blocks of some megabytes leave holes that the next one, aligned to 64 bytes, does not fit:
    S = T = 400 took 1.2 GB that nothing held. CUDA's own allocator does not have this.
    """
    held: Tensor | None = getattr(_HELD, "values", None)
    if held is None or held.dtype != like.dtype or held.numel() < size:
        with torch.inference_mode(False):  # what a search has made serves training too
            held = _HELD.values = torch.empty(size, dtype=like.dtype)
    return held
