"""What the checks hand over: who is checked, and the clause that does not hold."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

H, K = 8, 12  # unequal, and multiples of 4: some scorers split their states


class Broken(Exception):
    """One clause of the contract that does not hold.

    Args:
        name: of the clause, as `no mask`.
        where: the method or the attribute, as `forward`.
        what: what was seen.
        remedy: what to do about it.
    """

    def __init__(self, name: str, where: str, what: str, remedy: str) -> None:
        super().__init__(f"{name}: {where}: {what}; {remedy}")
        self.name, self.where, self.what, self.remedy = name, where, what, remedy


def need(holds: Any, name: str, where: str, what: str, remedy: str) -> None:
    """Raise `Broken` unless it holds."""
    if not holds:
        raise Broken(name, where, what, remedy)


@dataclass
class Subject:
    """An outside scorer or window.

    Attributes:
        title: as its user named it, `mymodule:MyScorer`.
        make: from its sizes to a module: (query_dim, key_dim) of a scorer, (query_dim,) of a window.
        module: one of them in float64, its parameters not where its constructor left them.
        sizes: H and K of `module`; equal where it takes no others.
    """

    title: str
    make: Callable[..., nn.Module]
    module: Any = None
    sizes: tuple[int, int] = (H, K)

    def again(self, *sizes: int) -> Any:
        """Another one, of the same first values where the sizes are the same.

        All that is random about it starts from one seed, and noise is added to each parameter: a first value
        of 0 would hide what depends on it.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            module = self.make(*sizes).double()
            with torch.no_grad():
                for parameter in module.parameters():
                    parameter.add_(torch.randn_like(parameter) / 2)
        return module


def told(error: BaseException) -> str:
    """An error of somebody else's code in one line, with the last place in a file that is not torch's."""
    words = str(error).strip().splitlines()
    line = f"{type(error).__name__}: {words[0]}" if words else type(error).__name__
    theirs = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "torch" not in Path(frame.filename).parts and Path(__file__).parent != Path(frame.filename).parent
    ]
    return f"{line} ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else line


@contextmanager
def failing(name: str, where: str, on: str, remedy: str) -> Iterator[None]:
    """An error of the subject's inside becomes `Broken`: `where` fails on `on`."""
    try:
        yield
    except Broken:
        raise
    except Exception as error:
        raise Broken(name, where, f"fails on {on}: {told(error)}", remedy) from error


def shape(tensor: Any) -> str:
    """`[3, 5, 7]`, or what it is when it is no tensor."""
    return str(list(tensor.shape)) if isinstance(tensor, Tensor) else f"a {type(tensor).__name__}"


def registered(subject: Subject) -> None:
    """No tensor and no module hides from torch in a plain attribute, a list or a dict."""
    for module in subject.module.modules():
        for name, value in vars(module).items():
            if name in ("_parameters", "_buffers", "_modules"):
                continue
            held = list(value.values()) if isinstance(value, dict) else value
            parts = held if isinstance(held, list | tuple) else [held]
            lost = any(isinstance(part, Tensor | nn.Module) for part in parts)
            what = "is no parameter, no buffer and no part: not trained, not saved, not moved to a GPU"
            fix = "use nn.Parameter, register_buffer or nn.ModuleList"
            need(not lost, "gradients", f"{subject.title}.{name}", what, fix)
