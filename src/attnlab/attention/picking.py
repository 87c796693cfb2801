"""The few rows that a window looks at, at a cost that does not know how long the source is.

Plain indexing is enough for the values, but its gradient allocates the full [B, S, A] at every decoder step,
so that a window of 21 positions costs as much as the whole source. Here the gradients of all picks of a batch
come together in one place (`bags.py`), and are handed back once, when the last pick has been through.

`Rows.pick` gives a tensor [B, Q, W, A] that is not there until something reads it: the two products that an
attention needs read the rows of the source instead, so that scorers stay formulas and copy nothing.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils._pytree import tree_map_only

from attnlab.attention.bags import Bags


class Rows:
    """The rows of `source`, to be picked many times within one batch.

    Args:
        source: [B, S, A]; gradients of all picks reach it as one tensor.
    """

    def __init__(self, source: Float[Tensor, "B S A"]) -> None:
        batch, self.length, _ = source.shape
        self.bags = Bags(source.flatten(0, 1))
        self._starts = self.length * torch.arange(batch, device=source.device).view(-1, 1, 1)
        self._reach = self._starts.new_empty(0)

    def select(self, rows: Int[Tensor, " R"]) -> "Rows":
        """The same rows for some of the sentences, in the order of `rows`; nothing is copied."""
        selected = copy.copy(self)
        selected._starts = self._starts[rows]
        return selected

    def index(self, first: Int[Tensor, "B Q"], width: int) -> Int[Tensor, "B Q W"]:
        """Where the `width` places from `first` on lie; for those outside the source, its nearest row.

        The same for all `Rows` of one batch.
        """
        if len(self._reach) != width:
            self._reach = torch.arange(width, device=first.device)
        return (first.unsqueeze(-1) + self._reach).clamp_(0, self.length - 1).add_(self._starts)

    def pick(self, first: Int[Tensor, "B Q"], width: int) -> Float[Tensor, "B Q W A"]:
        """`width` rows a query from index `first` on; indices outside the source give its nearest row."""
        return Picked.of(self, self.index(first, width))


class Picked(Tensor):
    """W rows a query, [B, Q, W, A], read only where they are needed; a tensor like any other.

    Its products `query @ picked.mT` and `shares @ picked`, with query [B, Q, 1, A] and shares [B, Q, 1, W],
    read the rows where they lie. Whatever else is done with it sees a plain tensor, copied from them.
    """

    _rows: Rows
    _index: Tensor
    _turned: bool

    @staticmethod
    def of(rows: Rows, index: Int[Tensor, "B Q W"], turned: bool = False) -> "Picked":
        """The rows named by `Rows.index`, or with `turned` the transposed of each query's."""
        data = rows.bags.rows
        shape = (
            (*index.shape, data.shape[1]) if not turned else (*index.shape[:2], data.shape[1], index.shape[2])
        )
        trained = rows.bags.trained
        made: Any = Tensor._make_wrapper_subclass(
            Picked, shape, dtype=data.dtype, device=data.device, requires_grad=trained
        )
        made._rows, made._index, made._turned = rows, index, turned
        if trained:
            with torch._C.DisableTorchFunctionSubclass():  # on itself, not on a copy of the rows
                made.register_hook(_refuse)
        return made

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Products and the transposition are as above, facts are known, the rest gets the rows."""
        with torch._C.DisableTorchFunctionSubclass():
            if func in _FACTS:
                return func(*args)
            if func in _TURNS:
                return Picked.of(args[0]._rows, args[0]._index, not args[0]._turned)
            if func in _PRODUCTS and not kwargs and _fits(*args):
                left, picked = args
                bags = picked._rows.bags
                ask = bags.dots if picked._turned else bags.mix
                return ask(left.squeeze(-2), picked._index).unsqueeze(-2)
            args, kwargs = tree_map_only(Picked, Picked.tensor, (args, kwargs or {}))
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # declared without the class
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Refuses: what comes here has gone round `__torch_function__`, and holds no rows."""
        raise RuntimeError(f"{func} met picked rows that have not been read; give it picked.clone()")

    def tensor(self) -> Tensor:
        """The rows themselves."""
        picked = self._rows.bags.pick(self._index)
        return picked.mT if self._turned else picked

    def squash(self, query: Float[Tensor, "B Q 1 A"], v: Float[Tensor, " A"]) -> Float[Tensor, "B Q 1 W"]:
        """v' tanh(q + k_j), the score of `funnel`, without a copy of the rows."""
        return self._rows.bags.squash(query.squeeze(-2), v, self._index).unsqueeze(-2)


_FACTS = {getattr(Tensor, name).__get__ for name in ("dtype", "shape", "device", "ndim", "requires_grad")}
_FACTS |= {Tensor.size, Tensor.dim}
_TURNS = {getattr(Tensor, name).__get__ for name in ("mT",)}
_PRODUCTS = {Tensor.__matmul__, Tensor.matmul, torch.matmul}


def _fits(left: Any, right: Any) -> bool:
    """Whether a product is of one row for each query with its own picked rows."""
    return (
        isinstance(right, Picked)
        and not isinstance(left, Picked)
        and left.ndim == 4
        and left.shape == (*right._index.shape[:2], 1, right.shape[-2])
    )


def _refuse(gradient: Tensor) -> None:
    raise RuntimeError("picked rows went into a Function unread, and their gradient is lost; use .clone()")
