"""The plan of a grid: which cells are trained, repeated, finished or refused."""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from attnlab.sweep import plan
from attnlab.sweep.compose import conf_dir

Make = Callable[..., plan.Plan]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """A plan of the product of lists such as `scorer=dot,general`."""
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        master = compose("config", return_hydra_config=True)

        def planned(*axes: str) -> plan.Plan:
            lists = [
                [f"{name}={value}" for value in values.split(",")] for name, _, values in map(_split, axes)
            ]
            jobs = [[*job, f"out={tmp_path}"] for job in product(*lists)]
            return plan.make(GlobalHydra.instance().config_loader(), master, jobs)

        yield planned


def _split(axis: str) -> tuple[str, str, str]:
    return axis.partition("=")


def test_a_global_window_is_trained_once_per_scorer(make: Make) -> None:
    found = make("scorer=dot,general", "window=global,local_m", "window.half_width=5,10")
    assert len(found.jobs) == 2 * 3
    assert found.faults == []
    assert found.repeated == [
        f"scorer={scorer} window=global window.half_width=10 trains as"
        f" scorer={scorer} window=global window.half_width=5 does"
        for scorer in ("dot", "general")
    ]
    assert found.lines()[-1] == "6 cells, 0 of them finished, 6 to train"


def test_a_fixed_vector_has_no_scorers_and_windows_to_compare(make: Make) -> None:
    found = make("decoder=fixed_vector", "scorer=dot,general", "window=global,local_p", "seed=1,2")
    assert [folder.name for folder in found.folders] == ["seed1", "seed2"]
    assert len(found.repeated) == 6


def test_finished_cells_are_known_by_their_settings(make: Make) -> None:
    first = make("seed=1,2")
    for folder in first.folders:
        folder.mkdir(parents=True)
    (first.folders[0] / "result.json").write_text(json.dumps({"status": "done"}))
    (first.folders[1] / "failed.json").write_text(json.dumps({"status": "failed"}))
    again = make("seed=3,2,1")
    assert [folder.name for folder in again.folders] == ["seed3", "seed2"]
    assert again.finished == [f"seed=1 in {first.folders[0]}"]
    assert [folder.name for folder in make("seed=3,2,1", "rerun=true").folders] == ["seed3", "seed2", "seed1"]


def test_every_fault_of_every_cell_is_found(make: Make) -> None:
    found = make("scorer=dot,dott,general", "encoder.hidden_size=255,512")
    assert [fault.rpartition(" [")[2] for fault in found.faults] == [
        "scorer=dot encoder.hidden_size=255]",
        "scorer=dot encoder.hidden_size=255]",
        "scorer=dot encoder.hidden_size=512]",
        "scorer=dott encoder.hidden_size=255]",
        "scorer=dott encoder.hidden_size=512]",
        "scorer=general encoder.hidden_size=255]",
    ]
    assert all("\n" not in fault for fault in found.faults)


def test_cells_are_named_by_what_tells_them_apart() -> None:
    assert plan.labels([["a=1", "b=2"], ["a=1", "b=3"]]) == ["b=2", "b=3"]
    assert plan.labels([["a=1", "b=2"]]) == ["a=1 b=2"]
    assert plan.labels([[]]) == ["the cell"]
