"""Whether everything is right on a GPU, and how fast: checks, training, search, cells side by side.

    python benchmarks/gpu.py --json gpu.json --note benchmarks/gpu.md       # eight minutes at most
    python benchmarks/gpu.py --device cpu --tiny                  # goes through it, measures nothing

Each part is by itself: one that fails, or that does not fit into --minutes any more, is told by name and
stops no other. The exit status is 1 where a part failed. The checkout is needed: the slow oracles are those
of tests/.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import torch
from gpu import checks, forms, note, packing, speed
from gpu.parts import Parts, Rows
from gpu.sizes import GNMT, REF, Size, tiny

from attnlab import compiling

# What is trained: scorer, order, precision, form. What was asked for comes first, for both sizes; `MORE_` is
# for the time that is left.
REF_TRAININGS = [
    ("additive", "post_combine_feeding", "bf16", "cuda_graph"),
    ("additive", "post_combine_feeding", "fp32", "cuda_graph"),
    ("general", "post_combine_feeding", "bf16", "cuda_graph"),
    ("additive", "post_combine", "bf16", "none"),
]
MORE_REF_TRAININGS = [
    ("additive", "post_combine_feeding", "bf16", "none"),
    ("additive", "post_combine_feeding", "tf32", "cuda_graph"),
    ("additive", "post_combine_feeding", "fp32", "none"),
    ("general", "post_combine_feeding", "fp32", "none"),
    ("additive", "post_combine", "fp32", "none"),
    ("general", "post_combine", "bf16", "none"),
    ("additive", "input_feeding", "bf16", "cuda_graph"),
    ("additive", "input_feeding", "bf16", "none"),
]
GNMT_TRAININGS = [
    ("additive", "input_feeding", "bf16", "cuda_graph"),
    ("additive", "input_feeding", "tf32", "cuda_graph"),
]
MORE_GNMT_TRAININGS = [
    ("additive", "input_feeding", "bf16", "none"),
    ("additive", "post_combine", "bf16", "none"),
]
COMPILED = [
    ("additive", "post_combine_feeding", "bf16", "compile"),
    ("additive", "post_combine_feeding", "bf16", "compile_cuda_graph"),
]
# And searched: scorer, order, precision, beam.
REF_SEARCHES = [
    ("additive", "post_combine_feeding", "bf16", 5),
    ("general", "post_combine_feeding", "bf16", 5),
]
GNMT_SEARCHES = [("additive", "input_feeding", "bf16", 5), ("additive", "input_feeding", "tf32", 5)]
MORE_REF_SEARCHES = [
    ("additive", "post_combine_feeding", "tf32", 5),
    ("additive", "post_combine_feeding", "bf16", 1),
]


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Checks and speeds on a GPU.")
    parser.add_argument("--device", default="cuda", help="such as cuda:1; cpu with --tiny")
    parser.add_argument("--minutes", type=float, default=8, help="for all parts together")
    parser.add_argument("--tiny", action="store_true", help="smallest sizes: to try the script")
    parser.add_argument("--json", type=Path, help="write all that was found there")
    parser.add_argument("--note", type=Path, help="write the note there, in Markdown")
    parser.add_argument("--only", help="parts whose names hold these words; the note holds no others")
    parser.add_argument("--cell", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--form", default="none", help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def training(parts: Parts, size: Size, trainings: list[tuple[str, str, str, str]], rows: Rows) -> None:
    """The cells of one size."""
    if parts.tiny:  # a CPU captures nothing
        trainings = [(scorer, order, precision, "none") for scorer, order, precision, _ in trainings[:1]]
    for scorer, order, precision, form in trainings:
        speed.each(
            rows,
            partial(speed.trained, parts, size, scorer, order, precision, form),
            parts,
            90 if "compile" in form else 15,
            **{"size": size.name, "scorer": scorer, "order": order, "precision": precision, "form": form},
        )


def searching(parts: Parts, size: Size, searches: list[tuple[str, str, str, int]], rows: Rows) -> None:
    """The searches of one size."""
    for scorer, order, precision, beam in searches[:1] if parts.tiny else searches:
        speed.each(
            rows,
            partial(speed.searched, parts, size, scorer, order, precision, beam),
            parts,
            12,
            **{"size": size.name, "scorer": scorer, "order": order, "precision": precision, "beam": beam},
        )


def main() -> int:
    """Runs the parts; the status."""
    asked = parsed()
    device = torch.device(asked.device)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            print("no CUDA device is here: --device cpu --tiny goes through the script", file=sys.stderr)
            return 2
        device = torch.device("cuda", device.index or 0)
        torch.cuda.set_device(device)
    if asked.cell is not None:
        packing.cell(asked.cell, device, asked.form, asked.tiny, asked.number)
        return 0
    parts = Parts(asked.minutes, device, asked.tiny)
    parts.after = partial(note.write, parts, asked.json, asked.note)
    ref, gnmt = (tiny(REF), tiny(GNMT)) if asked.tiny else (REF, GNMT)
    plan = [(name, seconds, partial(work, parts)) for name, seconds, work in checks.CHECKS]
    plan += [
        ("captured loops", 20, partial(forms.forms, parts, form="cuda_graph")),
        ("training at ref-512", 35, partial(training, parts, ref, REF_TRAININGS)),
        ("training at 4 x 1024", 40, partial(training, parts, gnmt, GNMT_TRAININGS)),
        ("search at ref-512", 10, partial(searching, parts, ref, REF_SEARCHES)),
        ("search at 4 x 1024", 20, partial(searching, parts, gnmt, GNMT_SEARCHES)),
        ("cells side by side", 40, partial(packing.packed, parts, packing.PACKS)),
        ("more trainings at ref-512", 50, partial(training, parts, ref, MORE_REF_TRAININGS)),
        ("more trainings at 4 x 1024", 30, partial(training, parts, gnmt, MORE_GNMT_TRAININGS)),
        ("more searches at ref-512", 10, partial(searching, parts, ref, MORE_REF_SEARCHES)),
        ("more cells side by side", 40, partial(packing.packed, parts, packing.MORE_PACKS)),
        # Compilers take their time: last.
        ("compiled steps", 90, partial(forms.forms, parts, form="compile")),
        ("training at ref-512, compiled", 60, partial(training, parts, ref, COMPILED)),
    ]
    for name, seconds, work in plan:
        if asked.tiny and name.startswith("more"):
            continue
        if asked.only is None or asked.only in name:
            compiling.precision("highest")  # whatever the part before has set
            parts.run(name, seconds, work)
    failed = [part.name for part in parts.done if part.status == "failed"]
    skipped = [part.name for part in parts.done if part.status == "skipped"]
    print(f"failed: {', '.join(failed) or 'none'}; skipped: {', '.join(skipped) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
