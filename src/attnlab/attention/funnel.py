"""v' tanh(q + k_j) for every query and key, without keeping what is inside the tanh.

Plain autograd keeps every tanh for the backward pass: [B, T, S, U] values a batch, which for S = T = 400 is
what limits the batch. Here the tanh is computed again in the backward pass, one query after another, and one
query's [B, S, U] is all that ever lives beside the keys and their gradient.
"""

import threading
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable


def funnel(
    query: Float[Tensor, "*G Q U"], keys: Float[Tensor, "*G N U"], v: Float[Tensor, " U"]
) -> Float[Tensor, "*G Q N"]:
    """v' tanh(query + key) for all pairs, one query after another, in float32 at least.

    One query's [N, U] stays in the cache of a CPU, which is three times as fast at S = T = 30 as all
    [Q, N, U] at once. A CPU's tanh is also faster in float32 than in bfloat16, and the softmax that follows
    wants float32 anyway.
    """
    wide = torch.promote_types(keys.dtype, torch.float32)
    with torch.autocast(keys.device.type, enabled=False):
        scores: Tensor = _Funnel.apply(query.to(wide), keys.to(wide), v.to(wide))
    return scores


class _Funnel(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(query, keys, v)
        inside = _scratch(keys)
        scores = query.new_empty(*query.shape[:-1], keys.shape[-2])
        for place, q in enumerate(query.unbind(-2)):
            scores[..., place, :] = torch.add(q.unsqueeze(-2), keys, out=inside).tanh_() @ v
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """With h = tanh(q + k), g = de: dv = sum g h;  dq = v sum_j g (1 - h^2);  dk = v sum_q g (1 - h^2).

        v is a common factor of dq and dk and is multiplied in at the end.
        """
        query, keys, v = ctx.saved_tensors
        of_query, of_keys, of_v = torch.empty_like(query), torch.empty_like(keys), torch.zeros_like(v)
        inside, one = _scratch(keys), keys.new_ones(())
        for place, q in enumerate(query.unbind(-2)):
            g = gradient[..., place, :].unsqueeze(-1)
            torch.add(q.unsqueeze(-2), keys, out=inside).tanh_()
            of_v += g.flatten() @ inside.flatten(0, -2)
            torch.addcmul(one, inside, inside, value=-1, out=inside)  # 1 - h^2 in one pass
            of_query[..., place, :] = (g.mT @ inside).squeeze(-2)
            if place:
                of_keys.addcmul_(inside, g)
            else:
                torch.mul(inside, g, out=of_keys)
        return of_query.mul_(v), of_keys.mul_(v), of_v


_HELD = threading.local()


def _scratch(like: Tensor) -> Tensor:
    """Memory of the size of `like` for what is inside the tanh, the same again at the next call.

    On a CPU only, where freed blocks of some megabytes leave holes that the next one, aligned to 64 bytes,
    does not fit: S = T = 400 took 1.2 GB that nothing held. CUDA's own allocator does not have this.
    """
    if like.device.type != "cpu":
        return torch.empty_like(like)
    held = getattr(_HELD, "values", None)
    if held is None or held.dtype != like.dtype or held.numel() < like.numel():
        with torch.inference_mode(False):  # what a search has made serves training too
            held = _HELD.values = torch.empty(like.numel(), dtype=like.dtype)
    return held[: like.numel()].view(like.shape)
