"""The script for a GPU goes through on a CPU, one part's fault stops no other, and time left out is told."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from gpu.parts import Parts, Rows, Skipped


@pytest.mark.slow
def test_all_parts_go_through_in_the_smallest_sizes(repository: Path, tmp_path: Path) -> None:
    files = tmp_path / "gpu.json", tmp_path / "gpu.md"
    command = [sys.executable, str(repository / "benchmarks" / "gpu.py"), "--device", "cpu", "--tiny"]
    command += ["--json", str(files[0]), "--note", str(files[1])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    parts = {part["name"]: part for part in json.loads(files[0].read_text())["parts"]}
    skipped = {name for name, part in parts.items() if part["status"] == "skipped"}
    # Without a CUDA device, and without minutes for a compiler.
    assert skipped == {
        "captured loops",
        "waits for the device",
        "dropout in captured loops",
        "compiled steps",
    }
    assert all(part["told"] for name, part in parts.items() if name in skipped)
    bounds = [row for part in parts.values() for row in part["rows"] if "bound" in row]
    assert len(bounds) > 20 and all(row["difference"] <= row["bound"] for row in bounds)
    for name in ("training at ref-512", "training at 4 x 1024", "search at ref-512", "search at 4 x 1024"):
        rates = [
            value for row in parts[name]["rows"] for key, value in row.items() if key.endswith("tokens/s")
        ]
        assert rates and min(rates) > 0, name
    assert all(len(parts[name]["rows"]) == 1 for name in parts if name.endswith("cells side by side"))
    note = files[1].read_text()
    assert "these are no measurements" in note and "83,000 tokens a second" in note


def made(minutes: float = 1.0, **options: Any) -> Parts:
    return Parts(minutes, torch.device("cpu"), **options)


def test_a_part_that_fails_stops_no_other() -> None:
    written: list[int] = []
    parts = made()
    parts.after = lambda: written.append(len(parts.done))

    def broken(rows: Rows) -> None:
        rows.append({"check": "first", "difference": 0.0})
        raise RuntimeError("out of\nmemory")

    def wrong(rows: Rows) -> None:
        rows.append({"check": "a", "fault": "a: 2 apart"})
        rows.append({"check": "b"})

    def senseless(rows: Rows) -> None:
        raise Skipped("not here")

    for work in (broken, wrong, senseless, lambda rows: None):
        parts.run("part", 1, work)
    assert [(part.status, part.told) for part in parts.done] == [
        ("failed", "RuntimeError: out of memory"),
        ("failed", "a: 2 apart"),
        ("skipped", "not here"),
        ("ok", ""),
    ]
    assert len(parts.done[0].rows) == 1 and len(parts.done[1].rows) == 2
    assert written == [1, 2, 3, 4], "what was found is written after each part"


def test_a_part_that_does_not_fit_is_skipped_by_name() -> None:
    parts = made(minutes=0.5)
    parts.run("long", 31, lambda rows: pytest.fail("it was run"))
    parts.run("short", 1, lambda rows: None)
    assert [part.status for part in parts.done] == ["skipped", "ok"]
    assert "needs about 31 s" in parts.done[0].told


def test_a_part_that_hangs_is_ended_when_the_time_is_up() -> None:
    parts = made(minutes=1 / 60)
    parts.run("hangs", 0, lambda rows: time.sleep(60))
    assert parts.done[0].status == "failed" and "TimeoutError" in parts.done[0].told


def test_without_a_device_the_script_says_what_to_do(repository: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("a CUDA device is here")
    command = [sys.executable, str(repository / "benchmarks" / "gpu.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--device cpu --tiny" in done.stderr
