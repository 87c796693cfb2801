"""What the launcher says has become of a cell, by how its process ended and by what it left."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from attnlab import results
from attnlab.sweep import pool, state
from attnlab.sweep.launched import Cell, _number
from attnlab.sweep.process import End


def cell(top: Path, *, rerun: bool = False, **trainer: Any) -> Cell:
    """A cell that has been started."""
    made = fresh(top, rerun=rerun, **trainer)
    made.folder.mkdir(parents=True, exist_ok=True)
    made.command(0)
    return made


def fresh(top: Path, *, rerun: bool = False, **trainer: Any) -> Cell:
    config = {
        **{"seed": 1, "study": None, "rerun": rerun, "about": {}, "trainer": {"devices": 1, **trainer}},
        "hydra": {
            "sweep": {"dir": str(top), "subdir": "cell/seed1"},
            "job": {"config_name": "config", "name": "train"},
            "overrides": {"task": ["seed=1", *(["rerun=true"] if rerun else [])], "hydra": []},
            "runtime": {
                "config_sources": [],
                "choices": {
                    "encoder": "bilstm",
                    "scorer": "dot",
                    "decoder": "post_combine",
                    "window": "global",
                },
            },
        },
    }
    limits = pool.Limits(timeout=60, stall=30)
    return Cell("seed=1", ["seed=1"], lambda: OmegaConf.create(config), limits)


def left(made: Cell, name: str, **fields: Any) -> None:
    (made.folder / name).write_text(json.dumps(fields))


@pytest.mark.parametrize(
    ("end", "kind", "message"),
    [
        (
            End(-9, 1, memory=True),
            "Killed",
            "killed by SIGKILL, most likely for lack of memory; the system has",
        ),
        (
            End(137, 1, memory=True),
            "Killed",
            "killed by SIGKILL, most likely for lack of memory; the system has",
        ),
        (End(-9, 1, memory=None), "Killed", "killed by SIGKILL, most likely for lack of memory"),
        (End(-9, 1, memory=False), "Killed", "not for lack of memory and not by this launcher"),
        (End(-11, 1, memory=True), "Killed", "ended by SIGSEGV, which this launcher did not send"),
        (End(143, 1), "Killed", "ended by SIGTERM, which this launcher did not send"),
        (End(3, 1), "Exited", "ended with 3"),
        (End(0, 1), "Exited", "ended with 0, but left no result.json"),
        (End(-9, 61, "timeout", True), "Timeout", "took longer than hydra.launcher.timeout=60 s"),
        (End(143, 31, "stalled"), "Stalled", "hydra.launcher.stall=30 s without a word"),
    ],
)
def test_a_process_that_left_no_word_has_failed_with_a_reason_and_its_last_lines(
    tmp_path: Path, end: End, kind: str, message: str
) -> None:
    made = fresh(tmp_path)
    made.folder.mkdir(parents=True)
    (made.folder / "train.log").write_text("words of an earlier attempt\n")
    made.command(0)
    with (made.folder / "train.log").open("a") as log:
        log.write("\n".join(f"line {n}" for n in range(100)) + "\n")
    verdict = made.judge(end)
    assert verdict.state == "failed" and message in verdict.words
    assert verdict.detail.split() == ["line", "95", "line", "96", "line", "97", "line", "98", "line", "99"]
    record = results.read(made.folder)
    assert record["error"]["type"] == kind and message in record["error"]["message"]
    assert record["error"]["traceback"].splitlines()[0] == "    line 60"
    assert record["train"]["wall_s"] == end.seconds
    assert state.of(made.folder) == "failed"


def test_an_earlier_attempts_words_are_not_this_ones(tmp_path: Path) -> None:
    made = fresh(tmp_path)
    made.folder.mkdir(parents=True)
    (made.folder / "train.log").write_text("words of an earlier attempt\n")
    made.command(0)
    assert made.judge(End(1, 1)).detail == ""


def test_memory_is_not_named_where_another_rank_may_have_ended(tmp_path: Path) -> None:
    verdict = cell(tmp_path, devices=2).judge(End(-9, 1, memory=False))
    assert "perhaps by Lightning because another rank died" in verdict.words


def test_the_cells_own_word_is_kept(tmp_path: Path) -> None:
    made = cell(tmp_path)
    left(made, "failed.json", error={"type": "OutOfMemoryError", "message": "CUDA out\nof memory"})
    before = (made.folder / "failed.json").read_text()
    verdict = made.judge(End(1, 5))
    assert verdict.words == "ended with 1: OutOfMemoryError: CUDA out of memory"
    assert (made.folder / "failed.json").read_text() == before


@pytest.mark.parametrize("end", [End(143, 5), End(143, 5, "timeout")])
def test_a_stop_that_was_a_fault_is_no_stop(tmp_path: Path, end: End) -> None:
    """Its process has written that it was stopped; but by a limit, or by somebody's kill."""
    made = cell(tmp_path)
    left(made, "failed.json", error={"type": state.STOPPED, "message": "by a signal"})
    assert made.judge(end).state == "failed"
    assert state.of(made.folder) == "failed"


def test_a_cell_that_we_stopped_has_not_failed(tmp_path: Path) -> None:
    made = cell(tmp_path)
    left(made, "failed.json", error={"type": state.STOPPED, "message": "by a signal"})
    assert made.judge(End(143, 5, "stopped")).state == "interrupted"
    assert state.of(made.folder) == "interrupted"


def test_a_failure_of_an_earlier_attempt_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    made = fresh(tmp_path)
    made.folder.mkdir(parents=True)
    left(made, "failed.json", error={"type": "OldError", "message": "of yesterday"})
    made.command(0)
    verdict = made.judge(End(1, 5))
    assert verdict.words == "ended with 1"
    assert results.read(made.folder)["error"]["type"] == "Exited"


@pytest.mark.parametrize("status", [0, 9])
def test_a_record_makes_it_done_whatever_came_after(tmp_path: Path, status: int) -> None:
    made = cell(tmp_path)
    left(made, "result.json", test={"test": {"bleu": {"score": 12.3456}}})
    verdict = made.judge(End(status, 5, "stopped"))
    assert verdict.state == "done" and verdict.words.startswith("BLEU test 12.35")
    assert ("ended with 9 after that" in verdict.words) == bool(status)


def test_a_record_of_before_is_none_of_a_rerun(tmp_path: Path) -> None:
    made = fresh(tmp_path, rerun=True)
    made.folder.mkdir(parents=True)
    left(made, "result.json", test={})
    os.utime(made.folder / "result.json", (1, 1))
    assert made.look() is None
    assert "rerun=false" not in made.command(0)
    assert made.judge(End(1, 5)).state == "failed"
    assert made.command(1)[-1] == "rerun=false"  # on from where it failed, not anew


def test_what_another_launcher_has_done_or_tried_since_is_not_done_again(tmp_path: Path) -> None:
    done, tried, stopped, rerun = (
        fresh(tmp_path / name, rerun=name == "rerun") for name in ("done", "tried", "stopped", "rerun")
    )
    for made in (done, tried, stopped, rerun):
        made.folder.mkdir(parents=True)
        made._launched = time.time() - 60
    left(done, "result.json", test={})
    left(rerun, "result.json", test={})
    left(tried, "failed.json", error={"type": "Bad", "message": "luck"})
    left(stopped, "failed.json", error={"type": state.STOPPED, "message": "by a signal"})
    found = [made.look() for made in (done, rerun, tried, stopped)]
    assert [verdict and verdict.state for verdict in found] == ["done", "done", "failed", None]
    assert found[2] is not None and "under another launcher: Bad: luck" in found[2].words


def test_a_failure_of_before_the_sweep_is_tried_again(tmp_path: Path) -> None:
    made = fresh(tmp_path)
    made.folder.mkdir(parents=True)
    left(made, "failed.json", error={"type": "Bad", "message": "luck"})
    os.utime(made.folder / "failed.json", (1, 1))
    assert made.look() is None


def test_the_cost_is_that_of_all_attempts(tmp_path: Path) -> None:
    made = fresh(tmp_path)
    made.folder.mkdir(parents=True)
    left(made, "progress.json", seconds=100.0)
    os.utime(made.folder / "progress.json", (1, 1))
    made.command(0)
    made.judge(End(1, 5))
    assert results.read(made.folder)["train"]["wall_s"] == 105.0


@pytest.mark.parametrize(
    ("devices", "count"),
    [(1, 1), (2, 2), (-1, -1), ("auto", -1), ("2", 2), ("0,1,2", 3), ("-1", -1), (None, -1)],
)
def test_devices_are_counted_as_lightning_counts_them(devices: Any, count: int) -> None:
    assert _number(devices) == count
    assert _number(OmegaConf.create([0, 1])) == 2


def test_a_cell_for_the_cpu_needs_no_device(tmp_path: Path) -> None:
    need = fresh(tmp_path, devices=2, accelerator="cpu").need
    assert (need.ranks, need.devices) == (2, 0)


def test_a_record_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = cell(tmp_path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(state, "mark_failed", full)
    verdict = made.judge(End(1, 5))
    assert verdict.state == "failed" and "No space left on device" in verdict.words
