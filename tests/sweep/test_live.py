"""What a sweep shows: a line a running cell and a total, on narrow terminals, with many cells, or none."""

import io
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from attnlab.sweep import live
from attnlab.sweep.live import Board
from attnlab.sweep.pool import Verdict

PROGRESS = {
    "phase": "training",
    "update": 300,
    "of": 1000,
    "tokens_per_s": 12345.6,
    "left_s": 750.0,
    "seconds": 60,
}


def cells(top: Path, count: int) -> list[SimpleNamespace]:
    """Cells of which each has told that it trains, as the process of its index."""
    found = []
    for n in range(count):
        folder = top / str(n)
        folder.mkdir()
        (folder / "progress.json").write_text(json.dumps({**PROGRESS, "pid": 1000 + n}))
        name = f"scorer=additive decoder=input_feeding window=local_p seed={n}"
        found.append(SimpleNamespace(name=name, folder=folder))
    return found


def running(*indices: int) -> dict:
    return {n: SimpleNamespace(pid=1000 + n, seconds=60.0) for n in indices}


def drawn(works: list, now: dict, waiting: int, width: int = 80, height: int = 24) -> list[str]:
    """The lines of the last picture on a terminal."""
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=height, color_system=None)
    board = Board(works, 8, console, terminal=True)
    board.ended(0, Verdict("done"), 100.0)
    board.tick(now, waiting)
    picture = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    picture.print(board._drawn(now, waiting))
    return picture.file.getvalue().rstrip("\n").split("\n")


def test_a_running_cell_has_a_line_and_all_cells_a_bar(tmp_path: Path) -> None:
    *lines, total = drawn(cells(tmp_path, 3), running(1), 1, width=140)
    assert len(lines) == 1
    for word in ("scorer=additive", "seed=1", "training", "300/1000", "12.3k tok/s", "12 min left"):
        assert word in lines[0]
    assert "1 of 3 done, 0 failed, 2 left" in total
    assert "until" in total


def test_a_hundred_cells_fit_a_small_terminal(tmp_path: Path) -> None:
    lines = drawn(cells(tmp_path, 100), running(*range(60)), 39)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert "training" in lines[0] and "300/1000" in lines[0] and "12 min left" in lines[0]
    assert lines[-2] == "and 40 more"
    assert "1 of 100 done, 0 failed, 99 left" in lines[-1]


def test_a_very_small_terminal_is_survived(tmp_path: Path) -> None:
    assert max(map(len, drawn(cells(tmp_path, 3), running(1, 2), 0, width=20, height=2))) <= 20


def test_what_an_earlier_attempt_has_left_is_not_shown(tmp_path: Path) -> None:
    works = cells(tmp_path, 2)
    now = {1: SimpleNamespace(pid=77, seconds=5.0)}
    line = drawn(works, now, 0, width=140)[0]
    assert "starting" in line and "300/1000" not in line


def test_names_are_no_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (work,) = cells(tmp_path, 1)
    work.name = "logger=[csv,wandb] seed=1"
    assert any("logger=[csv,wandb]" in line for line in drawn([work], running(0), 0, width=140))


def test_without_a_terminal_there_is_a_line_at_start_and_end_and_now_and_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    monkeypatch.setenv("FORCE_COLOR", "1")  # which CI services set, and makes no terminal of a file
    works = cells(tmp_path, 3)
    with Board(works, 1, terminal=None) as board:
        board.started(0, running(0)[0], 0)
        for _ in range(400):
            now[0] += 1
            board.tick(running(0), 2)
        board.again(0, Verdict("failed", "ended with 1"))
        board.started(0, running(0)[0], 1)
        board.ended(0, Verdict("done", "BLEU test 1.00"), 400.0)
        board.held(1)
        board.ended(1, Verdict("failed", "killed by SIGKILL"), None)
    name = works[0].name[:-1]
    report, cell, *others = (
        line for line in capsys.readouterr().out.splitlines() if not line.startswith("[")
    )
    assert report.startswith("0 of 3 done, 0 failed, 3 left (")
    assert cell == f"  {name}0: training, 300/1000, 12.3k tok/s, 12 min left"
    assert others == []


def test_ends_are_told_in_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    works = cells(tmp_path, 2)
    works[0].name, works[1].name = "seed=1", "seed=2"
    board = Board(works, 1, terminal=False)
    board.started(0, running(0)[0], 0)
    board.again(0, Verdict("failed", "ended with 1"))
    board.started(0, running(0)[0], 1)
    board.ended(0, Verdict("done", "BLEU test 1.00"), 400.0)
    board.held(1)
    board.ended(1, Verdict("failed", "killed by SIGKILL"), None)
    assert capsys.readouterr().out.splitlines() == [
        "[1/2] started: seed=1",
        "[1/2] failed (ended with 1), to be tried again: seed=1",
        "[1/2] started again (attempt 2): seed=1",
        "[1/2] finished after 7 min, BLEU test 1.00: seed=1",
        "[2/2] another process has it, looked at again later: seed=2",
        "[2/2] FAILED, killed by SIGKILL: seed=2",
    ]


@pytest.mark.parametrize(
    ("durations", "now", "waiting", "slots", "expected"),
    [
        ([], [], 0, 2, 0.0),
        ([], [(10.0, None)], 3, 2, None),
        ([100.0], [], 4, 2, 200.0),
        ([100.0], [(60.0, None)], 1, 1, 140.0),
        ([100.0], [(60.0, 500.0)], 1, 2, 500.0),  # no sooner than the last of those that run
        ([], [(50.0, 50.0)], 2, 1, 250.0),
        ([100.0], [(300.0, None)], 0, 1, None),  # longer than the others, nobody knows how much
    ],
)
def test_the_time_left_is_that_of_all_cells_over_the_slots(
    durations: list, now: list, waiting: int, slots: int, expected: float | None
) -> None:
    assert live.seconds_left(durations, now, waiting, slots) == expected


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (99, "99 s"), (120, "2 min"), (3600 * 3 + 61, "3 h 01"), (3600 * 52, "2 d 4 h")],
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert live.duration(seconds) == words


def test_a_terminal_is_a_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(live.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setitem(os.environ, "TERM", "dumb")
    assert Board([], 1)._live is None
