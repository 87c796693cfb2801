"""`hydra/launcher=local` by the command line, with cells that train nothing and import nothing that is slow."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import attnlab

# Takes the place of what trains and of what rehearses a training; what a cell does is told by its seed.
_STAND_IN = """
import json, os, sys, time, types
from pathlib import Path

def run_cell(config, folder):
    here, seed = Path(os.environ["STAND_IN"]), config["seed"]
    with (here / f"started-{seed}").open("a") as file:
        file.write(f"{os.getpid()} {os.environ.get('CUDA_VISIBLE_DEVICES')}\\n")
    (folder / "config.yaml").write_text("{}")
    if seed == 21:
        raise RuntimeError("a fault in the cell")
    if seed == 22:
        os.kill(os.getpid(), 9)
    if seed == 24 and not (here / "mended").exists():
        (here / "mended").touch()
        os._exit(9)
    if seed >= 30:
        while not (here / "release").exists():
            time.sleep(0.05)
    time.sleep(0.3)
    (folder / "result.json").write_text(json.dumps({"status": "done", "test": {}}))
    return {}

for name, found in {"run": {"run_cell": run_cell}, "build": {"rehearse": lambda *_, **__: None}}.items():
    module = types.ModuleType(f"attnlab.{name}")
    module.__dict__.update(found)
    sys.modules[f"attnlab.{name}"] = module
sys.modules["attnlab.callbacks"] = None  # a rehearsal has nothing to import
"""


class Sweep:
    """`attnlab train -m` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.notes, self.started = folder, folder / "stand_in", []
        self.notes.mkdir()
        (self.notes / "sitecustomize.py").write_text(_STAND_IN)

    def start(self, *arguments: str, devices: str = "") -> subprocess.Popen[str]:
        source = Path(attnlab.__file__).parents[1]
        process = subprocess.Popen(
            [sys.executable, "-m", "attnlab.train", "-m", *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(self.notes), str(source)]),
                "STAND_IN": str(self.notes),
                "CUDA_VISIBLE_DEVICES": devices,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def __call__(self, *arguments: str, devices: str = "") -> tuple[int, str, str]:
        process = self.start(*arguments, devices=devices)
        out, err = process.communicate(timeout=600)
        return process.returncode, out, err

    def starts(self, seed: int) -> list[list[str]]:
        """Process and devices of each time that this seed was started."""
        path = self.notes / f"started-{seed}"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def run_folder(self, seed: int) -> Path:
        (found,) = self.folder.glob(f"outputs/*/*/seed{seed}")
        return found


@pytest.fixture
def sweep(tmp_path: Path):
    made = Sweep(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_for(sweep: Sweep, *seeds: int) -> None:
    while not all(sweep.starts(seed) for seed in seeds):
        assert all(process.poll() is None for process in sweep.started)
        time.sleep(0.1)


def test_four_cells_on_two_devices(sweep: Any) -> None:
    code, out, err = sweep("seed=1,2,3,4", devices="0,1")
    assert code == 0, out + err
    seen = [sweep.starts(seed) for seed in (1, 2, 3, 4)]
    assert all(len(starts) == 1 for starts in seen)
    assert {starts[0][1] for starts in seen} == {"0", "1"}


def test_what_fails_is_recorded_told_and_tried_again_from_the_queues_end(sweep: Any) -> None:
    code, out, err = sweep("seed=21,22,24,1", "hydra.launcher.max_retries=1")
    assert code == 1, out + err
    assert [len(sweep.starts(seed)) for seed in (21, 22, 24, 1)] == [2, 2, 2, 1]
    raised, killed = (json.loads((sweep.run_folder(n) / "failed.json").read_text()) for n in (21, 22))
    assert raised["error"]["type"] == "Exited"
    assert "RuntimeError: a fault in the cell" in raised["error"]["traceback"]
    assert killed["error"]["type"] == "Killed"
    assert killed["train"]["wall_s"] > 0
    assert (sweep.run_folder(24) / "result.json").exists()
    for words in (
        str(sweep.run_folder(21).relative_to(sweep.folder)),
        "RuntimeError: a fault in the cell",
        "killed by SIGKILL",
    ):
        assert words in err
    assert "2 of 4 cells finished" in out


def test_fail_fast_starts_no_more(sweep: Any) -> None:
    code, out, err = sweep("seed=22,1", "hydra.launcher.fail_fast=true")
    assert code == 1, out + err
    assert len(sweep.starts(22)) == 1 and sweep.starts(1) == []
    assert "not started (fail_fast)" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_same_command_goes_on_after_a_signal(sweep: Any, number: signal.Signals) -> None:
    line = ["seed=1,30,31", "hydra.launcher.slots=2", "hydra.launcher.grace=2"]
    process = sweep.start(*line)
    wait_for(sweep, 30, 31)
    process.send_signal(number)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 128 + number
    (told,) = [line for line in err.splitlines() if line.startswith("attnlab: ")]
    assert told == (
        f"attnlab: stopped by {number.name}: 1 of 3 cells are done, 0 failed;"
        " the same command goes on with the 2 that are left"
    )
    (sweep.notes / "release").touch()
    code, out, err = sweep(*line)
    assert code == 0, out + err
    assert [len(sweep.starts(seed)) for seed in (1, 30, 31)] == [1, 2, 2]


def test_two_launchers_on_one_study_share_its_cells(sweep: Any) -> None:
    both = [sweep.start("seed=1,2,3,4", "study=both") for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, out + err
    assert [len(sweep.starts(seed)) for seed in (1, 2, 3, 4)] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("per_device=0", "per_device=0 must be at least 1"),
        ("slots=two", "slots=two must be a whole number"),
        ("timeout=1h", "timeout=1h must be a number of seconds"),
        ("grace=-1", "grace=-1 must not be below 0"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_in_a_line(sweep: Any, option: str, words: str) -> None:
    code, out, err = sweep("seed=1,2", f"hydra.launcher.{option}")
    assert code == 2
    assert err.splitlines() == [f"attnlab: hydra.launcher.{words}"]
    assert not out
