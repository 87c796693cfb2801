"""The plan of a grid: which cells are trained, repeated, finished or refused."""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from attnlab.errors import UserError
from attnlab.sweep import changes, plan, rehearsal, show, state, study
from attnlab.sweep.compose import conf_dir

Make = Callable[..., plan.Plan]
Sweep = Callable[..., plan.Plan]


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


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sweep]:
    """A plan of a command line, in a folder with experiments/first/study.yaml if its text is given."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rehearsal, "faults", lambda configs, *_: [None] * len(configs))
    monkeypatch.setattr(rehearsal.Stage, "start", lambda stage: None)
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):

        def planned(*arguments: str, text: str | None = None) -> plan.Plan:
            if text is not None:
                path = tmp_path / "experiments" / "first" / study.FILE
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            master = compose("config", overrides=["study=first"], return_hydra_config=True)
            loader = GlobalHydra.instance().config_loader()
            return plan.of_sweep(loader, master, ["study=first", *arguments], here=True)

        yield planned


def finish(cell: plan.Cell | Path, **record: object) -> None:
    folder = cell.folder if isinstance(cell, plan.Cell) else cell
    assert folder is not None
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps({"status": "done", **record}))


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


SIX = """
grids:
  - linked:
      - {scorer: dot, window: global}
      - {scorer: general, window: local_p, window.half_width: 5}
      - {scorer: additive, window: local_p, window.half_width: 10}
seeds: [1, 2]
"""


def test_a_broken_sweep_goes_on_by_settings_not_by_number(sweep: Sweep) -> None:
    first = sweep(text=SIX)
    assert first.counts["pending"] == len(first.jobs) == 6
    for cell in first.cells[:2]:
        finish(cell)
    again = sweep()
    assert again.folders == first.folders[2:]
    for cell in again.to_train:
        finish(cell)
    other = """
    grids:
      - linked:
          - {window: local_p, window.half_width: 10, scorer: additive}
          - {window: local_m, scorer: additive}
          - {window: global, scorer: dot}
          - {window.half_width: 5, scorer: general, window: local_p}
    seeds: [2, 1]
    """
    last = sweep("seed=1", text=other)
    assert [cell.state for cell in last.cells] == ["done", "pending", "done", "done"]
    assert not set(last.folders) & set(first.folders)
    assert {cell.folder for cell in last.cells if cell.state == "done"} == set(first.folders[::2])


def test_exclusions_match_defaults_too_and_one_that_matches_nothing_is_told(sweep: Sweep) -> None:
    text = """
    grids: [{scorer: [dot, dott, general], encoder.hidden_size: [256, 255]}]
    exclude:
      - {encoder.hidden_size: 255, window: global}
      - {scorer: [dot, concat], data.train_pairs: 20000.0, seed: 1}
      - {window: local_p}
    seeds: [1, 2]
    """
    found = sweep(text=text)
    assert [(cell.state, cell.label) for cell in found.cells] == [
        ("pending", "scorer=dot encoder.hidden_size=256 seed=2"),
        *(
            ("invalid", f"scorer=dott encoder.hidden_size={size} seed={seed}")
            for size in (256, 255)
            for seed in (1, 2)
        ),
        ("pending", "scorer=general encoder.hidden_size=256 seed=1"),
        ("pending", "scorer=general encoder.hidden_size=256 seed=2"),
    ]
    assert found.excluded == 5
    (warning,) = found.warnings
    assert warning.endswith("study.yaml: exclude {window: [local_p]} matches no cell")


def test_several_studies_with_files_are_not_one_sweep(sweep: Sweep) -> None:
    sweep(text=SIX)
    with pytest.raises(UserError, match="name one study at a time"):
        sweep("study=first,second")
    assert len(sweep("study=second,third").jobs) == 2


def test_a_finished_cell_with_other_data_is_told_and_left_alone(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(changes, "_fingerprints", lambda values: asked.append(values) or {"train": "new"})
    first = sweep("seed=1,2,3")
    assert asked == []  # no text is read where nothing is finished
    finish(first.cells[0], data={"fingerprints": {"train": "old"}}, code={"commit": "0123456789"})
    finish(first.cells[1], data={"fingerprints": {"train": "new"}})
    found = sweep("seed=1,2,3")
    assert len(asked) == 1
    assert [(cell.state, cell.train, cell.note) for cell in found.cells] == [
        ("done", False, "data changed: train"),
        ("done", False, ""),
        ("pending", True, ""),
    ]
    (warning,) = found.warnings
    assert "seed=1 in outputs/first/" in warning and "rerun=true" in warning
    assert "(data changed: train)" in found.lines()[0]
    again = sweep("seed=1", "rerun=true")
    assert [(cell.state, cell.train) for cell in again.cells] == [("done", True)]
    assert again.warnings == []


def test_what_a_rehearsal_refuses_is_refused_for_every_seed(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faults(configs: list[dict[str, dict[str, object]]], *_: object) -> list[str | None]:
        assert len(configs) == 2
        return ["no such part" if "Dot" in str(config["scorer"]["_target_"]) else None for config in configs]

    monkeypatch.setattr(rehearsal, "faults", faults)
    found = sweep("scorer=dot,general", "seed=1,2")
    assert [cell.state for cell in found.cells] == ["invalid", "invalid", "pending", "pending"]
    assert found.faults == ["no such part [scorer=dot seed=1]", "no such part [scorer=dot seed=2]"]


def test_the_plan_is_shown_in_each_form(sweep: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    first = sweep(text="question: Why?\n" + SIX + "exclude: [{decoder: fixed_vector}]")
    config = first.cells[0].values
    finish(first.cells[0], cell_id=first.folders[0].parent.name, config=config, train={"wall_s": 600.0})
    running, failed = first.folders[1], first.folders[2]
    failed.mkdir(parents=True)
    (failed / "failed.json").write_text(json.dumps({"error": {"type": "Killed", "message": "by SIGKILL"}}))
    (failed / "progress.json").write_text(json.dumps({"update": 25, "of": 100}))
    with state.locked(running):
        (running / "progress.json").write_text(json.dumps({"left_s": 60.0}))
        found = sweep()
    found.estimate()
    show.show(found, "lines", 2)
    out = capsys.readouterr()
    lines = out.out.splitlines()
    assert lines[0] == "experiments/first/study.yaml: Why?"
    assert [line.split("  ")[0] for line in lines[1:7]] == ["done", "running", "failed", *["pending"] * 3]
    assert "10 min" in lines[4] and "60 s" in lines[2] and "8 min" in lines[3]
    assert lines[3].endswith("Killed: by SIGKILL")
    assert lines[-2] == "6 cells to have, 5 to train: 1 done, 1 running, 1 failed, 3 pending"
    assert lines[-1] == "cost: 38 min, 19 min with 2 slots"  # 1 + 7.5 + 3 x 10
    assert "matches no cell" in out.err
    show.show(found, "json", None)
    told = json.loads(capsys.readouterr().out)
    assert told["counts"]["pending"] == 3 and len(told["cells"]) == 6
    assert told["cost"]["seconds"] == 60 + 450 + 3 * 600
    assert told["study"]["sha256"] == found.study.sha256  # type: ignore[union-attr]
    show.show(found, "table", 1)
    assert "running" in capsys.readouterr().out
    with pytest.raises(UserError, match="must be one of table, lines, json"):
        show.show(found, "yaml", 1)


@pytest.mark.parametrize("columns", ["20", "120"])
def test_the_cells_are_seen_on_a_narrow_terminal_too(
    sweep: Sweep, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    found = sweep(text=SIX)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    show.show(found, None, 1)
    out = capsys.readouterr().out
    assert all(cell.label in out for cell in found.cells)
