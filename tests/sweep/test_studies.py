"""A study by the command line: planned, trained by its name, gone on with, and shown."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from attnlab.plan import arguments

DRY = "hydra.sweeper.dry=true"
HERE = Path(__file__).parent


@pytest.fixture
def study(command: Any) -> Path:
    """experiments/windows/study.yaml in the command's folder."""
    shutil.copytree(HERE / "experiments", command.folder / "experiments")
    return command.folder / "experiments" / "windows" / "study.yaml"


@pytest.mark.slow
def test_a_study_is_planned_then_trained_by_name_and_never_repeated(command: Any, study: Path) -> None:
    planned = command("plan", "study=windows")
    assert planned.returncode == 0, planned.stderr
    lines = planned.stdout.splitlines()
    assert lines[0].endswith("study.yaml: Does each scorer gain from the window that suits it?")
    assert [line.split()[:2] for line in lines[1:7]] == [["pending", "unknown"]] * 6
    assert lines[-2] == "6 cells to have, 6 to train: 6 pending"
    assert command.folders() == ["experiments"]

    done = command("train", "study=windows", "seed=1")
    assert done.returncode == 0, done.stdout + done.stderr
    first = command.records()
    assert len(first) == 3
    top = command.folder / "outputs" / "windows"
    assert (top / "study.yaml").read_bytes() == study.read_bytes()
    (path,) = top.glob("sweeps/*.json")
    sweep = json.loads(path.read_text())
    assert sweep["study"]["sha256"] == hashlib.sha256(study.read_bytes()).hexdigest()
    assert sweep["command"] == "attnlab train study=windows seed=1"
    assert {cell["folder"] for cell in sweep["cells"]} == set(first)

    # The command of one record trains that cell and not the study.
    one, *_ = first
    assert first[one]["command"].startswith("attnlab train data.train_pairs=60 ")
    assert first[one]["command"].endswith(" study=windows seed=1 hydra.mode=RUN")

    study.write_text(study.read_text().replace("[1, 2]", "[2, 21, 1]"))
    again = command("train", "study=windows")
    assert again.returncode == 1
    assert "3 of 6 cells finished" in again.stdout
    records = command.records()
    assert len(records) == 6
    assert {name: records[name]["pid"] for name in first} == {name: first[name]["pid"] for name in first}

    shown = command("status", "windows")
    assert shown.stdout.splitlines()[0] == "outputs/windows: 9 runs: 6 done, 3 failed"
    assert "Exited: ended with 1" in shown.stdout
    assert command("plan", "study=windows", "hydra.sweeper.format=json").returncode == 0


@pytest.mark.parametrize(
    ("given", "train"),
    [
        ([], ["-m", DRY]),
        (["a=1,2", "b=1"], ["-m", DRY, "a=1,2", "b=1"]),
        (["-m", "a=1,2"], ["-m", DRY, "a=1,2"]),
        (["a=1,2", "-m"], [DRY, "a=1,2", "-m"]),
        (["--config-dir", "mine", "a=1"], ["-m", "--config-dir", "mine", DRY, "a=1"]),
        (["a=1", "--cfg", "job"], [DRY, "a=1", "--cfg", "job"]),
    ],
)
def test_a_plan_is_a_command_line_of_train(given: list[str], train: list[str]) -> None:
    assert arguments(given) == train


def test_a_plan_without_m_is_of_one_cell_and_tells_what_cannot_be(command: Any) -> None:
    done = command("plan", "scorer=dot", "encoder.hidden_size=100", "decoder.hidden_size=10")
    assert done.returncode == 2
    assert done.stdout.startswith("invalid  -     scorer=dot encoder.hidden_size=100 decoder.hidden_size=10")
    assert "scorer=dot needs decoder.hidden_size == encoder.hidden_size" in done.stdout
    assert "0 cells to have, 0 to train: 1 invalid" in done.stdout
    assert command.folders() == []
