"""Cells composed side by side: the same answers in the same order, and nothing of one in another."""

import os
import signal
import subprocess
import sys
import time
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


SCRIPT = """
import os, signal, sys, time
from attnlab.sweep import ahead
planner = os.getpid()
def work(n):
    if n == 20 and os.getpid() != planner:
        SIGNAL
    return n
print(list(ahead.each(work, range(40))) == list(range(40)), flush=True)
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_a_process_that_is_killed_takes_no_answer_with_it() -> None:
    script = SCRIPT.replace("SIGNAL", "os.kill(os.getpid(), signal.SIGKILL)")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_planner(number: signal.Signals) -> None:
    script = SCRIPT.replace("SIGNAL", "print(os.getpid(), flush=True); time.sleep(1)")
    planner = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert planner.stdout is not None
    worker = int(planner.stdout.readline())
    planner.send_signal(number)
    out, err = planner.communicate(timeout=60)  # the worker holds the pipe until it has ended
    assert out == "" and err.count("Traceback") == (number == signal.SIGINT)
    for _ in range(100):
        if not os.path.exists(f"/proc/{worker}"):  # noqa: PTH110
            return
        time.sleep(0.1)
    raise AssertionError(f"process {worker} is still there")


def test_a_memo_gives_what_hydra_reads_and_a_change_stays_out_of_it(loader: Any) -> None:
    def composed(*overrides: str) -> dict[str, Any]:
        return identity.plain(loader.load_configuration("config", list(overrides), RunMode.RUN))

    cells = [("scorer=dot",), ("decoder=fixed_vector", "seed=3"), ("experiment=demo", "scorer=general"), ()]
    plain = [composed(*cell) for cell in cells]
    loader.repository = ahead.Memo(loader.repository)
    assert [composed(*cell) for cell in cells] == plain
    assert [composed(*cell) for cell in reversed(cells)] == plain[::-1]
