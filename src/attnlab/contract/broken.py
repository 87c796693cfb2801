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
from torch.nn.parameter import is_lazy

H, K = 8, 12  # unequal, and multiples of 4: some scorers split their states

#: every name that a fault can have, each told in docs/own_parts.md
NAMES = [
    "no mask",
    "wrong axis",
    "wrong shape",
    "wrong place",
    "wrong type",
    "states ignored",
    "query ignored",
    "scores ignored",
    "gradients",
    "empty sentence",
    "not finite",
    "state kept",
    "in place",
    "half precision",
    "device",
    "max_length",
    "sizes",
    "work at every step",
    "nothing inside",
    "wide",
    "sum",
    "interface",
    "error",
]


class Broken(Exception):
    """One clause of the contract that does not hold.

    Args:
        name: of the clause, one of NAMES, as `no mask`.
        where: the method or the attribute, as `forward`.
        what: what was seen.
        remedy: what to do about it.
    """

    def __init__(self, name: str, where: str, what: str, remedy: str) -> None:
        assert name in NAMES, name
        super().__init__(" ".join(f"{name}: {where}: {what}; {remedy}".split()))  # one line
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

        All that is random about it starts from one seed. Noise is added to each parameter: a first value of 0
        would hide what depends on it. It is N(0, 1) / (2 sqrt(n)), n the larger side of the matrix: a sum of
        n products then moves by about half of one product, whatever n is, as the constructors of torch have
        it. A parameter of positive values alone is multiplied instead, by exp of the noise: it may stand
        under a root or a logarithm, or be what is divided by.

        Raises:
            Broken: its parameters have no sizes yet.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            module = self.make(*sizes)
            for name, parameter in module.named_parameters():
                known = not is_lazy(parameter)
                what, fix = "has no size until the first batch", "make it in __init__, with its sizes"
                need(known, "interface", f"{self.title}.{name}", what, fix)
            module = module.double()
            with torch.no_grad():
                for parameter in module.parameters():
                    if not parameter.is_floating_point():
                        continue
                    noise = torch.randn_like(parameter) / (2 * max([1, *parameter.shape]) ** 0.5)
                    positive = bool((parameter > 0).all())
                    parameter.copy_(parameter * noise.exp() if positive else parameter + noise)
        return module


def told(error: BaseException) -> str:
    """An error of somebody else's code in one line, with the last place in a file that is not torch's."""
    words = str(error).strip().splitlines()
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg} ({Path(error.filename).name}, line {error.lineno})"
    line = f"{type(error).__name__}: {words[0]}" if words else type(error).__name__
    theirs = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "torch" not in Path(frame.filename).parts
        and Path(__file__).parent != Path(frame.filename).parent
        and not frame.filename.startswith("<")
    ]
    return f"{line} ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else line


def of_shapes(error: BaseException) -> bool:
    """Whether an error's words are of sizes and axes."""
    words = ("size", "shape", "dim", "subscript", "axis", "stack expects")
    return not isinstance(error, SystemExit) and any(word in str(error).lower() for word in words)


@contextmanager
def failing(name: str, where: str, on: str, remedy: str) -> Iterator[None]:
    """An error of the subject's inside becomes `Broken`: `where` fails on `on`."""
    try:
        yield
    except Broken:
        raise
    except (Exception, SystemExit) as error:
        if "not implemented for" in str(error):
            remedy = "compute this part in float32"
        if name == "wrong shape" and not of_shapes(error):
            name, remedy = "error", "see what raised it"
        raise Broken(name, where, f"fails on {on}: {told(error)}", remedy) from error


def shape(tensor: Any) -> str:
    """`[3, 5, 7]`, or what it is when it is no tensor."""
    return str(list(tensor.shape)) if isinstance(tensor, Tensor) else f"a {type(tensor).__name__}"
