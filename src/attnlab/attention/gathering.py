"""Matrices that every step of a loop multiplies with: their gradient is one product after the loop.

A step computes y = x M or y = x M'. Plain autograd makes one gradient of the size of M a step, and adds them
up: for a recurrent weight that is more memory traffic than the product itself is work, and on a GPU a kernel
of its own a step. The sum over the steps is one product over all of them laid end to end:

    y_t = x_t M'    dM = sum_t dy_t' x_t = [dy_1; ..; dy_T]' [x_1; ..; x_T]
    y_t = x_t M     dM = sum_t x_t' dy_t

`Gathered` is a tensor like any other: its products with `@` and `linear` gather, whatever else is done with
it goes the usual way. So scorers, windows and readouts are written as formulas and know nothing of it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from attnlab.attention.kind import product_kind


class Gathered(Tensor):
    """A matrix [*, N, A] whose gradient is gathered over many products."""

    _ledger: "_Ledger"
    _turned: bool

    @staticmethod
    def of(matrix: Tensor) -> Tensor:
        """`matrix` to be used many times; the tensor itself where it needs no gradient."""
        if not (matrix.requires_grad and torch.is_grad_enabled()) or _PLAIN.get():
            return matrix
        return _view(matrix, _Ledger(matrix), turned=False)

    def total(self, kind: torch.dtype) -> "Total":
        """For a Function that adds to the gradient itself: what it reads, in type `kind`, and adds to."""
        return self._ledger.total(kind)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Products gather, a transposition stays gathered, the rest sees a plain tensor."""
        with torch._C.DisableTorchFunctionSubclass():
            if func in _TURNS and not kwargs:
                matrix = args[0]
                return _view(func(matrix), matrix._ledger, turned=not matrix._turned)
            if func in _PRODUCTS and not kwargs and _fits(args[0], args[1]):
                matrix = args[1]
                product = matrix._ledger.times(args[0], matrix._turned ^ (func is nn.functional.linear))
                return product if len(args) < 3 or args[2] is None else product + args[2]
            return func(*args, **(kwargs or {}))


_PLAIN = ContextVar("plain", default=False)


@contextmanager
def plain() -> Iterator[None]:
    """Within it nothing is gathered: a compiler reads ordinary parameters."""
    before = _PLAIN.set(True)
    try:
        yield
    finally:
        _PLAIN.reset(before)


_TURNS = {getattr(Tensor, name).__get__ for name in ("mT", "T")}
_PRODUCTS = {Tensor.__matmul__, Tensor.matmul, torch.matmul, nn.functional.linear}


def _view(matrix: Tensor, ledger: "_Ledger", turned: bool) -> Gathered:
    made = matrix.as_subclass(Gathered)
    made._ledger, made._turned = ledger, turned
    return made


def _fits(x: Any, matrix: Any) -> bool:
    """Whether y = x M is of the kind that gathers: one x of rows for each matrix."""
    return (
        isinstance(matrix, Gathered)
        and not isinstance(x, Gathered)
        and x.ndim >= 2
        and (matrix.ndim == 2 or x.shape[:-2] == matrix.shape[:-2])
        and x.is_floating_point()
        and product_kind(x) == product_kind(matrix)
    )


class _Ledger:
    """The products made with one matrix, by the type in which they were computed."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix
        self.pages: dict[torch.dtype, _Page] = {}
        self.totals: dict[torch.dtype, Total] = {}

    def times(self, x: Tensor, turned: bool) -> Tensor:
        """X M', where `turned`, or x M."""
        kind = product_kind(x)
        if kind not in self.pages:
            self.pages[kind] = _Page(self.matrix.to(kind))
        page = self.pages[kind]
        product: Tensor = _Times.apply(x.to(kind), page.handle, page, turned)
        return product

    def total(self, kind: torch.dtype) -> "Total":
        if kind not in self.totals:
            self.totals[kind] = Total(self.matrix.to(kind))
        return self.totals[kind]


class _Pass:
    """Tells one backward pass from the next: one that asks for other gradients leaves its part behind."""

    def __init__(self) -> None:
        self._task = -1

    def is_new(self) -> bool:
        """Whether another pass than at the last call is at work."""
        before, self._task = self._task, torch._C._current_graph_task_id()
        return before != self._task


class Total:
    """A tensor whose gradient the steps of a loop add up themselves.

    Attributes:
        data: the tensor, out of the graph.
        handle: stands for it in the graph; who reads `data` must depend on it.
        factor: common to all that was added; multiplied in at the end.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.data = tensor.detach()
        self.handle: Tensor = _Gather.apply(tensor, self)
        self.factor: Tensor | None = None
        self._gradient: Tensor | None = None
        self._pass = _Pass()

    def gradient(self) -> Tensor:
        """What this backward pass has added so far, to be added to."""
        if self._pass.is_new() or self._gradient is None:
            self._gradient = torch.zeros_like(self.data)
        return self._gradient

    def take(self) -> Tensor:
        """The gradient of the tensor."""
        gradient, self._gradient = self.gradient(), None
        return gradient if self.factor is None else gradient.mul_(self.factor)


class _Page:
    """Left and right factors, a pair a product, of the gradient left' right. Lives with one graph."""

    def __init__(self, matrix: Tensor) -> None:
        self.pairs: list[tuple[Tensor, Tensor]] = []
        self.data = matrix.detach()
        self.handle = _Gather.apply(matrix, self)
        self._pass = _Pass()

    def add(self, left: Tensor, right: Tensor) -> None:
        """Notes what a product of this backward pass adds."""
        if self._pass.is_new():
            self.pairs = []
        self.pairs.append((left, right))

    def take(self) -> Tensor:
        """The gradient of the matrix."""
        pairs, self.pairs = [] if self._pass.is_new() else self.pairs, []
        if not pairs:
            return torch.zeros_like(self.data)
        if self.data.ndim == 2:
            pairs = [(left.flatten(0, -2), right.flatten(0, -2)) for left, right in pairs]
        left, right = (torch.cat(side, dim=-2) for side in zip(*pairs, strict=True))
        return left.mT @ right


class _Gather(torch.autograd.Function):
    """Gives a scalar that stands for the matrix in the graph.

    Every product depends on it, so autograd asks for its gradient after the last product's.
    """

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, page: _Page | Total) -> Tensor:
        ctx.page = page
        return matrix.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, None]:
        return ctx.page.take(), None


class _Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, handle: Tensor, page: _Page, turned: bool) -> Tensor:
        ctx.page, ctx.turned = page, turned
        ctx.save_for_backward(x, handle)
        return x @ page.data.mT if turned else x @ page.data

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
        x, handle = ctx.saved_tensors
        matrix, of_x = ctx.page.data, None
        if ctx.needs_input_grad[0]:
            of_x = gradient @ matrix if ctx.turned else gradient @ matrix.mT
        ctx.page.add(*((gradient, x) if ctx.turned else (x, gradient)))
        return of_x, torch.zeros_like(handle), None, None


@contextmanager
def gathering(module: nn.Module) -> Iterator[None]:
    """Within it every weight matrix of `module` is `Gathered`."""
    made: dict[int, Tensor] = {}
    swapped: list[tuple[Any, str, nn.Parameter]] = []
    try:
        for owner in module.modules():
            slots: Any = owner._parameters
            for name, weight in slots.items():
                if weight is not None and weight.ndim == 2:
                    swapped.append((slots, name, weight))
                    slots[name] = made.setdefault(id(weight), Gathered.of(weight))
        yield
    finally:
        for slots, name, weight in swapped:
            slots[name] = weight
