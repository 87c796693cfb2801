"""Where a training update spends its time: its matrix products by shape, and all that is no product.

    python benchmarks/update.py --note benchmarks/update.md [--configs ORDER/SCORER,...]

Updates of ref-512 on one batch of Multi30k's mean lengths under PyTorch's profiler. The profiler's own cost
is left out: the whole is what an update takes without it, operations are what it saw, and the rest is Python
and autograd between them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from machine import command, commit, description, peak, versions, wait_for_quiet, words
from peers import Setting
from searching import random_model
from torch.profiler import ProfilerActivity, profile

from attnlab import threads
from attnlab.data import Batch
from attnlab.training import clip, summed_loss

SOURCE, TARGET = 12, 13
"""Positions of the batch: the mean of Multi30k's German-English batches of 64 pairs."""
WORDS = (7_855, 5_917)
KINDS = {
    "matrix products": ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"),
    "the library's recurrent layers": ("aten::mkldnn_rnn_layer", "aten::mkldnn_rnn_layer_backward"),
    "optimiser, clipping": ("aten::_fused_adam_", "aten::linalg_vector_norm", "aten::_foreach_norm"),
    "casts, copies, joins": (
        "aten::copy_",
        "aten::cat",
        "aten::fill_",
        "aten::zero_",
        "aten::constant_pad_nd",
    ),
}
POINTWISE, REST = "other operations", "Python and autograd in between"
SHOWN = 8
"""Shapes of products with a row of their own."""


def updates(setting: Setting, precision: str) -> Callable[[], None]:
    """A training update, to be called: the objective and the clipping of `attnlab train`."""
    model = random_model(setting, WORDS).train()
    model.dropout.p = setting.dropout
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    source = torch.randint(4, WORDS[0], (setting.sentences, SOURCE))
    target = torch.randint(4, WORDS[1], (setting.sentences, TARGET))
    lengths = (torch.full((setting.sentences,), length) for length in (SOURCE, TARGET))
    rows, (source_lengths, target_lengths) = torch.arange(setting.sentences), lengths
    batch = Batch(rows, source, source_lengths, target, target_lengths)

    def update() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = summed_loss(model, batch) / target.numel()
        loss.backward()
        clip(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()

    return update


def wall(update: Callable[[], None], rounds: int) -> float:
    """Milliseconds of an update, the fastest of the rounds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        update()
        best = min(best, time.perf_counter() - began)
    return best * 1e3


def operations(update: Callable[[], None], rounds: int) -> list[tuple[str, Any, int, float]]:
    """Name, shapes, calls and milliseconds by itself of each operation of an update, its fastest round."""
    seen: list[dict[tuple[str, str], tuple[Any, int, float]]] = []
    for _ in range(rounds):
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as watched:
            update()
        found = {}
        for event in watched.key_averages(group_by_input_shape=True):
            if event.key.startswith("aten::"):
                key = event.key, str(event.input_shapes)
                found[key] = event.input_shapes, event.count, event.self_cpu_time_total / 1e3
        seen.append(found)
    return [
        (name, shapes, count, min(one[name, text][2] for one in seen if (name, text) in one))
        for (name, text), (shapes, count, _) in seen[-1].items()
    ]


def work(name: str, shapes: Any, count: int) -> float:
    """GFLOP of products [.., m, k] x [.., k, n]; `addmm` and `baddbmm` have what they add before them."""
    left, right = shapes[1:3] if "add" in name else shapes[:2]
    batch = left[0] if len(left) == 3 else 1
    return float(2 * batch * left[-2] * left[-1] * right[-1] * count / 1e9)


def table(setting: Setting, precision: str, top: float, rounds: int) -> list[str]:
    """One configuration: time by kind, and its products by shape."""
    update = updates(setting, precision)
    whole = wall(update, rounds)
    found = operations(update, rounds)
    whole = min(whole, wall(update, rounds))
    times = dict.fromkeys(KINDS, 0.0) | {POINTWISE: 0.0}
    for name, _, _, spent in found:
        times[next((kind for kind, names in KINDS.items() if name in names), POINTWISE)] += spent
    times[REST] = max(0.0, whole - sum(times.values()))
    tokens = setting.sentences * TARGET
    speed = f"{tokens / whole * 1e3:,.0f} tokens a second"
    lines = [f"## {setting.name}, {precision}", ""]
    lines += [f"{whole:.0f} ms an update of {tokens} target tokens, {speed}.", ""]
    lines += ["| | ms | share |", "|---|---:|---:|"]
    lines += [f"| {kind} | {spent:.1f} | {spent / whole:.0%} |" for kind, spent in times.items()]
    lines += ["", "| product | calls | ms | GFLOP/s | of peak |", "|---|---:|---:|---:|---:|"]

    def row(label: str, calls: int, spent: float, done: float) -> str:
        rate = done / spent * 1e3
        return f"| {label} | {calls} | {spent:.1f} | {rate:,.0f} | {rate / top:.0%} |"

    made = sorted((each for each in found if each[0] in KINDS["matrix products"]), key=lambda each: -each[3])
    for name, shapes, calls, spent in made[:SHOWN]:
        pair = shapes[1:3] if "add" in name else shapes[:2]
        lines.append(row(" x ".join(map(str, pair)), calls, spent, work(name, shapes, calls)))
    done = sum(work(name, shapes, calls) for name, shapes, calls, _ in made)
    return [*lines, row("all", sum(each[2] for each in made), times["matrix products"], done), ""]


NOTE = """# Where a training update spends its time

ref-512, {sentences} pairs of {source} source and {target} target tokens, the same again and again in one
process; {rounds} rounds, the fastest of each number. Matrix product of large squares: {peaks}.

{tables}
{day}; {machine}; {versions}; commit {commit}; `{command}`.
"""


def main() -> None:
    """Measures, prints, and writes the note."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    orders = ("post_combine_feeding", "post_combine")
    every = ",".join(f"{order}/{scorer}" for order in orders for scorer in ("additive", "general"))
    parser.add_argument("--configs", type=words, default=every, help="ORDER/SCORER, with commas between")
    parser.add_argument("--precisions", type=words, default="fp32,bf16")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quiet", type=float, default=60, help="seconds to wait for a quiet machine")
    parser.add_argument("--note", type=Path, help="write the tables there")
    asked = parser.parse_args()
    try:
        settings = [Setting.parse(name, asked.threads) for name in asked.configs]
    except ValueError as error:
        parser.error(str(error))
    threads.set_up(asked.threads)
    wait_for_quiet(asked.quiet)
    tops = {each: peak(each, asked.threads) for each in asked.precisions}
    lines: list[str] = []
    for setting in settings:
        for precision, top in tops.items():
            made = table(setting, precision, top, asked.rounds)
            print("\n".join(made), flush=True)
            lines += made
    if asked.note:
        text = NOTE.format(
            sentences=Setting().sentences,
            source=SOURCE,
            target=TARGET,
            rounds=asked.rounds,
            peaks="; ".join(f"{name} {top:,.0f} GFLOP/s" for name, top in tops.items()),
            tables="\n".join(lines),
            day=f"{datetime.now(UTC):%Y-%m-%d}",
            machine=description(asked.threads),
            versions=versions(),
            commit=commit(),
            command=command("update.py"),
        )
        asked.note.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
