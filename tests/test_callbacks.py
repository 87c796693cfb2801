"""The callbacks that watch a training without changing it."""

from types import SimpleNamespace
from typing import Any

import pytest

from attnlab.callbacks import Trim, standard


def test_free_memory_goes_back_every_so_many_updates_and_behind_each_validation(monkeypatch: Any) -> None:
    asked: list[int] = []
    monkeypatch.setattr("ctypes.CDLL", lambda name: SimpleNamespace(malloc_trim=asked.append))
    trim = Trim(every=4)
    for step in range(1, 11):
        trim.on_train_batch_end(SimpleNamespace(global_step=step))
    assert asked == [0, 0]
    trim.on_validation_end()
    assert asked == [0, 0, 0]


def unnamed(name: None) -> Any:
    raise TypeError("LoadLibrary() argument 1 must be str, not None")  # as Windows has it


@pytest.mark.parametrize("library", [lambda name: SimpleNamespace(), unnamed], ids=["without", "windows"])
def test_a_c_library_that_cannot_trim_is_left_alone(library: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("ctypes.CDLL", library)
    trim = Trim(every=1)
    trim.on_train_batch_end(SimpleNamespace(global_step=1))
    trim.on_validation_end()


def test_every_run_trims(tmp_path: Any) -> None:
    made = standard(
        tmp_path, monitor="val/bleu", mode=None, patience=None, min_delta=0.0, save_every=None, progress=False
    )
    assert sum(isinstance(callback, Trim) for callback in made) == 1
