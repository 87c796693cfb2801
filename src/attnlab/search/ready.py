"""Weights made ready for the many products of a search.

A search multiplies with the same matrices at every step, a few hundred rows or a handful at a time. Under
autocast `linear` casts the whole weight each time, because autocast keeps no casts in inference mode: a
quarter of a step in bfloat16. And y = x W' is faster on a CPU as (W x')', in bfloat16 or where few rows meet
the weight: the library then lays out x anew, not W.

A `Ready` weight is a tensor like any other and keeps what was made of it; its products with `linear` use
that, whatever else is done with it goes the usual way. So the model knows nothing of it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from attnlab.attention.kind import product_kind
from attnlab.model.per_word import PerWord
from attnlab.model.recurrence import Recurrence

HANDFUL = 8
"""Rows below which a product only waits for its weight to come from memory, in float32."""
FEW = 48
"""Rows up to which a CPU's (W x')' is worth the copy that lays its result out as rows again."""


class Ready(Tensor):
    """A weight [N, K] with its casts."""

    _casts: dict[torch.dtype, Tensor]
    _turned: bool

    @staticmethod
    def of(weight: Tensor, *, turned: bool = False) -> "Ready":
        """`weight`, ready.

        Args:
            weight: N x K, as `linear` takes it.
            turned: its product may come as the transpose of a matrix [N, rows]; who reads it does not care.
        """
        made = weight.detach().as_subclass(Ready)
        made._casts, made._turned = {weight.dtype: weight.detach()}, turned
        return made

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """`linear` uses what was made ready, the rest sees a plain tensor."""
        with torch._C.DisableTorchFunctionSubclass():
            if func is nn.functional.linear and not kwargs and isinstance(args[1], Ready):
                return args[1]._times(*args[::2])
            return func(*args, **(kwargs or {}))

    def _times(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """`linear(x, self, bias)`."""
        kind = product_kind(x)
        weight = self._casts.get(kind)
        if weight is None:
            weight = self._casts[kind] = self._casts[self.dtype].to(kind)
        x = x.to(kind)
        rows = x.numel() // x.shape[-1]
        least = 2 if kind.itemsize == 2 else HANDFUL
        if x.device.type != "cpu" or bias is not None or rows < least or not (self._turned or rows <= FEW):
            return nn.functional.linear(x, weight, bias)
        product = (weight @ x.reshape(rows, x.shape[-1]).T).T
        return (product if self._turned else product.contiguous()).unflatten(0, x.shape[:-1])


def _on_cpu(module: nn.Module) -> bool:
    return all(parameter.device.type == "cpu" for parameter in module.parameters())


@contextmanager
def ready(model: Any) -> Iterator[None]:
    """Within it the weights that a step multiplies with are `Ready`, those of `model.output` turned.

    Whoever searches batch after batch with the same weights does so within one: a search of its own makes
    them ready again. They must not change meanwhile.
    """
    output, words = getattr(model, "output", None), getattr(model, "target_embedding", None)
    if isinstance(getattr(output, "weight", None), Ready):
        yield
        return
    swapped: list[tuple[Any, str, nn.Parameter]] = []
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    # Not what the library runs whole: on a GPU it would lay out its weights anew for each that is swapped.
    stepped = {id(each.rnn) for each in modules if isinstance(each, Recurrence) and _on_cpu(each.rnn)}
    with ExitStack() as loops:
        for recurrence in modules:
            if isinstance(recurrence, Recurrence):
                kept = PerWord.of(words.weight) if isinstance(words, nn.Embedding) else None
                loops.enter_context(recurrence.looping(Ready.of, kept))
        try:
            for owner in modules:
                if not (isinstance(owner, nn.Linear) or id(owner) in stepped):
                    continue
                slots: Any = owner._parameters
                for name, weight in slots.items():
                    if weight is not None and weight.ndim == 2:
                        swapped.append((slots, name, weight))
                        slots[name] = Ready.of(weight, turned=owner is output)
            yield
        finally:
            for slots, name, weight in swapped:
                slots[name] = weight
