"""How a model's steps are run on a device: as they stand, compiled, or captured; and in which precision.

| `trainer.compile` | the step of the orders with feedback | needs |
|---|---|---|
| `none` | as PyTorch runs it | nothing |
| `compile` | through `torch.compile`, which joins small kernels | a C++ compiler; on a GPU Triton |
| `cuda_graph` | the loop over all steps launched at once (`captured.py`) | one CUDA device |
| `compile_cuda_graph` | both | both |

All but `none` are for training: search, validation and test run the step as it stands, so a trained model
needs none of it. The orders without feedback have no loop over steps, and nothing changes for them. Under a
local window `compile` leaves the step as it is: the rows that it picks share one gradient, which the compiler
does not follow; a captured loop has no such limit.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnlab.attention import Memory, gathering
from attnlab.captured import Captured, Recorder
from attnlab.errors import UserError
from attnlab.model import DecoderState

log = logging.getLogger(__name__)

RECOMPILE_LIMIT = 64
"""Forms of one step that are compiled before the step runs as it stands: first, second and later steps, each
with and without autocast, for one sentence and for more."""


class Form(NamedTuple):
    """What is done to the loop."""

    compiled: bool
    captured: bool


FORMS = {
    "none": Form(compiled=False, captured=False),
    "compile": Form(compiled=True, captured=False),
    "cuda_graph": Form(compiled=False, captured=True),
    "compile_cuda_graph": Form(compiled=True, captured=True),
}
PRECISIONS = ("highest", "high", "medium")


def form(name: str) -> Form:
    """The form of that name.

    Raises:
        UserError: there is none.
    """
    if name not in FORMS:
        raise UserError(f"trainer.compile={name}: must be one of {', '.join(FORMS)}")
    return FORMS[name]


def check_precision(name: str) -> None:
    """Refuses what is no precision of float32 products.

    Raises:
        UserError: it is none.
    """
    if name not in PRECISIONS:
        raise UserError(f"trainer.matmul_precision={name}: must be one of {', '.join(PRECISIONS)}")


def precision(name: str) -> None:
    """How float32 products are computed, in this process: `highest` is float32 throughout.

    `high` is TF32 on GPUs that have it, `medium` bfloat16 inside. cuDNN's recurrent layers go with it: they
    may use TF32 by PyTorch's default, where its own products may not.
    """
    check_precision(name)
    torch.set_float32_matmul_precision(name)
    torch.backends.cudnn.allow_tf32 = name != "highest"


def check(name: str, device: torch.device, world: int = 1) -> None:
    """Refuses a form that cannot run here.

    Args:
        name: of the form.
        device: where the model is trained.
        world: processes of the run.

    Raises:
        UserError: what is missing, and what to do.
    """
    wanted = form(name)
    if wanted.captured and device.type != Recorder.device:
        raise UserError(
            f"trainer.compile={name} captures CUDA graphs, but the run is on {device.type}: "
            "use trainer.compile=none"
        )
    if wanted.captured and world > 1:
        raise UserError(
            f"trainer.compile={name} is for one device, but the run has {world}: use trainer.compile=compile"
        )
    lacking = _lacking(device) if wanted.compiled else None
    if lacking is not None:
        raise UserError(f"trainer.compile={name} on {device.type} needs {lacking}, or trainer.compile=none")


def _lacking(device: torch.device) -> str | None:
    """What torch.compile has not got on this machine."""
    if device.type == "cuda":
        if find_spec("triton") is None:
            return "the package triton, which is not installed: pip install triton"
        compilers, named = ["gcc", "clang", "cc"], os.environ.get("CC")
    else:
        compilers, named = ["clang++" if sys.platform == "darwin" else "g++"], os.environ.get("CXX")
    tried = [named] if named else compilers
    if not any(shutil.which(command) for command in tried):
        return f"a compiler, and {' or '.join(tried)} is not on the PATH: install it (apt install g++)"
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        return "Python.h, which is not here: install Python's headers (apt install python3-dev)"
    return None


def apply(
    decoder: Any, name: str, *, backend: str = "inductor", recorder: Recorder | None = None
) -> Captured | None:
    """Has a decoder's loop run in a form; parameters and checkpoints stay as they are.

    Args:
        decoder: a `Decoder`; one that has no `advance` has no loop, and is left alone.
        name: of the form.
        backend: of `torch.compile`.
        recorder: how a loop is captured.

    Returns:
        The captured loop, where there is one.
    """
    wanted = form(name)
    if not hasattr(decoder, "advance"):
        if wanted != FORMS["none"]:
            log.info("trainer.compile=%s: this decoder order has no loop over steps, nothing to do", name)
        return None
    if wanted.compiled:
        decoder.advance = _compiled(decoder.advance, backend)
        decoder.forward = _plainly(decoder.forward)
    if not wanted.captured:
        return None
    captured = Captured(decoder, recorder=recorder)
    decoder.forward = captured
    return captured


def _compiled(advance: Callable[..., Any], backend: str) -> Callable[..., Any]:
    """One step through `torch.compile` where gradients are wanted, as it stands elsewhere and in a window."""
    import torch._dynamo

    settings: Any = torch._dynamo.config
    settings.allow_rnn = True  # the module that holds the weights is an nn.LSTM; it is not called
    settings.recompile_limit = max(settings.recompile_limit, RECOMPILE_LIMIT)
    made: Callable[..., Any] = torch.compile(advance, backend=backend, dynamic=True)

    def stepped(gates: Tensor, state: DecoderState, memory: Memory) -> Any:
        compiled = torch.is_grad_enabled() and memory.picks is None
        return (made if compiled else advance)(gates, state, memory)

    return stepped


def _plainly(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The loop with weights that are ordinary parameters, which is what `torch.compile` reads."""

    def run(embedded: Tensor, memory: Memory, state: DecoderState) -> Any:
        with gathering.plain() if memory.picks is None else nullcontext():
            return forward(embedded, memory, state)

    return run
