"""Peak memory of the additive score, forward and backward, against the plain formula.

Each measurement is a process of its own, so that its peak resident memory is its own:

    python benchmarks/additive_memory.py --note benchmarks/additive_memory.md
"""

import argparse
import resource
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from statistics import median

import torch
from machine import command, commit, description, versions
from torch import Tensor

from attnlab.attention.funnel import funnel


def plain(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """v' tanh(q + k), all [B, T, S, U] at once, as the formula reads."""
    return torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3)) @ v


def by_query(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """The same one query after another; autograd keeps each tanh."""
    return torch.stack([torch.tanh(q.unsqueeze(-2) + keys) @ v for q in query.unbind(-2)], dim=-2)


def stepwise(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """`funnel` as the orders with feedback call it: one call a decoder step."""
    return torch.cat([funnel(q, keys, v) for q in query.split(1, dim=-2)], dim=-2)


FORMS = {form.__name__: form for form in (plain, by_query, funnel, stepwise)}


def measure(form: str, batch: int, length: int, units: int) -> None:
    """Prints MiB above the inputs and seconds of one forward and backward pass."""
    query, keys = (torch.randn(batch, length, units, requires_grad=True) for _ in range(2))
    v = torch.randn(units, requires_grad=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    FORMS[form](query, keys, v).sum().backward()
    seconds = time.perf_counter() - start
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, seconds)


def ask(
    form: str, batch: int, length: int, units: int, limit: float | None = None
) -> tuple[float, float] | None:
    """`measure` in a process of its own; None where that needs more than `limit` MiB of data."""
    line = f"import additive_memory; additive_memory.measure({form!r}, {batch}, {length}, {units})"
    if limit:
        line = (
            f"import resource; resource.setrlimit(resource.RLIMIT_DATA, ({int(limit * 2**20)},) * 2); {line}"
        )
    command = [sys.executable, "-c", line]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    if done.returncode:
        if limit is None:
            raise SystemExit(done.stderr)
        return None
    first, second = done.stdout.split()
    return float(first), float(second)


def largest(form: str, length: int, units: int, limit: float) -> int:
    """The largest power of two that runs within `limit` MiB as a batch; 0 where none does."""
    batch = 1
    while ask(form, batch, length, units, limit):
        batch *= 2
    return batch // 2


def main() -> None:
    """Measures, prints, and writes the note."""
    parser = argparse.ArgumentParser(description="Peak memory of the additive score.")
    parser.add_argument("--note", type=Path, help="write the table there, in Markdown")
    parser.add_argument("--units", type=int, default=512, help="U")
    parser.add_argument("--limit", type=float, help="MiB of data: also the largest batch in them (long)")
    options = parser.parse_args()
    lines = ["| form | B | S = T | MiB above the inputs | seconds |", "|---|---:|---:|---:|---:|"]
    for batch, length in ((4, 100), (4, 200), (4, 400)):
        for form in FORMS:
            found = [ask(form, batch, length, options.units) or (0.0, 0.0) for _ in range(3)]
            memory, seconds = (median(each) for each in zip(*found, strict=True))
            lines.append(f"| `{form}` | {batch} | {length} | {memory:,.0f} | {seconds:.2f} |")
            print(lines[-1], flush=True)
    told = ""
    if options.limit:
        budget = f"{options.limit:,.0f} MiB of data, PyTorch included"
        told = (
            f" The second table: the\nlargest power of two that runs as a batch at S = T = 400 in {budget}."
        )
        lines += ["", "| form | largest batch |", "|---|---:|"]
        for form in FORMS:
            lines.append(f"| `{form}` | {largest(form, 400, options.units, options.limit)} |")
            print(lines[-1], flush=True)
    if options.note:
        text = f"""# Memory of the additive score

One forward and backward pass in float32, each in a process of its own, the median of three; `plain` is the
formula over all [B, T, S, U], `by_query` one query after another under autograd, `funnel` what
`attnlab.attention` runs (all queries in one call), `stepwise` the same with one call a decoder step.{told}

"""
        facts = "; ".join([str(date.today()), description(torch.get_num_threads()), versions()])
        ending = f"{facts}; commit {commit()}; `{command('additive_memory.py')}`.\n"
        options.note.write_text("\n".join([text + lines[0], *lines[1:], "", ending]), encoding="utf-8")


if __name__ == "__main__":
    main()
