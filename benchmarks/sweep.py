"""What a sweep costs beside its training: the local launcher, joblib and Hydra's basic launcher, in one run.

    python benchmarks/sweep.py [--cells 24] [--note benchmarks/sweep.md]

Every cell is short and on the generated language; its encoder notes when its process was born, when it took
its first training step and when it ended (timed_encoder.py). joblib is a dependency of this script alone:
`pip install hydra-joblib-launcher`; what is not installed is skipped. Linux only.
"""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
SLOTS = 2
LAUNCHERS = {
    "local": ("", SLOTS, [f"hydra.launcher.slots={SLOTS}", "hydra.launcher.threads=1"]),
    "joblib": ("hydra_plugins.hydra_joblib_launcher", SLOTS, [f"hydra.launcher.n_jobs={SLOTS}"]),
    "basic": ("", 1, []),
}
GRID = ["scorer=dot,general,additive", "decoder=post_combine,input_feeding"]
CELL = [
    *("data.train_pairs=3000", "data.val_pairs=50", "data.test_pairs=50", "data.max_words=20"),
    *("data.vocabulary=100", "trainer.max_epochs=2", "trainer.accelerator=cpu", "encoder=timed"),
    *("encoder.hidden_size=32", "decoder.hidden_size=32", "model.embedding_size=32", "logger=none"),
    *("metrics.bootstrap.samples=0", "search=greedy"),
]
ENCODER = """# @package _global_
encoder:
  _target_: timed_encoder.Timed
  _partial_: true
  hidden_size: 32
  cell: lstm
  layers: 1
  bidirectional: true
  reverse: false
  dropout: 0.0
"""


def installed(module: str) -> bool:
    try:
        return not module or importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def sweep(name: str, cells: int, place: Path) -> dict[str, float]:
    """One sweep by one launcher; times in seconds.

    Raises:
        SystemExit: it failed.
    """
    _, slots, options = LAUNCHERS[name]
    folder, notes = place / name, place / f"{name}.jsonl"
    folder.mkdir()
    seeds = ",".join(str(seed) for seed in range(1, cells // 6 + 1))
    line = [f"hydra/launcher={name}", *options, *GRID, f"seed={seeds}", *CELL]
    began, load = time.time(), os.getloadavg()[0]
    done = subprocess.run(
        [sys.executable, "-m", "attnlab.cli", "train", "-m", *line, "--config-dir", str(place / "conf")],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [str(HERE), str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")]
            ),
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "ATTNLAB_CACHE": str(place / "cache"),
            "TIMED_NOTES": str(notes),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    took = time.time() - began
    if done.returncode:
        raise SystemExit(f"{name} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    times = [json.loads(text) for text in notes.read_text().splitlines()]
    if len(times) != cells:
        raise SystemExit(f"{name}: {len(times)} cells noted their times, not {cells}")
    first, last = min(one["born"] for one in times), max(one["end"] for one in times)
    room = slots * (last - first)
    busy = sum(one["end"] - one["born"] for one in times)
    starts = [one["step"] - one["born"] for one in times]
    return {
        "slots": slots,
        "took": took,
        "before": first - began,
        "start": median(starts),
        "slowest": max(starts),
        "work": median(one["end"] - one["step"] for one in times),
        "idle": (room - busy) / cells,
        "occupied": busy / room,
        "training": sum(one["end"] - one["step"] for one in times) / room,
        "load": mean([load, os.getloadavg()[0]]),
    }


def table(found: dict[str, dict[str, float]]) -> list[str]:
    heads = [
        *("launcher", "slots", "whole command", "before the first cell"),
        *("launch to first step, median", "largest", "first step to end, median"),
        *("slot idle, a cell", "slots occupied", "slots past the first step", "load"),
    ]
    rows = [
        [
            name,
            f"{one['slots']:.0f}",
            *(f"{one[key]:.1f} s" for key in ("took", "before", "start", "slowest", "work")),
            f"{one['idle']:.2f} s",
            f"{one['occupied']:.1%}",
            f"{one['training']:.1%}",
            f"{one['load']:.1f}",
        ]
        for name, one in found.items()
    ]
    return ["| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *rows]]


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cells", type=int, default=24, help="a multiple of 6")
    parser.add_argument("--note", type=Path, help="write the outcome here, too")
    asked = parser.parse_args()
    if asked.cells < 6 or asked.cells % 6:
        parser.error(f"--cells={asked.cells}: a multiple of 6")
    found, skipped = {}, []
    with TemporaryDirectory() as nowhere:
        place = Path(nowhere)
        (place / "conf" / "encoder").mkdir(parents=True)
        (place / "conf" / "encoder" / "timed.yaml").write_text(ENCODER)
        for name, (module, *_) in LAUNCHERS.items():
            if installed(module):
                found[name] = sweep(name, asked.cells, place)
                print(
                    name, json.dumps({key: round(value, 3) for key, value in found[name].items()}), flush=True
                )
            else:
                skipped.append(name)
    packages = ["torch", "pytorch-lightning", "hydra-core", "hydra-joblib-launcher"]
    versions = [f"{name} {version(name)}" for name in packages if name[6:12] != "joblib" or "joblib" in found]
    command = f"python benchmarks/sweep.py --cells {asked.cells}"
    lines = [
        "# What a sweep costs beside its training",
        "",
        f"{asked.cells} cells on the generated language, one thread each, the same cells under each launcher,"
        " one sweep after the other in one run.",
        "",
        *table(found),
        *(["", f"Not installed: {', '.join(skipped)}."] if skipped else []),
        "",
        "- **Launch to first step**: from the birth of a cell's process to its first training batch: Python,"
        " imports, the check of its configuration, data, model.",
        "- **Slot idle**: what is left of slots x (last end - first birth) beside the cells' processes, by"
        " cell; the sweep's last cells, when a slot has nothing more to do, are in it.",
        "- **Occupied** is the share of slots x time in which there was a cell's process, the next column"
        " that in which it had begun to train, its test included.",
        "- Under joblib and the basic launcher too each cell is a process of its own (docs/architecture.md)."
        " The basic launcher has one slot.",
        "- **Load**: the machine's 1-minute load average, mean of begin and end of that sweep; well above the"
        " slots, other programs took the cores, and times are longer than they would be alone.",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}; {os.cpu_count()} cores ({processor()}), {platform.system()}"
        f" {platform.release()}; Python {platform.python_version()}, {', '.join(versions)}; `{command}`.",
    ]
    print("\n".join(lines))
    if asked.note is not None:
        asked.note.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
