"""Sweeps by the command line: planned before they start, every cell a process of its own."""

import os
import signal
from typing import Any

import pytest


def test_cells_are_processes_side_by_side_with_their_threads_and_devices(command: Any) -> None:
    # 11 and 12 each wait for the other
    done = command(
        "train",
        "-m",
        "seed=11,12",
        "hydra.launcher.slots=2",
        "hydra.launcher.threads=3",
        CUDA_VISIBLE_DEVICES="4,5",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    records = list(command.records().values())
    assert len({record["pid"] for record in records}) == 2
    assert {record["threads"] for record in records} == {"3"}
    assert {record["devices"] for record in records} == {"4", "5"}
    assert "[1/2] started: seed=11" in done.stdout
    assert "BLEU test 12.35: seed=12" in done.stdout
    assert "2 of 2 cells finished" in done.stdout
    logs = sorted(command.folder.glob("outputs/*/*/*/train.log"))
    assert [log.read_text().count("words of the cell") for log in logs] == [1, 1]
    assert "words of the cell" not in done.stdout


def test_one_cell_that_fails_stops_no_other_and_is_told_at_the_end(command: Any) -> None:
    done = command("train", "-m", "seed=21,22,23,1")
    assert done.returncode == 1
    assert [name.rpartition("/")[2] for name in command.records()] == ["seed1"]
    told = done.stderr
    assert "failed: seed=21" in told
    assert "RuntimeError: a fault in the cell" in told
    assert "failed: seed=22" in told
    assert "ended with 9" in told
    assert "attnlab: a fault of the user: mend it" in told
    assert "1 of 4 cells finished" in done.stdout


def test_all_cells_are_checked_before_the_first_starts(command: Any) -> None:
    done = command(
        "train", "-m", "scorer=dot,general", "decoder.hidden_size=256,100", "encoder.hidden_size=100"
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "attnlab: scorer=dot needs decoder.hidden_size == encoder.hidden_size, but they are 256 and 100:"
        " set them equal, or use scorer=general or scorer=additive"
        " [scorer=dot decoder.hidden_size=256]",
        "attnlab: nothing was started; 1 faults in 4 cells",
    ]
    assert command.folders() == []


def test_what_a_constructor_refuses_is_named_before_the_first_cell_starts(command: Any) -> None:
    done = command("train", "-m", "seed=1,2", "metrics.length_edges=[10,20],[20,10]")
    assert done.returncode == 2
    first, second, last = done.stderr.splitlines()
    assert "the edges must be rising" in first and first.endswith("[seed=1 metrics.length_edges=[20,10]]")
    assert second == first.replace("seed=1", "seed=2")
    assert last == "attnlab: nothing was started; 2 faults in 4 cells"
    assert command.folders() == []


def test_attention_of_a_fixed_vector_is_one_cell(command: Any) -> None:
    done = command("train", "-m", "decoder=fixed_vector", "scorer=dot,general", "window=global,local_p")
    assert done.returncode == 0, done.stderr
    (record,) = command.records().values()
    assert record["cell"] == {"encoder": "bilstm", "scorer": None, "decoder": "fixed_vector", "window": None}


def test_finished_cells_are_left_out_whatever_their_order(command: Any) -> None:
    command("train", "-m", "seed=1,2")
    before = {name: record["pid"] for name, record in command.records().items()}
    done = command("train", "-m", "seed=3,2,1")
    assert done.returncode == 0
    assert done.stdout.count("done: ") == 2
    after = {name: record["pid"] for name, record in command.records().items()}
    assert len(after) == 3
    assert before.items() <= after.items()


def test_a_launcher_of_hydras_own_has_processes_too(command: Any) -> None:
    done = command("train", "-m", "seed=1,2,21", "hydra/launcher=basic", "study=first")
    assert done.returncode == 1
    assert "failed: seed=21" in done.stderr
    assert len({record["pid"] for record in command.records().values()}) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_cells_too(command: Any, number: signal.Signals) -> None:
    sweep = command.start("train", "-m", "seed=30,31,32", "hydra.launcher.slots=2", "hydra.launcher.grace=1")
    notes = [command.notes / "started-30", command.notes / "started-31"]
    while not all(note.exists() and note.read_text() for note in notes):
        assert sweep.poll() is None
    sweep.send_signal(number)
    sweep.communicate(timeout=60)
    assert sweep.returncode == 128 + number
    for note in notes:
        with pytest.raises(ProcessLookupError):
            os.kill(int(note.read_text()), 0)
    assert not (command.notes / "started-32").exists()
