"""In what state a run folder is, told without touching it, and who holds it."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from attnlab import results
from attnlab.errors import UserError
from attnlab.sweep import state, status

CONFIG = {
    "cell": {"encoder": "bilstm", "scorer": "dot", "decoder": "post_combine", "window": "global"},
    "overrides": ["scorer=dot"],
    "command": "attnlab train scorer=dot",
    "seed": 3,
    "study": None,
    "about": {"factors": {"asks": "current"}},
    "encoder": {"hidden_size": 8},
}
HOLD = """
import sys, time
from pathlib import Path
from attnlab.sweep import state
with state.locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def holder(tmp_path: Path):
    """A process that trains in a folder, as far as locks go."""
    started = []

    def start(folder: Path, seconds: float = 60) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(folder), str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(results.__file__).parents[1])},
        )
        started.append(process)
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    return folder


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], "pending"),
        ([".lock", ".launch", "train.log"], "pending"),
        (["config.yaml"], "interrupted"),
        (["checkpoints/last.ckpt"], "interrupted"),
        (["config.yaml", "failed.json", "checkpoints/last.ckpt"], "failed"),
        (["config.yaml", "failed.json", "result.json"], "done"),
    ],
)
def test_a_folder_is_told_by_its_files(tmp_path: Path, names: list[str], expected: str) -> None:
    assert state.of(write(tmp_path, *names)) == expected


def test_a_record_cut_short_is_none(tmp_path: Path) -> None:
    (write(tmp_path, "config.yaml") / "result.json").write_text('{"status": "do')
    assert state.of(tmp_path) == "interrupted"


@pytest.mark.parametrize("text", ['{"error": "of another program"}', '{"error": [1]}', "{}"])
def test_a_failure_without_its_words_has_failed_all_the_same(tmp_path: Path, text: str) -> None:
    (write(tmp_path, "config.yaml") / "failed.json").write_text(text)
    assert state.of(tmp_path) == "failed"
    assert status.why(tmp_path) == ""


def test_asking_makes_nothing(tmp_path: Path) -> None:
    assert state.of(tmp_path / "away") == "pending"
    assert state.progress(tmp_path / "away") is None
    assert not state.held(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"update": 3}', {"update": 3}), ('{"upd', None), ("3", None), ("[" * 100_000, None)],
)
def test_progress_is_what_can_be_read(tmp_path: Path, text: str, expected: object) -> None:
    (tmp_path / "progress.json").write_text(text)
    assert state.progress(tmp_path) == expected


def test_a_held_folder_runs_until_its_process_ends_however_it_ends(tmp_path: Path, holder) -> None:
    write(tmp_path, "config.yaml", "failed.json")
    process = holder(tmp_path)
    assert state.of(tmp_path) == "running"
    with (
        pytest.raises(UserError, match=rf"is being trained by process {process.pid} on "),
        state.locked(tmp_path),
    ):
        pytest.fail("two processes in one folder")
    process.kill()
    process.wait()
    assert state.of(tmp_path) == "failed"
    with state.locked(tmp_path):
        assert state.of(tmp_path) == "running"


def test_one_who_asks_does_not_keep_a_trainer_out(tmp_path: Path) -> None:
    """`attnlab status` in a loop, beside cells that start."""
    write(tmp_path, ".lock")
    enough = threading.Event()

    def ask() -> None:
        while not enough.is_set():
            state.of(tmp_path)

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        for _ in range(50):
            with state.locked(tmp_path):
                pass
    finally:
        enough.set()
        for thread in asking:
            thread.join()


def test_a_cell_is_claimed_once(tmp_path: Path) -> None:
    first = state.claim(tmp_path / "cell")
    assert first is not None
    assert state.claim(tmp_path / "cell") is None
    os.close(first)
    again = state.claim(tmp_path / "cell")
    assert again is not None
    os.close(again)


def test_a_cell_that_is_trained_by_hand_cannot_be_claimed(tmp_path: Path, holder) -> None:
    process = holder(tmp_path)
    assert state.claim(tmp_path) is None
    process.kill()
    process.wait()
    claim = state.claim(tmp_path)
    assert claim is not None
    os.close(claim)


def test_a_claim_handed_on_outlives_the_launcher(tmp_path: Path) -> None:
    claim = state.claim(tmp_path)
    assert claim is not None
    process = subprocess.Popen(["sleep", "60"], pass_fds=[claim])
    os.close(claim)
    try:
        assert state.claim(tmp_path) is None
    finally:
        process.kill()
        process.wait()
    claim = state.claim(tmp_path)
    assert claim is not None
    os.close(claim)


def test_a_failure_left_by_the_launcher_is_a_whole_record(tmp_path: Path) -> None:
    state.mark_failed(tmp_path, CONFIG, "Killed", "killed by signal 9", ["one", "two"], 12.5)
    record = results.read(tmp_path)
    assert state.of(tmp_path) == "failed"
    assert record["error"] == {"type": "Killed", "message": "killed by signal 9", "traceback": "one\ntwo"}
    assert record["train"] == {"wall_s": 12.5}
    assert (record["seed"], record["cell"]["scorer"], record["overrides"]) == (3, "dot", ["scorer=dot"])
    assert record["config"]["encoder"] == {"hidden_size": 8} and "command" not in record["config"]
    assert record["cell_id"].startswith("dot-post_combine-global-bilstm-")


def test_a_run_that_was_stopped_has_not_failed(tmp_path: Path) -> None:
    state.mark_failed(tmp_path, CONFIG, state.STOPPED, "stopped by a signal before the end")
    assert state.of(tmp_path) == "interrupted"


def test_what_cannot_be_written_to_is_the_users_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="out=DIR"):
        state.claim(tmp_path / "file" / "cell")


def test_reading_states_imports_no_torch() -> None:
    code = "import sys; from attnlab.sweep import state, pool, live; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(results.__file__).parents[1])},
    )
    assert done.stdout == "False\n", done.stderr


def test_waiting_for_a_lock_has_an_end(tmp_path: Path, holder, monkeypatch: pytest.MonkeyPatch) -> None:
    holder(tmp_path)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with pytest.raises(UserError), state.locked(tmp_path):
        pytest.fail("two processes in one folder")
