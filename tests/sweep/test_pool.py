"""How cores and devices are shared out among slots."""

import os

import pytest

from attnlab.sweep import pool


@pytest.mark.parametrize(
    ("visible", "found"), [("0,1", ["0", "1"]), ("GPU-ab, GPU-cd", ["GPU-ab", "GPU-cd"]), ("", [])]
)
def test_devices_are_those_that_may_be_seen(
    monkeypatch: pytest.MonkeyPatch, visible: str, found: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert pool.devices() == found


@pytest.mark.parametrize(
    ("slots", "available", "shares"),
    [
        (2, ["0", "1"], ["0", "1"]),
        (2, ["0", "1", "2", "3"], ["0,2", "1,3"]),
        (3, ["a", "b"], ["a", "b", "a"]),
    ],
)
def test_slots_share_the_devices(slots: int, available: list[str], shares: list[str]) -> None:
    seen = [pool.environment(slot, slots, 1, available)["CUDA_VISIBLE_DEVICES"] for slot in range(slots)]
    assert seen == shares


def test_one_slot_sees_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert pool.environment(0, 1, 1, ["0", "1"])["CUDA_VISIBLE_DEVICES"] == "0,1"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert "CUDA_VISIBLE_DEVICES" not in pool.environment(0, 2, 1, [])


def test_threads_are_those_asked_for_or_a_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    for threads, slots, expected in [(3, 2, "3"), (None, 2, "4"), (None, 16, "1")]:
        variables = pool.environment(0, slots, threads, [])
        assert (variables["OMP_NUM_THREADS"], variables["MKL_NUM_THREADS"]) == (expected, expected)
    assert pool.environment(0, 1, 6, [], ranks=2)["OMP_NUM_THREADS"] == "3"
