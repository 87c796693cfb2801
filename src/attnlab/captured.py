"""The decoder's loop out of CUDA graphs, a pair a size of batch.

The orders with feedback launch some dozens of small kernels a step, and on a GPU the launching takes longer
than the work. A captured graph launches them all at once. Its shapes and addresses are fixed, so a batch is
copied into buffers whose sizes are rounded up; a size is captured when it comes the second time. Padding of
time, of source positions (their weight is 0) and of sentences (their length is 0) changes no value and no
gradient.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from attnlab.attention import Attended, Memory
from attnlab.capturing import Graph, Inputs, Recorder
from attnlab.errors import UserError
from attnlab.model import DecoderState

log = logging.getLogger(__name__)


class _Turn:
    """A forward pass that waits for its backward pass."""

    def __init__(self, whose: Captured) -> None:
        self._whose = whose
        self.done = False

    def check(self) -> None:
        if not self._whose.is_last(self):
            raise RuntimeError("a backward pass through a captured loop after the next batch's forward pass")


class _Play(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, graph: Graph, turn: _Turn, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.graph, ctx.turn = graph, turn
        ctx.shapes = [tuple(tensor.shape) for tensor in tensors[:count]]
        ctx.set_materialize_grads(False)
        outputs = graph.forward(tensors[:count])
        ctx.mark_non_differentiable(*(out for out in outputs if not out.is_floating_point()))
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *pulls: Tensor | None) -> tuple[Any, ...]:
        ctx.turn.check()
        ctx.turn.done = True
        return None, None, None, *ctx.graph.backward(ctx.shapes, pulls)


class Captured:
    """Stands in for the `forward` of a decoder that goes step after step.

    Without gradients, for a size seen for the first time, and while another forward pass waits for its
    backward pass, the loop runs uncaptured.

    Args:
        decoder: its `forward` is what is captured.
        multiple: B, T and S are rounded up to multiples of it: larger needs fewer captures, wastes more.
        most: sizes captured; others run uncaptured.
        recorder: how to capture.
    """

    def __init__(
        self, decoder: nn.Module, *, multiple: int = 8, most: int = 128, recorder: Recorder | None = None
    ) -> None:
        self.eager: Callable[..., tuple[Tensor, Attended]] = decoder.forward
        self.multiple, self.most = multiple, most
        self.recorder = recorder or Recorder()
        self.graphs: dict[Any, Graph] = {}
        """One a size that was captured."""
        self._decoder = decoder
        self._seen: set[Any] = set()
        self._addresses: list[int] = []
        self._slopes: list[Tensor] = []
        self._turn: weakref.ref[_Turn] | None = None

    def is_last(self, turn: _Turn) -> bool:
        """Whether no other forward pass has begun since."""
        return self._turn is not None and self._turn() is turn

    def _waits(self) -> bool:
        turn = None if self._turn is None else self._turn()
        return turn is not None and not turn.done

    def __call__(self, embedded: Tensor, memory: Memory, state: DecoderState) -> tuple[Tensor, Attended]:
        """`Decoder.forward`."""
        kind = embedded.device.type
        if kind != self.recorder.device or not torch.is_grad_enabled() or self._waits():
            return self.eager(embedded, memory, state)
        inputs = Inputs.of(embedded, memory, state)
        parameters = [p for p in self._decoder.parameters() if p.requires_grad]
        addresses = [p.data_ptr() for p in parameters]
        if addresses != self._addresses:  # the model has been moved
            self.graphs, self._seen, self._addresses = {}, set(), addresses
            self._slopes = [torch.zeros_like(p, requires_grad=False) for p in parameters]
        shapes = inputs.sizes(self.multiple)
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        key = (
            *(self._decoder.training, dtype, inputs.local, inputs.fed),
            *((shape, t.dtype, t.requires_grad) for shape, t in zip(shapes, inputs.tensors, strict=True)),
        )
        graph = self.graphs.get(key)
        if graph is None:
            if key not in self._seen or len(self.graphs) >= self.most:
                self._seen.add(key)
                return self.eager(embedded, memory, state)
            graph = self.graphs[key] = self._capture(inputs, shapes, parameters, kind, dtype)
        turn = _Turn(self)
        self._turn = weakref.ref(turn)
        readouts, context, weights, *first = _Play.apply(
            graph, turn, len(inputs.tensors), *inputs.tensors, *parameters
        )
        return readouts, Attended(context, weights, first[0] if first else None)

    def _capture(
        self,
        inputs: Inputs,
        shapes: Sequence[tuple[int, ...]],
        parameters: Sequence[nn.Parameter],
        kind: str,
        dtype: torch.dtype | None,
    ) -> Graph:
        def autocast() -> AbstractContextManager[Any]:
            return nullcontext() if dtype is None else torch.autocast(kind, dtype=dtype)

        try:
            return Graph(self.eager, inputs, shapes, parameters, self._slopes, self.recorder, autocast)
        except UserError:
            raise
        except RuntimeError as error:
            line = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(
                f"trainer.compile: the decoder's loop cannot be captured as a CUDA graph ({line}); "
                "use trainer.compile=compile or none"
            ) from error
