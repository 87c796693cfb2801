"""The rehearsal of a sweep's cells: one process, one answer a cell, whatever a part does."""

import sys
from pathlib import Path
from typing import Any

import pytest

from attnlab.sweep import compose, identity, rehearsal


def composed(*overrides: str) -> dict[str, Any]:
    import hydra

    with compose.composing():
        return identity.plain(hydra.compose("config", overrides=list(overrides)))


def test_each_cell_has_its_answer_and_torch_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    ask = rehearsal.Stage.answers
    monkeypatch.setattr(
        rehearsal.Stage, "answers", lambda stage, configs: asked.append(len(configs)) or ask(stage, configs)
    )
    bad = "metrics.length_edges=[20,10]"
    cells = [composed("seed=1"), composed("seed=1", bad), composed("seed=2"), composed("seed=2", bad)]
    first, second, third, fourth = rehearsal.faults(cells, here=True)
    assert (first, third) == (None, None)
    assert second is not None and "the edges must be rising" in second
    assert fourth == second
    assert asked == [2]  # seeds make no other model


def test_devices_are_asked_for_only_where_the_cells_train() -> None:
    many = [composed("trainer.accelerator=cpu", "trainer.devices=0")]
    assert rehearsal.faults(many, here=False) == [None]
    (fault,) = rehearsal.faults(many, here=True)
    assert fault is not None and "\n" not in fault


def test_a_part_that_dies_is_told_by_the_cell_it_died_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "deadly.py").write_text("import os\nos._exit(7)\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{':'.join(filter(None, sys.path))}")
    cells = [composed(), composed("scorer._target_=deadly.Scorer")]
    assert rehearsal.faults(cells, here=True) == [None, "its rehearsal ended with 7: no word"]
