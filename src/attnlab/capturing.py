"""A decoder's loop over a whole target, captured for one size of batch: a CUDA graph forward, one backward.

The pattern is that of `torch.cuda.make_graphed_callables`, which cannot be used as it is: it captures
in the mode in which a data loader's pinning thread breaks the capture, it does not take autocast's cache,
without which each step would cast the weights anew, and the gradients it gives are overwritten by the next
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attnlab.attention import Attended, Memory
from attnlab.attention.picking import Rows
from attnlab.model import DecoderState

Replay = Callable[[], None]
Work = Callable[[], tuple[Tensor | None, ...]]
WARM_UPS = 3
"""Passes before a capture: libraries make their handles and compilers their kernels then."""


class Recorder:
    """How work is captured and played again: CUDA graphs, which share one pool of memory.

    Sharing is safe because no graph is played between the forward and the backward pass of another
    (`Captured` sees to that), and what outlives them is copied out.
    """

    device = "cuda"

    def __init__(self) -> None:
        self._pool: Any = None

    def aside(self, device: torch.device) -> AbstractContextManager[Any]:
        """A side stream, as a warm-up needs it, which neither starts early nor ends late."""
        return _Aside(device)

    def record(self, work: Work) -> tuple[Replay, tuple[Tensor | None, ...]]:
        """What plays `work` again, and the tensors that its results stand in each time."""
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # thread_local: a thread that pins memory for the loader may go on with that meanwhile
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            found = work()
        return graph.replay, found


class _Aside:
    def __init__(self, device: torch.device) -> None:
        self._device = device

    def __enter__(self) -> None:
        torch.cuda.synchronize(self._device)
        self._inside = torch.cuda.stream(torch.cuda.Stream(self._device))
        self._inside.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._inside.__exit__(*error)
        torch.cuda.synchronize(self._device)


class Inputs(NamedTuple):
    """What the loop reads, in one order: time, memory, state. `rebuild` is its inverse."""

    tensors: tuple[Tensor, ...]
    parts: int  # of the state
    fed: bool
    local: bool

    @classmethod
    def of(cls, embedded: Tensor, memory: Memory, state: DecoderState) -> Inputs:
        """The tensors of a call of `Decoder.forward`."""
        fed = () if state.fed is None else (state.fed,)
        tensors = (
            *(embedded, memory.states, memory.keys, memory.lengths, memory.reachable),
            *(*state.hidden, *fed),
        )
        return cls(tensors, len(state.hidden), state.fed is not None, memory.picks is not None)

    def rebuild(self, tensors: Sequence[Tensor]) -> tuple[Tensor, Memory, DecoderState]:
        """The arguments of `Decoder.forward` made of other tensors of these roles."""
        embedded, states, keys, lengths, reachable, *rest = tensors
        picks = (Rows(keys), Rows(states)) if self.local else None
        hidden = tuple(rest[: self.parts])
        return (
            embedded,
            Memory(states, keys, lengths, reachable, picks),
            DecoderState(hidden, rest[self.parts] if self.fed else None),
        )

    def sizes(self, multiple: int) -> list[tuple[int, ...]]:
        """Shapes of the buffers: B, T and S rounded up to whole multiples."""

        def up(size: int) -> int:
            return max(multiple, -(-size // multiple) * multiple)

        shapes: list[tuple[int, ...]] = []
        for place, tensor in enumerate(self.tensors):
            shape = list(tensor.shape)
            batch = 1 if 5 <= place < 5 + self.parts else 0  # hidden is [L, B, 1, H]
            for axis in (batch, *((1,) if place < 3 else ())):
                shape[axis] = up(shape[axis])
            shapes.append(tuple(shape))
        return shapes


class Graph:
    """The loop for one size of batch, captured.

    Args:
        run: `Decoder.forward` without capture.
        like: inputs of the sizes that are to be captured for, or smaller.
        shapes: those sizes.
        parameters: whose gradients the backward pass gives.
        slopes: where it leaves them, the same places for all sizes: each size's own would be as large as the
            decoder.
        recorder: how to capture.
        autocast: entered around the forward pass.
    """

    def __init__(
        self,
        run: Callable[..., tuple[Tensor, Attended]],
        like: Inputs,
        shapes: Sequence[tuple[int, ...]],
        parameters: Sequence[nn.Parameter],
        slopes: Sequence[Tensor],
        recorder: Recorder,
        autocast: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self._run, self._autocast = run, autocast
        self._like = like._replace(tensors=())  # not the batch with all that its graph holds
        device = like.tensors[0].device
        self._inputs = [
            torch.zeros(shape, dtype=tensor.dtype, device=device, requires_grad=tensor.requires_grad)
            for shape, tensor in zip(shapes, like.tensors, strict=True)
        ]
        self._leaves = [t for t in (*self._inputs, *parameters) if t.requires_grad]
        self._wanted = [t.requires_grad for t in (*self._inputs, *parameters)]
        self._slopes = slopes
        self._traced: tuple[Tensor, ...] = ()
        self.fill(like.tensors)
        # What the warm-ups draw for dropout is given back, so that a run that goes on draws the same.
        with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.enable_grad():
            with recorder.aside(device):
                for _ in range(WARM_UPS):
                    self._pulls = [torch.zeros_like(out) for out in self._forward() if out.requires_grad]
                    self._backward()
            self._forget()
            self._play, self._outputs = recorder.record(lambda: tuple(o.detach() for o in self._forward()))
            self._play_back, self._gradients = recorder.record(self._backward)
        self._after: list[bool] = self._differentiable()
        if recorder.device == "cuda":
            self._forget()  # what the capture kept for the backward pass is the pool's again

    def _forget(self) -> None:
        self._traced = ()

    def _differentiable(self) -> list[bool]:
        return [out.requires_grad for out in self._traced]

    def _forward(self) -> tuple[Tensor, ...]:
        # Autocast keeps the casts of the weights: those of outside must not be used inside, nor the reverse.
        torch.clear_autocast_cache()
        with torch.enable_grad(), self._autocast():
            readouts, attended = self._run(*self._like.rebuild(self._inputs))
        torch.clear_autocast_cache()
        first = () if attended.first is None else (attended.first,)
        self._traced = (readouts, attended.context, attended.weights, *first)
        return self._traced

    def _backward(self) -> tuple[Tensor | None, ...]:
        ends = [out for out in self._traced if out.requires_grad]
        found = torch.autograd.grad(ends, self._leaves, self._pulls, allow_unused=True)
        count = len(found) - len(self._slopes)
        for place, slope in zip(self._slopes, found[count:], strict=True):
            if slope is not None:
                place.copy_(slope)
        shared = zip(self._slopes, found[count:], strict=True)
        return (*found[:count], *(None if slope is None else place for place, slope in shared))

    def fill(self, tensors: Sequence[Tensor]) -> None:
        """Copies a batch into the buffers, zeros around it."""
        with torch.no_grad():
            for buffer, tensor in zip(self._inputs, tensors, strict=True):
                _place(buffer, tensor)

    def forward(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The outputs of a batch: readouts, context, weights [, first]."""
        self.fill(tensors)
        self._play()
        batch, steps = tensors[0].shape[:2]
        places = tensors[1].shape[1]
        found = []
        for place, output in enumerate(self._outputs):
            assert output is not None
            cut = output[:batch, :steps]
            if place == 2 and not self._like.local:
                cut = cut[..., :places]
            found.append(cut.clone())
        return tuple(found)

    def backward(self, tensors: Sequence[tuple[int, ...]], pulls: Sequence[Tensor | None]) -> list[Any]:
        """Gradients of the inputs, of the shapes `tensors`, and of the parameters."""
        needed = [pull for pull, wanted in zip(pulls, self._after, strict=True) if wanted]
        for buffer, pull in zip(self._pulls, needed, strict=True):
            if pull is None:
                buffer.zero_()
            else:
                _place(buffer, pull)
        self._play_back()
        found: list[Any] = []
        gradients = iter(self._gradients)
        for place, wanted in enumerate(self._wanted):
            gradient = next(gradients) if wanted else None
            if gradient is not None and place < len(tensors):
                gradient = gradient[tuple(slice(size) for size in tensors[place])]
            # A copy: the next batch writes into the same place, and an optimiser may not have been here yet.
            found.append(None if gradient is None else gradient.clone())
        return found


def _place(buffer: Tensor, tensor: Tensor) -> None:
    """`tensor` in the first corner of `buffer`, zeros elsewhere."""
    if buffer.shape != tensor.shape:
        buffer.zero_()  # not left as it is: what an overflow left there would be NaN times 0
    buffer[tuple(slice(size) for size in tensor.shape)].copy_(tensor)
