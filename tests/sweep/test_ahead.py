"""Cells composed side by side: the same answers in the same order, and nothing of one in another."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hydra.core.config_loader import ConfigLoader
from hydra.types import RunMode

from attnlab.sweep import ahead, compose, identity


@pytest.fixture
def loader() -> Iterator[ConfigLoader]:
    with compose.composing() as loader:
        yield loader


@pytest.mark.parametrize("count", [0, 1, ahead.FEWEST - 1, ahead.FEWEST, 41])
def test_each_gives_the_answers_in_order(count: int) -> None:
    assert list(ahead.each(lambda n: n * n, range(count))) == [n * n for n in range(count)]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_each_uses_other_processes_where_there_is_enough_to_do() -> None:
    few = set(ahead.each(lambda _: os.getpid(), range(ahead.FEWEST - 1)))
    many = set(ahead.each(lambda _: os.getpid(), range(64)))
    assert few == {os.getpid()}
    assert os.getpid() not in many or many == {os.getpid()}  # a thread of pytest's forbids forks


def test_an_exception_ends_the_answers() -> None:
    def refuse(n: int) -> int:
        if n == 20:
            raise ValueError("twenty")
        return n

    with pytest.raises(ValueError, match="twenty"):
        list(ahead.each(refuse, range(40)))


def test_a_memo_gives_what_hydra_reads_and_a_change_stays_out_of_it(loader: Any) -> None:
    def composed(*overrides: str) -> dict[str, Any]:
        return identity.plain(loader.load_configuration("config", list(overrides), RunMode.RUN))

    cells = [("scorer=dot",), ("decoder=fixed_vector", "seed=3"), ("experiment=demo", "scorer=general"), ()]
    plain = [composed(*cell) for cell in cells]
    loader.repository = ahead.Memo(loader.repository)
    assert [composed(*cell) for cell in cells] == plain
    assert [composed(*cell) for cell in reversed(cells)] == plain[::-1]
