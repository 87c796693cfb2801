"""What one decoder step costs by the length of the source: a local window beside global attention.

    python benchmarks/windows.py --note benchmarks/windows.md [--keep FILE.json] [--only post_combine/general]

Decoder and search are attnlab's own; an encoder that hands out the same states stands in for a real one. Each
number is a slope: the cost of a batch with many target steps less that of one with few, over the difference
in steps. So what happens once a batch (preparing the keys, the gradient of all source states) drops out,
however long the source is; what a step does again over the whole source does not.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from machine import command, commit, description, versions
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from windows_note import BEAM, MEASURES, NOTE, draw, tables

from attnlab import threads
from attnlab.attention import Additive, General, Global, LocalM, LocalP
from attnlab.model import Combine, InputFeeding, PostCombine, PostCombineFeeding, Seq2Seq
from attnlab.search import Search

SIZE, HALF_WIDTH, BATCH, WORDS = 512, 10, 4, 200
LENGTHS = (13, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000)
FEW, MANY, ROUNDS = 5, 25, 5
LONG, MANY_IF_LONG = 500, 205  # from so many source positions on a window's step is lost in its batch's cost
ORDERS = {
    "post_combine": PostCombine,
    "input_feeding": InputFeeding,
    "post_combine_feeding": PostCombineFeeding,
}
SCORERS = {"general": General, "additive": partial(Additive, units=SIZE)}
WINDOWS = {
    "global": Global,
    "local_m": partial(LocalM, half_width=HALF_WIDTH),
    "local_p": partial(LocalP, half_width=HALF_WIDTH),
}
CELLS = [
    f"{order}/{scorer}/{window}"
    for order in ("post_combine", "input_feeding")
    for scorer in SCORERS
    for window in WINDOWS
]


class Given(nn.Module):
    """An encoder whose states are there already."""

    hidden_size, layers = SIZE, 1

    def __init__(self, length: int) -> None:
        super().__init__()
        self.states = nn.Parameter(torch.randn(BATCH, length, SIZE))

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The states, and zeros as the final ones."""
        zeros = self.states.new_zeros(1, BATCH, SIZE)
        return self.states, (zeros, zeros)


class Kept:
    """Bytes of the tensors that a forward pass keeps for the backward pass, each storage once."""

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}

    def pack(self, x: Tensor) -> Tensor:
        """Counts what is saved; the graph keeps it alive."""
        self.sizes[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x.detach()


class Allocated(TorchDispatchMode):
    """Bytes of all tensors that operations give and that no tensor was before."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """One operation."""
        given = {x.untyped_storage().data_ptr() for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)}
        out = func(*args, **(kwargs or {}))
        for x in tree_leaves(out):
            if isinstance(x, Tensor) and x.untyped_storage().data_ptr() not in given:
                self.total += x.untyped_storage().nbytes()
        return out


def model(order: str, scorer: str, window: str, length: int) -> Seq2Seq:
    """A cell with parameters of the usual size."""
    torch.manual_seed(1)
    return Seq2Seq(
        WORDS,
        WORDS,
        encoder=lambda input_size: Given(length),
        decoder=partial(ORDERS[order], hidden_size=SIZE),
        readout=Combine,
        scorer=SCORERS[scorer],
        window=WINDOWS[window],
        hidden_size=SIZE,
        embedding_size=64,
    )


def forward(cell: Seq2Seq, length: int, steps: int) -> Tensor:
    """The readouts of one batch."""
    lengths = torch.full((BATCH,), length)
    target = torch.randint(4, WORDS, (BATCH, steps))
    return cell(torch.ones(BATCH, length, dtype=torch.int64), lengths, target).readouts


def train(cell: Seq2Seq, length: int, steps: int) -> None:
    """One batch, forward and backward."""
    forward(cell, length, steps).sum().backward()
    cell.zero_grad()


def search(cell: Seq2Seq, length: int, steps: int) -> None:
    """One batch, every hypothesis forced to so many steps."""
    find = Search(beam_size=BEAM, min_length=steps - 1, max_length=steps)
    find(cell, torch.ones(BATCH, length, dtype=torch.int64), torch.full((BATCH,), length), end=3)


def slope(of: Callable[[int], float], many: int, rounds: int) -> float:
    """The rise of a cost from one step to the next: medians of rounds in turn, after one to warm up."""
    found: dict[int, list[float]] = {FEW: [], many: []}
    for again in range(rounds + 1):
        for steps, values in found.items():
            value = of(steps)
            if again:
                values.append(value)
    return (median(found[many]) - median(found[FEW])) / (many - FEW)


def measure(cell: str, kind: str, length: int) -> float:
    """One number: ms or MiB a step."""
    made = model(*cell.split("/"), length)
    attention = made.decoder.attention
    local = attention is not None and attention.window.local
    counted = kind in ("memory", "allocated")
    many = MANY_IF_LONG if local and length >= LONG and not counted else MANY
    run = partial({"forward": forward, "search": search, "allocated": search}.get(kind, train), made, length)

    def seconds(steps: int) -> float:
        began = time.perf_counter()
        run(steps)
        return time.perf_counter() - began

    def kept(steps: int) -> int:
        seen = Kept()
        with torch.autograd.graph.saved_tensors_hooks(seen.pack, lambda x: x):
            run(steps)
        return sum(seen.sizes.values())

    def allocated(steps: int) -> int:
        with Allocated() as seen:
            run(steps)
        return seen.total

    if counted:
        count = kept if kind == "memory" else allocated
        return (count(many) - count(FEW)) / (many - FEW) / 2**20
    return slope(seconds, many, ROUNDS) * 1e3


def main() -> None:
    """Measures what is not kept yet, prints it, and writes the note."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--note", type=Path, help="write the tables there, and the figure beside it as .svg")
    parser.add_argument("--keep", type=Path, help="numbers of earlier calls; new ones are added")
    parser.add_argument("--only", default="", help="measure the cells that begin so: ORDER/SCORER/WINDOW")
    parser.add_argument("--measures", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS), help="S; 50 must be there")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="measure what is kept, too")
    asked = parser.parse_args()
    threads.set_up(asked.threads)
    found: dict[str, float] = {}
    if asked.keep and asked.keep.exists():
        found = json.loads(asked.keep.read_text(encoding="utf-8"))
    for cell in CELLS:
        for kind in asked.measures:
            for length in asked.lengths:
                key = f"{cell} {kind} {length}"
                if cell.startswith(asked.only) and (asked.again or key not in found):
                    found[key] = measure(cell, kind, length)
                    print(f"{key}: {found[key]:.3f}", flush=True)
                    if asked.keep:
                        asked.keep.write_text(json.dumps(found, indent=0), encoding="utf-8")
    if asked.note:
        wanted = [(f"{cell} {kind} {s}", cell) for cell in CELLS for kind in MEASURES for s in asked.lengths]
        lacking = {cell for key, cell in wanted if key not in found}
        cells = [cell for cell in CELLS if cell not in lacking]
        figure = asked.note.with_suffix(".svg")
        draw(found, asked.lengths, cells, figure)
        text = NOTE.format(
            batch=BATCH,
            size=SIZE,
            half=HALF_WIDTH,
            threads=asked.threads,
            few=FEW,
            long=LONG,
            long_many=MANY_IF_LONG,
            many=MANY,
            figure=figure.name,
            tables="\n".join(tables(found, asked.lengths, cells)),
            day=f"{datetime.now(UTC):%Y-%m-%d}",
            commit=commit(),
            machine=description(asked.threads),
            versions=versions(),
            command=command("windows.py"),
        )
        asked.note.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
