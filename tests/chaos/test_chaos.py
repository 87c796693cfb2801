"""A sweep in which all goes wrong that can: its good cells end as if nothing had happened."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from attnlab.results import FAILED
from attnlab.sweep import state

from . import disturbed
from .disturbed import Sweep, wait_until

GOOD = {"scorer": "calm", "scorer.units": [4, 5, 6]}
MIXED = [
    {"scorer": "calm", "scorer.units": 4},
    {"scorer": "hangs"},
    {"scorer": "calm", "scorer.units": 5},
    {"scorer": ["raises", "exits", "killed"]},
    {"scorer": "calm", "scorer.units": 6},
]
# `stall` is for the cell that hangs, which costs it once; starting up, a good cell is silent for a few seconds.
OPTIONS = ["hydra.launcher.slots=2", "hydra.launcher.stall=60", "hydra.launcher.grace=5"]
REASONS = {
    "hangs": ("Stalled", "stall=60 s without a word"),
    "raises": ("RuntimeError", "raised on purpose"),
    "exits": ("Exited", "ended with 7"),
    "killed": ("Killed", "SIGKILL"),
}


@pytest.fixture
def sweeps(tmp_path: Path):
    made = {
        "disturbed": Sweep(
            tmp_path / "disturbed", MIXED, ["trainer.max_epochs=2"], OPTIONS, CHAOS_HOLD=str(tmp_path)
        ),
        "quiet": Sweep(tmp_path / "quiet", [GOOD], ["trainer.max_epochs=2"], OPTIONS[:1]),
    }
    yield made
    for sweep in made.values():
        sweep.kill_all()


def training(sweep: Sweep) -> set[Path]:
    """Runs in the middle of their training, with a checkpoint behind them."""
    return {
        folder
        for folder in sweep.runs("calm-*")
        if (folder / "checkpoints" / "previous.ckpt").exists() and not (folder / "result.json").exists()
    }


def named(sweep: Sweep) -> dict[str, Path]:
    """Run folders by scorer, and by its size where it is a good one."""
    found = {}
    for folder in sweep.runs():
        path = folder / ("result.json" if (folder / "result.json").exists() else "failed.json")
        record: dict[str, Any] = json.loads(path.read_text())
        scorer = str(record["cell"]["scorer"])
        name = f"{scorer}-{record['config']['scorer']['units']}" if scorer == "calm" else scorer
        assert name not in found, f"two folders of one cell: {found[name]}, {folder}"
        found[name] = folder
    return found


@pytest.mark.slow
def test_good_cells_of_a_sweep_that_is_killed_twice_end_as_if_nothing_had_happened(
    sweeps: Any, tmp_path: Path
) -> None:
    sweep, quiet = sweeps["disturbed"], sweeps["quiet"]
    # These cells wait in their third update to be hit.
    holds = [tmp_path / f"hold-{units}" for units in (4, 5)]
    for hold in holds:
        hold.touch()

    # The launcher is killed; its guard ends the cells, and the next launcher begins before it has.
    first = sweep.start()
    wait_until(lambda: training(sweep), sweep)
    (cut,) = training(sweep)
    first.send_signal(signal.SIGKILL)
    holds[0].unlink()
    first.wait()
    second = sweep.start()
    # All processes are killed in the same moment, as where a machine is lost.
    wait_until(lambda: training(sweep) - {cut}, sweep)
    assert second.poll() is None, sweep.words()
    sweep.kill_all()
    holds[1].unlink()
    third = sweep.start()
    quiet_launcher = quiet.start()
    assert third.wait(600) == 1, sweep.words()
    assert quiet_launcher.wait(600) == 0, quiet.words()
    assert sweep.processes() == quiet.processes() == []

    there, undisturbed = named(sweep), named(quiet)
    assert set(there) == {*REASONS, "calm-4", "calm-5", "calm-6"}
    for name, folder in undisturbed.items():
        assert disturbed.record(folder)["train"]["resumed_at"] == []
        assert disturbed.differences(disturbed.comparable(there[name]), disturbed.comparable(folder)) == [], (
            name
        )
        assert folder.relative_to(quiet.top) == there[name].relative_to(sweep.top)
    taken_up = [disturbed.record(there[name])["train"]["resumed_at"] for name in ("calm-4", "calm-5")]
    assert all(len(updates) == 1 and updates[0] >= 1 for updates in taken_up)

    for name, (kind, words) in REASONS.items():
        assert state.of(there[name]) == FAILED
        error = (state.failure(there[name]) or {})["error"]
        assert (error["type"], words in error["message"]) == (kind, True), error
        assert not (there[name] / "result.json").exists()
    assert "words before the exit" in state.failure(there["exits"])["error"]["traceback"]
    told = sweep.words()
    assert told.count("failed: ") == 4

    # Nothing else is left: no folder, no half-written file.
    assert sorted(path.name for path in sweep.folder.iterdir()) == ["experiments", "log", "outputs"]
    assert [path.name for path in (sweep.folder / "outputs").iterdir()] == [disturbed.STUDY]
    tops = {path.name for path in sweep.top.iterdir()}
    assert tops == {folder.parent.name for folder in there.values()} | {"sweeps", "study.yaml"}
    assert not list(sweep.top.rglob(".partial-*"))
