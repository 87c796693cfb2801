"""How devices, places and cores are shared out among cells."""

import os

import pytest

from attnlab.errors import UserError
from attnlab.sweep import slots
from attnlab.sweep.slots import Need, Slots


def filled(room: Slots, need: Need) -> list[slots.Share]:
    """As many cells as fit."""
    shares = []
    while (share := room.take(need)) is not None:
        shares.append(share)
    return shares


@pytest.mark.parametrize(
    ("visible", "found"),
    [("0,1", ["0", "1"]), ("GPU-ab, GPU-cd", ["GPU-ab", "GPU-cd"]), ("", []), ("-1", []), ("2,-1,3", ["2"])],
)
def test_devices_are_those_that_may_be_seen(
    monkeypatch: pytest.MonkeyPatch, visible: str, found: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert slots.devices() == found


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({}, [("0",), ("1",)]),
        ({"per_device": 2}, [("0",), ("1",), ("0",), ("1",)]),
        ({"slots": 1}, [("0",)]),
        ({"slots": 9}, [("0",), ("1",)]),
    ],
)
def test_a_device_takes_no_more_than_it_may(options: dict[str, int], seen: list[tuple[str, ...]]) -> None:
    room = Slots(**options, available=["0", "1"])
    assert [share.devices for share in filled(room, Need())] == seen
    assert room.count == len(seen)


def test_a_place_given_back_is_taken_again_where_it_was() -> None:
    room = Slots(available=["0", "1"])
    first, second = filled(room, Need())
    room.give(second)
    again = room.take(Need())
    assert again is not None and again.devices == second.devices != first.devices


@pytest.mark.parametrize(("wanted", "given"), [(2, ("a", "b")), (-1, ("a", "b", "c"))])
def test_a_cell_of_several_devices_sees_as_many_and_no_device_twice(
    wanted: int, given: tuple[str, ...]
) -> None:
    room = Slots(per_device=2, available=["a", "b", "c"])
    share = room.take(Need(2, wanted))
    assert share is not None and share.devices == given
    assert share.variables["CUDA_VISIBLE_DEVICES"] == ",".join(given)


def test_cells_on_the_cpu_leave_the_devices_free() -> None:
    room = Slots(available=["0"])
    (on_cpu,) = filled(room, Need(2, 0))
    assert "CUDA_VISIBLE_DEVICES" not in on_cpu.variables
    assert len(filled(room, Need())) == 1


@pytest.mark.parametrize(("asked", "count"), [(None, 1), (3, 3)])
def test_without_devices_there_are_as_many_places_as_were_asked_for(asked: int | None, count: int) -> None:
    room = Slots(asked, available=[])
    shares = filled(room, Need(1, 1))
    assert len(shares) == room.count == count
    assert all("CUDA_VISIBLE_DEVICES" not in share.variables for share in shares)


@pytest.mark.parametrize(
    ("options", "need", "threads"),
    [
        ({"slots": 2}, Need(), "4"),
        ({"slots": 16}, Need(), "1"),
        ({"slots": 2, "threads": 3}, Need(), "3"),
        ({"threads": 6}, Need(2), "3"),
        ({"slots": 2}, Need(2), "2"),
        ({"available": ["0", "1"]}, Need(), "4"),
        ({"available": ["0", "1"], "per_device": 4}, Need(), "1"),
        ({"available": ["0", "1"]}, Need(2, 2), "4"),
    ],
)
def test_threads_are_those_asked_for_or_a_share_of_the_cores(
    monkeypatch: pytest.MonkeyPatch, options: dict, need: Need, threads: str
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    share = Slots(**{"available": [], **options}).take(need)
    assert share is not None
    assert (share.variables["OMP_NUM_THREADS"], share.variables["MKL_NUM_THREADS"]) == (threads, threads)


@pytest.mark.parametrize("name", ["slots", "per_device", "threads"])
def test_numbers_below_one_are_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"hydra.launcher.{name}=0 must be at least 1"):
        Slots(**{name: 0})


@pytest.mark.parametrize(("name", "value"), [("slots", "two"), ("threads", 1.5), ("per_device", None)])
def test_what_is_no_whole_number_is_refused(name: str, value: object) -> None:
    with pytest.raises(UserError, match=f"hydra.launcher.{name}={value} must be a whole number"):
        Slots(**{name: value})  # type: ignore[arg-type]


def test_more_devices_than_there_are_can_never_be_given() -> None:
    room = Slots(available=["0", "1"])
    room.check(Need(2, 2))
    with pytest.raises(UserError, match=r"trainer.devices=3, but 2 devices are visible.*\[seed=1\]"):
        room.check(Need(3, 3, "seed=1"))
