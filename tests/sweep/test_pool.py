"""The queue of cells, on commands of a line: what fails, hangs, is held, or killed, and what is left behind."""

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import attnlab
from attnlab.errors import UserError
from attnlab.sweep import guard, pool, state
from attnlab.sweep.slots import Need, Slots

TINY = Path(__file__).parent / "tiny.py"
tiny = runpy.run_path(str(TINY))
Tiny, Told = tiny["Tiny"], tiny["Told"]

# A shell that is deaf to SIGTERM, with a child in a session of its own, as W&B's service is; both note themselves.
DEAF = "trap '' TERM; setsid sleep 300 & echo $! > $HERE/child; echo $$ > $HERE/leader; while :; do sleep 0.1; done"


def run(cells, slots=1, available=(), per_device=1, **limits):
    told = Told()
    room = Slots(slots, per_device, available=list(available))
    verdicts = pool.run(cells, room, pool.Limits(**{"grace": 5, **limits}), told)
    return [verdict.state for verdict in verdicts], told


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def alive(pid):
    """Whether a process runs; one that nobody has reaped yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def noted(*paths):
    """The process ids in these files, as soon as they are there."""
    until(lambda: all(path.exists() and path.read_text().strip() for path in paths))
    return [int(path.read_text()) for path in paths]


@pytest.fixture
def launch():
    """Starts launchers as processes of their own; what a test leaves of them is killed."""
    started = []

    def start(top, cells, slots=2, grace=5):
        process = subprocess.Popen(
            [sys.executable, str(TINY), str(top), str(slots), str(grace), *cells],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(attnlab.__file__).parents[1])},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_cells_run_side_by_side_each_with_its_log_and_in_their_order(tmp_path):
    # each of the first two waits for the other
    meet = "touch $HERE/{0}; echo words of {0}; until test -e $HERE/{1}; do sleep 0.05; done"
    cells = [
        Tiny(tmp_path, "a", meet.format("x", "y")),
        Tiny(tmp_path, "b", meet.format("y", "x")),
        Tiny(tmp_path, "c", "echo words of c"),
    ]
    states, told = run(cells, slots=2)
    assert states == ["done"] * 3
    assert told.most == 2
    assert [words[1] for words in told.lines if words[0] == "started"] == [0, 1, 2]
    logs = [(cell.folder / "train.log").read_text() for cell in cells]
    assert logs == ["words of x\n", "words of y\n", "words of c\n"]


def test_a_device_has_one_cell_at_a_time_and_a_long_list_queues(tmp_path):
    script = "mkdir $HERE/on$CUDA_VISIBLE_DEVICES || exit 9; sleep 0.3; rmdir $HERE/on$CUDA_VISIBLE_DEVICES"
    cells = [
        Tiny(tmp_path, str(n), f"{script}; echo $CUDA_VISIBLE_DEVICES > $HERE/seen{n}") for n in range(5)
    ]
    states, told = run(cells, slots=None, available=["0", "1"])
    assert states == ["done"] * 5
    assert told.most == 2
    assert {(tmp_path / f"seen{n}").read_text() for n in range(5)} == {"0\n", "1\n"}


def test_a_cell_of_two_devices_has_both_and_keeps_its_place_in_the_queue(tmp_path):
    script = "echo $CUDA_VISIBLE_DEVICES > $HERE/{}; sleep 0.2"
    needs = [Need(), Need(2, 2), Need()]
    cells = [Tiny(tmp_path, f"c{n}", script.format(n), need) for n, need in enumerate(needs)]
    states, told = run(cells, slots=None, available=["0", "1"])
    assert states == ["done"] * 3
    assert [(tmp_path / str(n)).read_text() for n in range(3)] == ["0\n", "0,1\n", "0\n"]
    assert told.most == 1


def test_a_cell_that_asks_for_more_devices_than_there_are_fails_alone(tmp_path):
    cells = [Tiny(tmp_path, "big", "exit 0", Need(3, 3)), Tiny(tmp_path, "small", "exit 0")]
    states, told = run(cells, slots=None, available=["0", "1"])
    assert states == ["failed", "done"]
    assert "trainer.devices=3, but 2 devices are visible" in told.lines[0][3]


def test_one_that_fails_is_killed_or_cannot_start_stops_no_other(tmp_path):
    (tmp_path / "file").write_text("no folder")
    cells = [
        Tiny(tmp_path, "raises", "exit 3"),
        Tiny(tmp_path, "killed", "kill -9 $$"),
        Tiny(tmp_path / "file", "nowhere", "exit 0"),
        Tiny(tmp_path, "good", "exit 0"),
    ]
    states, _ = run(cells)
    assert states == ["failed", "failed", "failed", "done"]
    assert [cell.ends[0].status for cell in cells[:2]] == [3, -9]
    assert [cell.ends[0].cause for cell in cells[:2]] == [None, None]


@pytest.mark.parametrize("limit", ["timeout", "stall"])
def test_a_cell_that_hangs_is_ended_with_all_it_started(tmp_path, limit):
    cells = [Tiny(tmp_path, "hangs", DEAF), Tiny(tmp_path, "good", "exit 0")]
    states, _ = run(cells, grace=0.3, **{limit: 1.0})
    assert states == ["failed", "done"]
    assert cells[0].ends[0].cause == {"timeout": "timeout", "stall": "stalled"}[limit]
    assert [alive(pid) for pid in noted(tmp_path / "leader", tmp_path / "child")] == [False, False]


def test_a_cell_that_shows_signs_of_life_is_not_stalled(tmp_path):
    cells = [Tiny(tmp_path, "slow", "for i in 1 2 3 4 5 6 7 8; do echo $i > progress; mv progress $HERE/slow/progress.json; sleep 0.4; done")]  # fmt: skip
    os.chdir(tmp_path)
    assert run(cells, stall=1.5)[0] == ["done"]


def test_nothing_that_a_cell_started_outlives_it(tmp_path):
    cells = [
        Tiny(tmp_path, "leaves", "setsid sleep 300 & echo $! > $HERE/child"),
        Tiny(tmp_path, "good", "exit 0"),
    ]
    assert run(cells)[0] == ["done", "done"]
    assert not alive(*noted(tmp_path / "child"))


def test_fail_fast_ends_what_runs_and_starts_no_more(tmp_path):
    cells = [
        Tiny(tmp_path, "runs", "echo $$ > $HERE/leader; trap 'touch $HERE/asked; exit 1' TERM; while :; do sleep 0.1; done"),
        Tiny(tmp_path, "fails", "until test -s $HERE/leader; do sleep 0.05; done; exit 1"),
        Tiny(tmp_path, "never", "touch $HERE/never-started"),
    ]  # fmt: skip
    states, _ = run(cells, slots=2, fail_fast=True)
    assert states == ["interrupted", "failed", "pending"]
    assert (tmp_path / "asked").exists()
    assert not (tmp_path / "never-started").exists()


def test_a_failed_cell_is_tried_again_after_the_others(tmp_path):
    cells = [
        Tiny(tmp_path, "second", "test $ATTEMPT = 1"),
        Tiny(tmp_path, "never", "exit 1"),
        Tiny(tmp_path, "good", "exit 0"),
    ]
    states, told = run(cells, max_retries=1)
    assert states == ["done", "failed", "done"]
    assert [words[1] for words in told.lines if words[0] == "started"] == [0, 1, 2, 0, 1]


def test_a_held_cell_is_looked_at_again_after_the_others(tmp_path):
    cells = [Tiny(tmp_path, "held", "exit 0"), Tiny(tmp_path, "free", "touch $HERE/release")]
    script = "import fcntl, sys, time, pathlib\nf = open(sys.argv[1], 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\nprint('held', flush=True)\nwhile not pathlib.Path(sys.argv[2]).exists(): time.sleep(0.05)"
    cells[0].folder.mkdir()
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(cells[0].folder / ".lock"), str(tmp_path / "release")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout.readline() == "held\n"
    states, told = run(cells)
    other.communicate()
    assert states == ["done", "done"]
    assert told.lines[0] == ("held", 0)
    assert [words[1] for words in told.lines if words[0] == "started"] == [1, 0]


def test_two_launchers_share_the_cells_and_start_none_twice(tmp_path, launch):
    cells = [f"c{n}=echo x >> $HERE/starts{n}; sleep 0.2" for n in range(12)]
    launchers = [launch(tmp_path, cells) for _ in range(2)]
    for launcher in launchers:
        output, _ = launcher.communicate(timeout=120)
        assert output.split() == ["done"] * 12
    assert [(tmp_path / f"starts{n}").read_text() for n in range(12)] == ["x\n"] * 12
    shares = [
        [json.loads(line) for line in path.read_text().splitlines()] for path in tmp_path.glob("told-*")
    ]
    started = [sum(words[0] == "started" for words in lines) for lines in shares]
    assert sum(started) == 12
    assert min(started) > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_the_cells_to_end_and_starts_no_more(tmp_path, launch, number):
    patient = "trap 'touch $HERE/asked{0}; exit 1' TERM; echo $$ > $HERE/pid{0}; while :; do sleep 0.1; done"
    cells = [f"c{n}={patient.format(n)}" for n in range(3)]
    launcher = launch(tmp_path, cells)
    pids = noted(tmp_path / "pid0", tmp_path / "pid1")
    launcher.send_signal(number)
    output, _ = launcher.communicate(timeout=60)
    assert launcher.returncode == 128 + number
    assert output.split() == ["interrupted", "interrupted", "pending"]
    assert not any(map(alive, pids))
    assert (tmp_path / "asked0").exists() and (tmp_path / "asked1").exists()
    assert not (tmp_path / "pid2").exists()


def test_a_second_signal_kills_at_once(tmp_path, launch):
    launcher = launch(tmp_path, [f"deaf={DEAF}"], grace=10000)
    pids = noted(tmp_path / "leader", tmp_path / "child")
    launcher.send_signal(signal.SIGINT)
    time.sleep(1)  # two within half a second count as one
    assert launcher.poll() is None
    launcher.send_signal(signal.SIGINT)
    launcher.communicate(timeout=60)
    assert launcher.returncode == 130
    until(lambda: not any(map(alive, pids)))


def test_the_cells_of_a_killed_launcher_end_and_the_next_one_takes_them(tmp_path, launch):
    first = launch(tmp_path, [f"deaf={DEAF}"], grace=2)
    pids = noted(tmp_path / "leader", tmp_path / "child")
    second = launch(tmp_path, [f"deaf=echo $(ps -o stat= -p {pids[0]}) > $HERE/beside"])
    told = tmp_path / f"told-{second.pid}"
    until(told.exists)
    first.kill()
    first.wait()
    output, _ = second.communicate(timeout=60)
    assert output.split() == ["done"]
    assert not any(map(alive, pids))
    assert (tmp_path / "beside").read_text()[0] in "\nZ"  # the orphan had ended before the cell began again
    assert json.loads(told.read_text().splitlines()[0]) == ["held", 0]


def test_what_goes_wrong_in_the_launcher_leaves_no_cell_behind(tmp_path):
    class Broken(Told):
        def tick(self, running, waiting):
            if (tmp_path / "child").exists():
                raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        pool.run([Tiny(tmp_path, "deaf", DEAF)], Slots(1, available=[]), pool.Limits(grace=0.3), Broken())
    assert not any(map(alive, noted(tmp_path / "leader", tmp_path / "child")))


def test_the_callers_signals_are_given_back(tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    run([Tiny(tmp_path, "good", "exit 0")])
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_an_idle_launcher_does_not_spin(tmp_path):
    before = time.process_time()
    run([Tiny(tmp_path, "sleeps", "sleep 2")])
    assert time.process_time() - before < 1.0  # a loop without a pause would take both seconds


def test_a_guard_finds_those_of_its_launcher_alone():
    with guard.Guard(1) as mine, guard.Guard(1) as other:
        token = mine.token()
        process = subprocess.Popen(["sleep", "60"], env={**os.environ, guard.VARIABLE: token})
        try:
            until(lambda: guard.members(token) == [process.pid])  # it has become `sleep`
            assert guard.members(mine.token()) == guard.members(other.token()) == []
        finally:
            process.kill()
            process.wait()
    assert guard.members(token) == []


@pytest.mark.parametrize("name", ["grace", "timeout", "stall", "max_retries"])
def test_limits_below_zero_are_refused(name):
    with pytest.raises(UserError, match=f"hydra.launcher.{name}=-1"):
        pool.Limits(**{name: -1})


@pytest.mark.parametrize(
    ("name", "value"), [("timeout", "1h"), ("stall", True), ("grace", None), ("max_retries", 1.5)]
)
def test_limits_that_are_no_numbers_are_refused(name, value):
    with pytest.raises(UserError, match=rf"hydra\.launcher\.{name}={value} must be a"):
        pool.Limits(**{name: value})


def test_an_empty_list_is_done_at_once():
    assert run([])[0] == []
    assert state.DONE == "done"
