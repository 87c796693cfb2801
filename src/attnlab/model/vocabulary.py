"""The cross-entropy over a vocabulary, from readouts to loss and gradients in one go.

Of readouts r [N, R] and the output's weight W [V, R], with x = W r and p = softmax(x):

    loss = sum_n -(1 - a) log p[y_n] - a / V sum_v log p[v]        a: label smoothing (Szegedy et al. 2016)
    dx = p - (1 - a) onehot(y) - a / V       dr = dx W       dW = sum_n dx_n' r_n

The gradient of the logits is made in their own memory while a few rows of them lie in the cache, and no more
than `BLOCK` rows of them ever exist: for 30,000 words and 4,000 tokens that is 120 MB in place of 1.4 GB.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from attnlab.attention.kind import product_kind

BLOCK = 1024
"""Rows of logits that exist at a time: enough for products at full speed."""
ROWS = 64
"""Rows whose softmax is made at a time on a CPU: 1.5 MB for 6,000 words."""
MULTIPLE = 64
"""Half precision on a CPU makes products of so many rows, or a multiple. oneDNN compiles each new size: 512
units, 6,000 words and ever new numbers of tokens took 52 ms and 10 MB a batch for it."""


def summed_cross_entropy(
    readouts: Float[Tensor, "N R"],
    weight: Float[Tensor, "V R"],
    target: Int[Tensor, " N"],
    label_smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Cross-entropy in nats, summed over N tokens; products as autocast has them, the softmax in float32."""
    kind = product_kind(weight)
    readouts = readouts.to(kind)
    if kind.itemsize < 4 and weight.device.type == "cpu":
        readouts = nn.functional.pad(readouts, (0, 0, 0, -len(readouts) % MULTIPLE))
    with torch.autocast(weight.device.type, enabled=False):
        loss: Tensor = _CrossEntropy.apply(readouts, weight, target, label_smoothing)
    return loss


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, readouts: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> Tensor:
        kind, wide = readouts.dtype, torch.promote_types(weight.dtype, torch.float32)
        narrow = weight.to(kind)
        loss = weight.new_zeros((), dtype=wide)
        dr = torch.empty_like(readouts) if ctx.needs_input_grad[0] else None
        dw = torch.zeros((), dtype=weight.dtype, device=weight.device) if ctx.needs_input_grad[1] else None
        rows = ROWS if weight.device.type == "cpu" else BLOCK
        # readouts beyond the targets fill a block up: they have no loss and no gradient
        for first in range(0, max(1, len(readouts)), BLOCK):
            r, y = readouts[first : first + BLOCK], target[first : first + BLOCK]
            x = r @ narrow.mT
            for piece, words in zip(x[: len(y)].split(rows), y.split(rows), strict=True):
                loss += _gradient(piece, words.unsqueeze(1), smoothing, wide)
            x[len(y) :] = 0
            if dr is not None:
                torch.mm(x, narrow, out=dr[first : first + BLOCK])
            if dw is not None:
                product = (x.mT @ r).to(weight.dtype)
                dw = dw.add_(product) if dw.ndim else product
        ctx.save_for_backward(dr, dw)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        of_r, of_w = (None if made is None else made * upstream.to(made.dtype) for made in ctx.saved_tensors)
        return of_r, of_w, None, None


def _gradient(x: Tensor, words: Tensor, smoothing: float, wide: torch.dtype) -> Tensor:
    """The loss of some rows of logits [N, V], which become their gradient."""
    p = x if x.dtype == wide else x.to(wide)
    size = p.shape[1]
    p.sub_(p.amax(1, keepdim=True))
    at, mean = p.gather(1, words), p.mean(1, keepdim=True) if smoothing else 0
    norm = p.exp_().sum(1, keepdim=True)
    p.div_(norm)
    if smoothing:
        p.sub_(smoothing / size)
    p.scatter_add_(1, words, torch.full_like(at, smoothing - 1))
    if p is not x:
        x.copy_(p)
    return (norm.log() - (1 - smoothing) * at - smoothing * mean).sum()
