"""The clock of a profiled run: its stages are there, and they add up."""

import importlib
import time

import pytest
import stages


@pytest.mark.parametrize("module", stages.WATCHED)
def test_every_watched_function_is_there(module: str) -> None:
    found = importlib.import_module(module)
    for path in stages.WATCHED[module]:
        owner = found
        for part in path.split("."):
            owner = getattr(owner, part)
        assert callable(owner)


def test_time_belongs_to_the_innermost_stage_and_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def spend(seconds: float) -> None:
        now[0] += seconds

    clock = stages.Clock(began=9.0)
    logged = clock.timed(lambda: spend(0.25), "{}: logging")

    def loop() -> None:
        spend(2)
        logged()
        clock.timed(lambda: (spend(4), logged()), "validation: loop")()
        spend(8)

    clock.timed(loop, "training: loop")()
    with pytest.raises(ZeroDivisionError):
        clock.timed(lambda: 1 / 0, "record")()
    spend(1)
    clock._add()
    assert clock.seconds == {
        "start: command and interpreter": 2.0,
        "training: loop": 10.0,
        "training: logging": 0.25,
        "validation: loop": 4.0,
        "validation: logging": 0.25,
        "record": 0.0,
    }
    assert clock.calls["training: logging"] == clock.calls["validation: logging"] == 1
    assert len(clock.stack) == 1
