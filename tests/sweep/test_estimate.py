"""What a cell is taken to cost, from the runs beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from attnlab.sweep import estimate


def record(cell: str, seconds: float, updates: int = 100, **trainer: Any) -> dict[str, Any]:
    scorer, _, width = cell.partition("-")
    limits = {"max_steps": 100, "max_epochs": -1, **trainer}
    config = {
        "seed": 1,
        "scorer": {"_target_": scorer},
        "model": {"width": int(width)},
        "trainer": limits,
    }
    return {"cell_id": cell, "config": config, "train": {"wall_s": seconds, "updates": updates}}


def asked(cell: str, **trainer: Any) -> dict[str, Any]:
    return record(cell, 0, **trainer)["config"]  # type: ignore[no-any-return]


def estimates(*records: dict[str, Any]) -> estimate.Estimates:
    return estimate.Estimates((Path(f"top/{n}/seed1"), found) for n, found in enumerate(records))


def test_other_seeds_of_the_same_cell_tell_best() -> None:
    found = estimates(record("dot-8", 10), record("dot-8", 30), record("general-8", 500))
    assert found.seconds("dot-8", asked("dot-8")) == 20


def test_else_the_cell_that_shares_most_settings_tells() -> None:
    found = estimates(record("dot-8", 10), record("general-16", 50), record("general-32", 70))
    assert found.seconds("dot-64", asked("dot-64")) == 10
    assert found.seconds("general-64", asked("general-64")) == 60
    assert estimates().seconds("dot-8", asked("dot-8")) is None


@pytest.mark.parametrize(
    ("theirs", "own", "seconds"),
    [
        ({}, {"max_steps": 300}, 30),
        ({"max_steps": -1, "max_epochs": 4, "updates": 50}, {"max_steps": 300}, 60),
        ({"max_steps": -1, "max_epochs": 4}, {"max_steps": -1, "max_epochs": 8}, 20),
        ({}, {"max_steps": -1, "max_epochs": 8}, 10),
    ],
)
def test_more_updates_take_longer_where_their_number_is_known(
    theirs: dict[str, Any], own: dict[str, Any], seconds: float
) -> None:
    found = estimates(record("dot-8", 10, **theirs))
    assert found.seconds("other", asked("dot-9", **own)) == seconds


@pytest.mark.parametrize(
    ("state", "said", "seconds"),
    [
        ("pending", None, 100),
        ("pending", {"update": 50, "of": 100}, 100),
        ("failed", {"update": 50, "of": 100}, 50),
        ("interrupted", {"update": 50, "of": None}, 100),
        ("interrupted", {"update": "50", "of": [100]}, 100),
        ("running", {"update": 50, "of": 100, "left_s": 7.0}, 7),
        ("running", {"update": 50, "of": 100, "left_s": None}, 50),
    ],
)
def test_what_a_run_has_behind_it_is_taken_off(
    state: str, said: dict[str, Any] | None, seconds: float
) -> None:
    assert estimate.left(100.0, state, said) == seconds
    assert estimate.left(None, "pending", said) is None


def test_a_record_that_says_nothing_of_its_training_is_no_measure() -> None:
    assert estimates({"cell_id": "dot-8", "config": {}, "train": 5}).seconds("dot-8", {}) is None


def test_a_run_that_kept_count_of_all_its_seconds_is_believed(tmp_path: Path) -> None:
    folder = tmp_path / "cell" / "seed1"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(record("dot-8", 10)))
    found = estimate.records([tmp_path])
    assert estimate.Estimates(found).seconds("dot-8", {}) == 10
    (folder / "progress.json").write_text(json.dumps({"seconds": 14.5}))
    assert estimate.Estimates(found).seconds("dot-8", {}) == 14.5
