"""Taking the few rows that a window looks at, at a cost that does not know how long the source is.

Plain indexing is enough for the values, but its gradient allocates the full [B, S, A] at every decoder step,
so that a window of 21 positions costs as much as the whole source. Here all picks of a batch add their
gradients to one shared buffer, which is handed back once, when the last of them has been through.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable


class Rows:
    """The rows of `source`, to be picked many times within one batch.

    Args:
        source: [B, S, A]; gradients of all picks reach it as one tensor.
    """

    def __init__(self, source: Float[Tensor, "B S A"]) -> None:
        self.length = source.shape[1]
        self._shared = _Buffer()
        flat = source.flatten(0, 1)
        self._handle = _Share.apply(flat, self._shared)
        self._data = flat.detach()

    def pick(self, first: Int[Tensor, "B Q"], width: int) -> Float[Tensor, "B Q W A"]:
        """`width` rows a query from index `first` on; indices outside the source give its nearest row."""
        batch, queries = first.shape
        places = first.unsqueeze(-1) + torch.arange(width, device=first.device)
        places = places.clamp(0, self.length - 1)
        places = places + self.length * torch.arange(batch, device=first.device)[:, None, None]
        picked = _Pick.apply(self._handle, self._data, places.flatten(), self._shared)
        return picked.view(batch, queries, width, -1)


class _Buffer:
    """The gradient of the rows, gathered over all picks. Lives with one batch's graph."""

    def __init__(self) -> None:
        self.gradient: Tensor | None = None

    def add(self, index: Tensor, gradient: Tensor, like: Tensor) -> None:
        if self.gradient is None:
            # Many windows overlap in one row: half precision would lose the small ones.
            self.gradient = torch.zeros_like(like, dtype=torch.promote_types(like.dtype, torch.float32))
        self.gradient.index_add_(0, index, gradient.to(self.gradient.dtype))

    def take(self, like: Tensor) -> Tensor:
        gradient, self.gradient = self.gradient, None
        return torch.zeros_like(like) if gradient is None else gradient.to(like.dtype)


class _Share(torch.autograd.Function):
    """Gives a scalar that stands for the rows in the graph; its gradient is the shared buffer.

    Every pick depends on the scalar, so autograd calls this backward after the last pick's.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, shared: _Buffer) -> Tensor:
        ctx.shared = shared
        ctx.save_for_backward(rows)
        return rows.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return ctx.shared.take(rows), None


class _Pick(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, handle: Tensor, rows: Tensor, index: Tensor, shared: _Buffer) -> Tensor:
        ctx.shared = shared
        ctx.save_for_backward(handle, rows, index)
        return rows.index_select(0, index)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        handle, rows, index = ctx.saved_tensors
        ctx.shared.add(index, gradient, rows)
        return torch.zeros_like(handle), None, None, None
