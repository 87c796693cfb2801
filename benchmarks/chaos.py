"""A sweep of small cells under random kills, against the same sweep left alone.

    python benchmarks/chaos.py [--kills 50] [--minutes 15] [--cells 12] [--seed 1] [--note NOTE.md]

At random moments, four in five of them counted from when a cell has begun to work, a signal goes to the
launcher, to one of the cells' processes, to any process of the sweep (the guard, the rehearsal, a launcher
still planning) or, SIGKILL alone, to all of them at once. Whenever the launcher has ended, the same command
starts it again. When the kills or the minutes are used up, it is left to end. Then every cell is compared
with that of the undisturbed sweep: record less time and cost, log, translations and weights must be equal,
bit for bit.

Linux only: processes are found in /proc.
"""

import argparse
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "chaos"), str(HERE.parent / "src")]

import torch  # noqa: E402 - the path first
from disturbed import Sweep, comparable, differences, record  # noqa: E402

from attnlab.sweep import state  # noqa: E402

# What is aimed at, how often, and with what.
AIMS = {"launcher": 4, "cell": 5, "any process": 2, "all at once": 2}
SIGNALS = {signal.SIGKILL: 3, signal.SIGTERM: 2, signal.SIGINT: 1}
PAUSE = (0.0, 8.0)  # seconds between two kills
AT_WORK = 0.8  # of the kills wait for a cell that holds its folder: a short sweep spends its time planning

# 160 updates of a tenth of a second: a cell that is hit a few times before its end.
LONGER = [
    *("trainer.max_epochs=40", "trainer.check_val_every_n_epoch=5", "callbacks.patience=null"),
    "callbacks.save_every=2",
]


def pick(weights: dict, chance: random.Random):
    return chance.choices(list(weights), list(weights.values()))[0]


def cells(sweep: Sweep) -> list[int]:
    """The processes that train."""
    found = []
    for process in sweep.processes():
        with suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            if b"attnlab.train" in words and b"hydra.mode=RUN" in words:
                found.append(process)
    return found


def doing(sweep: Sweep) -> list[str]:
    """What the running cells are at."""
    running = [folder for folder in sweep.runs() if state.held(folder)]
    return [(state.progress(folder) or {}).get("phase", "starting") for folder in running]


def strike(sweep: Sweep, launcher: subprocess.Popen[bytes], chance: random.Random) -> str | None:
    """One kill, in words; None where there was nothing to hit."""
    aim, number = pick(AIMS, chance), pick(SIGNALS, chance)
    if aim == "all at once":
        sweep.kill_all()
        return f"{aim}: SIGKILL"
    targets = {
        "launcher": lambda: [launcher.pid],
        "cell": lambda: cells(sweep),
        "any process": sweep.processes,
    }
    found = targets[aim]()
    if not found:
        return None
    with suppress(ProcessLookupError):
        os.kill(chance.choice(found), number)
        return f"{aim}: {signal.Signals(number).name}"
    return None


def disturb(sweep: Sweep, kills: int, until: float, chance: random.Random) -> tuple[Counter, Counter, int]:
    """Runs a sweep to its end in spite of it all: kills by kind, phases they met, starts."""
    told, phases, starts = Counter(), Counter(), 0
    while True:
        launcher = sweep.start()
        starts += 1
        while launcher.poll() is None:
            left = time.monotonic() < until and told.total() < kills
            patient = left and chance.random() < AT_WORK
            while patient and launcher.poll() is None and not doing(sweep):
                time.sleep(0.1)
            with suppress(subprocess.TimeoutExpired):
                launcher.wait(chance.uniform(*PAUSE) if left else 1.0)
            if launcher.poll() is None and left:
                at = doing(sweep)
                struck = strike(sweep, launcher, chance)
                if struck is not None:
                    told[struck] += 1
                    phases.update(at or ["none running"])
                    print(f"{told.total()}: {struck}; cells at {', '.join(at) or 'none'}", flush=True)
        print(f"start {starts} ended with {launcher.returncode}", flush=True)
        if launcher.returncode == 0:
            return told, phases, starts
        if not (time.monotonic() < until and told.total() < kills) and starts > 2 * kills + 10:
            raise SystemExit(f"it does not come to its end:\n{sweep.words()}")


def compare(quiet: Sweep, disturbed: Sweep) -> tuple[list[str], int]:
    """What is not as it would have been, a line each; and how often a cell went on from a checkpoint."""
    names = {folder.relative_to(quiet.top): folder for folder in quiet.runs()}
    there = {folder.relative_to(disturbed.top): folder for folder in disturbed.runs()}
    faults = [f"{name}: in one of the sweeps only" for name in sorted(names.keys() ^ there.keys())]
    taken_up = 0
    for name in sorted(names.keys() & there.keys()):
        found = differences(comparable(there[name]), comparable(names[name]))
        faults += [f"{name}: {line}" for line in found]
        taken_up += len(record(there[name])["train"]["resumed_at"])
    faults += [f"process {process} is left" for process in disturbed.processes()]
    faults += [f"left: {path}" for path in disturbed.top.rglob(".partial-*")]
    return faults, taken_up


def sweeps(place: Path, cells: int) -> list[Sweep]:
    """The two, in folders of their own."""
    made = []
    for name, options in (("quiet", []), ("disturbed", ["hydra.launcher.grace=5"])):
        shutil.rmtree(place / name, ignore_errors=True)
        made.append(
            Sweep(
                place / name,
                [{"scorer": "calm", "scorer.units": list(range(1, cells + 1))}],
                LONGER,
                ["hydra.launcher.slots=2", *options],
                CHAOS_STEP="0.1",
            )
        )
    return made


def run(asked: argparse.Namespace, place: Path) -> tuple[list[str], bool]:
    """Both sweeps: the outcome in lines, and whether all is as it should be."""
    quiet, disturbed = sweeps(place, asked.cells)
    began = time.monotonic()
    try:
        if quiet.start().wait() != 0:
            raise SystemExit(f"the undisturbed sweep failed:\n{quiet.words()}")
        alone, began = time.monotonic() - began, time.monotonic()
        until = began + 60 * asked.minutes
        told, phases, starts = disturb(disturbed, asked.kills, until, random.Random(asked.seed))
        took = time.monotonic() - began
        faults, taken_up = compare(quiet, disturbed)
    finally:
        quiet.kill_all()
        disturbed.kill_all()
    met = ", ".join(f"{name} {count}" for name, count in phases.most_common())
    return [
        f"{asked.cells} cells, {told.total()} kills at random moments (seed {asked.seed}), {starts} starts of"
        f" the launcher; {taken_up} times a cell went on from a checkpoint. {took:.0f} s; undisturbed, the"
        f" sweep took {alone:.0f} s.",
        "",
        "| aimed at | kills |",
        "|---|---|",
        *(f"| {name} | {count} |" for name, count in sorted(told.items())),
        "",
        f"What the running cells were at: {met}.",
        "",
        *(faults or ["Every cell has one record, and records, logs, translations and weights are equal."]),
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, torch {torch.__version__},"
        f" {os.cpu_count()} cores, 15-minute load at the end {os.getloadavg()[2]:.1f}."
        f" `python benchmarks/chaos.py --kills {asked.kills} --minutes {asked.minutes:g}"
        f" --cells {asked.cells} --seed {asked.seed}`",
    ], not faults


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=15, help="after which no more kills are made")
    parser.add_argument("--cells", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="keep the runs here; by default they are thrown away")
    parser.add_argument("--note", type=Path, help="write the outcome here, too")
    asked = parser.parse_args()
    with TemporaryDirectory() as nowhere:
        lines, good = run(asked, (asked.folder or Path(nowhere)).resolve())
    print("\n".join(lines))
    if asked.note is not None:
        asked.note.write_text("\n".join(["# Random kills", "", *lines, ""]), encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
