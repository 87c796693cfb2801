"""What is computed with the rows that queries pick, and how their gradients come together.

A query and its W rows are a bag, in the sense of `nn.EmbeddingBag`. Its kernels sum weighted rows, and
multiply rows with a vector, where they lie; none of them makes a [B, Q, W, A], which is W times as large as
the queries.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 2**18
"""Values that `squash` works on at a time on a CPU: 1 MiB of float32 stays in its cache."""


class Bags:
    """The rows of all sentences of a batch, one under the other.

    In what follows `index` holds numbers of rows. What is computed keeps its arguments for the backward pass,
    and no rows: these are read, and the tanh computed, again.

    Args:
        rows: [N, A]; gradients of all that is computed with them reach it as one tensor.
    """

    def __init__(self, rows: Float[Tensor, "N A"]) -> None:
        self.gradient = _Gradient()
        self.handle = _Share.apply(rows, self.gradient)
        self.rows = rows.detach()
        self.none = self.handle.detach()  # a gradient for the handle, which has no value
        self._bounds: dict[torch.Size, tuple[Tensor, Tensor]] = {}

    def bounds(self, index: Int[Tensor, "B Q W"]) -> tuple[Int[Tensor, " n"], Int[Tensor, " m"]]:
        """Where the rows of each query begin, and the query of each row: made once for a shape."""
        if index.shape not in self._bounds:
            starts = torch.arange(0, index.numel(), index.shape[-1], device=index.device)
            queries = torch.arange(len(starts), device=index.device)
            self._bounds[index.shape] = starts, queries.repeat_interleave(index.shape[-1])
        return self._bounds[index.shape]

    @property
    def trained(self) -> bool:
        """Whether what is computed has a gradient for the rows."""
        return self.handle.requires_grad and torch.is_grad_enabled()

    def pick(self, index: Int[Tensor, "B Q W"]) -> Float[Tensor, "B Q W A"]:
        """The rows themselves."""
        picked: Tensor = _Pick.apply(self.handle, index, self)
        return picked

    def dots(self, query: Float[Tensor, "B Q A"], index: Int[Tensor, "B Q W"]) -> Float[Tensor, "B Q W"]:
        """q . k_j, of each query with its own rows."""
        scores: Tensor = _Dots.apply(self.handle, query.to(self.rows.dtype), index, self)
        return scores

    def mix(self, shares: Float[Tensor, "B Q W"], index: Int[Tensor, "B Q W"]) -> Float[Tensor, "B Q A"]:
        """sum_j a_j h_j, over the rows of each query."""
        mixed: Tensor = _Mix.apply(self.handle, shares.to(self.rows.dtype), index, self)
        return mixed

    def squash(
        self, query: Float[Tensor, "B Q A"], v: Float[Tensor, " A"], index: Int[Tensor, "B Q W"]
    ) -> Float[Tensor, "B Q W"]:
        """v' tanh(q + k_j), of each query with its own rows, in float32 at least; see `funnel.py`."""
        wide = torch.promote_types(self.rows.dtype, torch.float32)
        with torch.autocast(query.device.type, enabled=False):
            scores: Tensor = _Squash.apply(self.handle, query.to(wide), v.to(wide), index, self)
        return scores


class _Gradient:
    """The gradient of the rows, gathered over all picks. Lives with one batch's graph."""

    def __init__(self) -> None:
        self._task = -1
        self._clear()

    def _clear(self) -> None:
        self._sum: Tensor | None = None
        self._outer: list[tuple[Tensor, Tensor, Tensor]] = []

    def _begin(self) -> None:
        """A backward pass that did not ask for the rows' gradient leaves its part behind; not for this."""
        task = torch._C._current_graph_task_id()
        if task != self._task:
            self._task = task
            self._clear()

    def add(self, index: Int[Tensor, " N"], gradient: Float[Tensor, "N A"], like: Tensor) -> None:
        """Adds one gradient a row, at once."""
        self._begin()
        if self._sum is None:
            # Many windows overlap in one row: half precision would lose the small ones.
            self._sum = torch.zeros_like(like, dtype=torch.promote_types(like.dtype, torch.float32))
        self._sum.index_add_(0, index, gradient.to(self._sum.dtype))

    def add_outer(self, index: Int[Tensor, "B Q W"], weights: Tensor, vectors: Tensor) -> None:
        """Notes that row j of query n is to get weights[n, j] vectors[n]; summed up at the end."""
        self._begin()
        self._outer.append((index.flatten(0, 1), weights.flatten(0, 1), vectors.flatten(0, 1)))

    def take(self, like: Float[Tensor, "N A"]) -> Float[Tensor, "N A"]:
        """The whole gradient, and nothing is left."""
        self._begin()
        total = self._sum
        if self._outer:
            outer = self._summed(len(like))
            total = outer if total is None else total.add_(outer)
        self._clear()
        return torch.zeros_like(like) if total is None else total.to(like.dtype)

    def _summed(self, rows: int) -> Float[Tensor, "N A"]:
        """sum_n weights[n, j] vectors[n] for each row, in one pass over the sorted rows.

        No [n, W, A] is written, and no row of the result is touched twice: ten times as fast on a CPU as
        adding up each step's outer products.
        """
        count, places, whose = 0, [], []
        for index, _, vectors in self._outer:
            n, width = index.shape
            places.append(index.flatten())
            whose.append(torch.arange(count, count + n, device=index.device).repeat_interleave(width))
            count += len(vectors)
        place, order = torch.cat(places).int().sort()
        weights = torch.cat([w.flatten() for _, w, _ in self._outer])[order]
        vectors = torch.cat([v for _, _, v in self._outer])
        starts = torch.searchsorted(place, torch.arange(rows, device=place.device, dtype=place.dtype))
        return torch.embedding_bag(vectors, torch.cat(whose)[order], starts, False, 0, False, weights)[0]


def _mix(bags: Bags, index: Int[Tensor, "B Q W"], shares: Float[Tensor, "B Q W"]) -> Float[Tensor, "B Q A"]:
    starts, _ = bags.bounds(index)
    mixed = torch.embedding_bag(bags.rows, index.view(-1), starts, False, 0, False, shares.reshape(-1))[0]
    return mixed.view(*index.shape[:2], mixed.shape[1])


def _dots(bags: Bags, index: Int[Tensor, "B Q W"], query: Float[Tensor, "B Q A"]) -> Float[Tensor, "B Q W"]:
    """The gradient of a bag's weights is, for each row, its dot product with the bag's gradient."""
    starts, queries = bags.bounds(index)
    dots: Tensor = torch.ops.aten._embedding_bag_per_sample_weights_backward(
        query.flatten(0, 1), bags.rows, index.view(-1), starts, queries, 0
    )
    return dots.view(index.shape)


class _Share(torch.autograd.Function):
    """Gives a scalar that stands for the rows in the graph; its gradient is what `_Gradient` gathered.

    Every pick depends on the scalar, so autograd calls this backward after the last pick's.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, gradient: _Gradient) -> Tensor:
        ctx.gradient = gradient
        ctx.save_for_backward(rows)
        return rows.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return ctx.gradient.take(rows), None


class _Pick(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, handle: Tensor, index: Tensor, bags: Bags) -> Tensor:
        ctx.bags = bags
        ctx.save_for_backward(index)
        return bags.rows.index_select(0, index.view(-1)).view(*index.shape, bags.rows.shape[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (index,) = ctx.saved_tensors
        bags = ctx.bags
        bags.gradient.add(index.view(-1), gradient.flatten(0, 2), bags.rows)
        return bags.none, None, None


class _Dots(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, handle: Tensor, query: Tensor, index: Tensor, bags: Bags) -> Tensor:
        ctx.bags = bags
        ctx.save_for_backward(query, index)
        return _dots(bags, index, query)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        query, index = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            ctx.bags.gradient.add_outer(index, gradient, query)
        of_query = _mix(ctx.bags, index, gradient) if ctx.needs_input_grad[1] else None
        return ctx.bags.none, of_query, None, None


class _Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, handle: Tensor, shares: Tensor, index: Tensor, bags: Bags) -> Tensor:
        ctx.bags = bags
        ctx.save_for_backward(shares, index)
        return _mix(bags, index, shares)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        shares, index = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            ctx.bags.gradient.add_outer(index, shares, gradient)
        of_shares = _dots(ctx.bags, index, gradient) if ctx.needs_input_grad[1] else None
        return ctx.bags.none, of_shares, None, None


class _Squash(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, handle: Tensor, query: Tensor, v: Tensor, index: Tensor, bags: Bags) -> Tensor:
        ctx.bags = bags
        ctx.save_for_backward(query, v, index)
        parts = [inside @ v for _, inside in _squashed(query, bags.rows, index)]
        return (parts[0] if len(parts) == 1 else torch.cat(parts)).view(index.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """With h = tanh(q + k), g = de: dv = sum g h;  dk = g v (1 - h^2);  dq = sum_j of it."""
        query, v, index = ctx.saved_tensors
        bags = ctx.bags
        gradient, places = gradient.flatten(0, 1), index.view(-1, index.shape[-1])
        of_query, of_v = [], torch.zeros_like(v)
        for block, inside in _squashed(query, bags.rows, index):
            g = gradient[block]
            of_v += g.flatten() @ inside.flatten(0, 1)
            torch.addcmul(v, inside.square_(), v, value=-1, out=inside)  # v (1 - h^2)
            of_query.append((g.unsqueeze(1) @ inside).squeeze(1))
            if ctx.needs_input_grad[0]:
                inside.mul_(g.unsqueeze(-1))
                bags.gradient.add(places[block].view(-1), inside.flatten(0, 1), bags.rows)
        whole = of_query[0] if len(of_query) == 1 else torch.cat(of_query)
        return bags.none, whole.view_as(query), of_v, None, None


def _squashed(query: Tensor, rows: Tensor, index: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """tanh(q + k_j) of some of the queries after the other: which, and [n, W, A]."""
    q, places = query.flatten(0, 1), index.view(-1, index.shape[-1])
    at_once = len(q) if rows.is_cuda else max(1, BLOCK // (places.shape[1] * rows.shape[1]))
    for start in range(0, len(q), at_once):
        block = slice(start, start + at_once)
        keys = rows.index_select(0, places[block].view(-1)).to(q.dtype)
        yield block, keys.view(-1, places.shape[1], rows.shape[1]).add_(q[block].unsqueeze(1)).tanh_()
