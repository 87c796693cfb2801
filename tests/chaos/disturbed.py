"""A sweep of tiny cells that can be killed in any way, and what must be equal at its end.

For the test beside this file and for benchmarks/chaos.py.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

import attnlab

HERE = Path(__file__).resolve().parent
MARK = "CHAOS_SWEEP"
STUDY = "chaos"
TINY = [
    *("data.train_pairs=60", "data.val_pairs=6", "data.test_pairs=4", "data.max_words=8"),
    *("data.vocabulary=20", "data.batch_tokens=120", "tokenizer.min_frequency=1", "search.beam_size=2"),
    *("encoder.hidden_size=8", "decoder.hidden_size=8", "model.embedding_size=8", "model.dropout=0.3"),
    *("optim.lr=0.02", "trainer.accelerator=cpu", "trainer.log_every_n_steps=3", "callbacks.save_every=1"),
    *("metrics.bootstrap.samples=0", "logger=none", "metrics.length_edges=[4,6]"),
]
COSTS = ("wall_s", "device_s", "tokens_per_s", "peak_memory", "resumed_at")


class Sweep:
    """`attnlab train study=chaos`, in a folder of its own, as often as it takes.

    Args:
        folder: where to; made.
        grids: the study's.
        overrides: of every cell, beside `TINY`.
        options: the launcher's, on the command line.
        variables: of the environment of all its processes.
    """

    def __init__(
        self,
        folder: Path,
        grids: Sequence[dict[str, Any]],
        overrides: Sequence[str] = (),
        options: Sequence[str] = (),
        **variables: str,
    ) -> None:
        self.folder, self.options = folder, list(options)
        self.top = folder / "outputs" / STUDY
        study = folder / "experiments" / STUDY / "study.yaml"
        study.parent.mkdir(parents=True)
        study.write_text(json.dumps({"overrides": [*TINY, *overrides], "grids": list(grids)}))
        self.mark = f"{os.getpid()}-{folder.resolve()}"
        paths = [str(HERE / "parts"), str(Path(attnlab.__file__).parents[1])]
        self._environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "WANDB"))},
            "PYTHONPATH": os.pathsep.join(paths),
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "ATTNLAB_CACHE": str(folder.parent / "cache"),
            MARK: self.mark,
            **variables,
        }
        self._last: subprocess.Popen[bytes] | None = None
        self.log = folder / "log"

    def start(self) -> subprocess.Popen[bytes]:
        """Start it, or start it again: always by the same command."""
        command = [sys.executable, "-m", "attnlab.cli", "train", f"study={STUDY}", *self.options]
        with self.log.open("ab") as log:
            self._last = subprocess.Popen(
                [*command, "--config-dir", str(HERE / "conf")],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self._last

    def processes(self) -> list[int]:
        """All that is left of it, by the mark in the environment."""
        mark = f"{MARK}={self.mark}\0".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                state = (path / "stat").read_bytes().rpartition(b")")[2].split()[0]
                if state != b"Z" and mark in (path / "environ").read_bytes() + b"\0":
                    found.append(int(path.name))
        return found

    def kill_all(self) -> None:
        """What a lost machine does: launcher, guard and cells end at once, whatever they are at."""
        while left := self.processes():
            for process in left:
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.02)
        if self._last is not None:
            self._last.wait()

    def words(self) -> str:
        """The end of what it has printed."""
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""

    def runs(self, pattern: str = "*") -> list[Path]:
        """Its run folders."""
        return sorted(self.top.glob(f"{pattern}/seed*"))


def wait_until(ready: Callable[[], object], sweep: Sweep, seconds: float = 600) -> None:
    """Waits; fails where it takes too long, with the sweep's last words."""
    until = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < until, sweep.words()
        time.sleep(0.01)


def record(folder: Path) -> dict[str, Any]:
    """The record of a finished run."""
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


def comparable(folder: Path) -> dict[str, Any]:
    """What must be equal: the record less time and cost, the log, the translations, the weights."""
    found = record(folder)
    for name in ("ended", "code"):  # the checkout may be edited meanwhile
        found.pop(name)
    for name in COSTS:
        found["train"].pop(name)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        row.pop("train/tokens_per_s", None)
    points = [(row["step"], key) for row in rows for key in row if key not in ("step", "epoch")]
    best = torch.load(folder / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
    return {
        "record": found,
        "rows": rows,
        "repeated": sorted({point for point in points if points.count(point) > 1}),
        "texts": {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.glob("test/*/*.txt"))},
        "attention": {str(p.relative_to(folder)): matrices(p) for p in folder.glob("test/*/*.safetensors")},
        "weights": {name: value.numpy().tobytes() for name, value in best.items()},
        "files": files(folder),
    }


def matrices(path: Path) -> dict[str, Any]:
    """A file of matrices; its own order of names differs from process to process."""
    with safe_open(path, "pt") as file:
        kept = {name: file.get_tensor(name).numpy().tobytes() for name in file.keys()}  # noqa: SIM118
        return {**kept, "metadata": file.metadata()}


def files(folder: Path, without: Iterable[str] = ()) -> list[str]:
    """All files below a folder."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if name not in without)


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """In words, where two runs differ that should be equal."""
    found = [f"repeated in the log: {point}" for run in (one, other) for point in run["repeated"]]
    for part in ("record", "rows", "texts", "attention", "weights", "files"):
        if one[part] != other[part]:
            keys = one[part].keys() | other[part].keys() if isinstance(one[part], dict) else []
            which = [key for key in sorted(keys) if one[part].get(key) != other[part].get(key)]
            values = [
                {key: run[part].get(key) for key in which} if which else run[part] for run in (one, other)
            ]
            found.append(f"{part}: {values[0]} is not {values[1]}"[:2000])
    return found
