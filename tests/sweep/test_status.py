"""`attnlab status`: what the folders of a sweep say, without touching them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attnlab import status as verb
from attnlab.errors import UserError
from attnlab.sweep import state, status


def put(folder: Path, **files: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def sweep(study: Path, name: str, *folders: str, pid: int = 0) -> None:
    cells = [{"folder": folder} for folder in folders]
    content = {"pid": pid, "host": os.uname().nodename, "cells": cells}
    put(study / "sweeps", **{name: content})


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study with a run in each state."""
    top = tmp_path / "outputs" / "first"
    put(top / "a" / "seed1", result={"status": "done"})
    put(top / "b" / "seed1", failed={"error": {"type": "RuntimeError", "message": "out of\nmemory"}})
    put(top / "c" / "seed1", progress={"phase": "training", "update": 30, "of": 90})
    (top / "c" / "seed1" / "config.yaml").touch()
    said = {"phase": "training", "update": 1200, "of": 4500, "tokens_per_s": 8300.0, "left_s": 720.0}
    put(top / "d" / "seed1", progress=said)
    sweep(top, "20260101T000000-1", "a/seed1", "x/seed1")
    sweep(top, "20260102T000000-1", *(f"{cell}/seed1" for cell in "abcde"))
    return top


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(folder.rglob("*"))}


def test_every_run_is_counted_once_and_nothing_is_touched(study: Path) -> None:
    with state.locked(study / "d" / "seed1"):
        before = listing(study)
        (found,) = status.of(study)
        text = list(verb.lines(found))
        assert listing(study) == before
    assert found.counts == {"done": 1, "running": 1, "failed": 1, "interrupted": 1, "pending": 1}
    assert text == [
        f"{study}: 5 runs: 1 done, 1 running, 1 failed, 1 interrupted, 1 pending",
        "  running      d/seed1: training 1200/4500, 8.3k tok/s, 12 min left",
        "  failed       b/seed1: RuntimeError: out of memory",
        "  interrupted  c/seed1: training 30/90",
    ]


def test_cells_of_an_older_sweep_are_pending_only_while_it_runs(study: Path) -> None:
    sweep(study, "20260101T120000-2", "y/seed1", pid=os.getpid())
    (found,) = status.of(study)
    pending = [run.folder.parent.name for run in found.runs if run.state == state.PENDING]
    assert pending == ["d", "e", "y"]  # d holds nothing to go on from


def test_all_studies_below_a_folder_are_shown_and_one_run_alone(study: Path) -> None:
    put(study.parent / "second" / "a" / "seed1", result={"status": "done"})
    both = status.of(study.parent)
    assert [one.folder.name for one in both] == ["first", "second"]
    assert both == [*status.of(study), *status.of(study.parent / "second")]
    (one,) = status.of(study / "b" / "seed1")
    assert [(run.folder, run.state) for run in one.runs] == [(study / "b" / "seed1", "failed")]


def test_a_study_is_named_or_its_folder(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(study.parents[1])
    assert verb.main(["first"]) == 0
    named = capsys.readouterr().out
    assert verb.main(["outputs/first"]) == verb.main([]) == 0
    assert capsys.readouterr().out == named * 2
    assert verb.main(["first", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert sum(found["counts"].values()) == len(found["runs"])
    assert verb.main(["nowhere"]) == 2
    assert capsys.readouterr().err.startswith("attnlab: nowhere: neither a folder nor a study")
    with pytest.raises(UserError):
        status.of(study / "nowhere")


def test_neither_torch_nor_hydra_is_imported() -> None:
    code = "import sys, attnlab.status; sys.exit(any(name in sys.modules for name in ('hydra', 'torch')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
