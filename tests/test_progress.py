"""`progress.json`: what it says, how often it is written, and what an attempt takes over from the last."""

import json
import os

from attnlab import progress
from attnlab.progress import ProgressFile
from attnlab.sweep import state


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


def test_it_says_who_how_far_and_since_when_and_a_watcher_reads_it(tmp_path):
    file = ProgressFile(tmp_path)
    file.note(7, 1)
    file.phase("training", of=20)
    found = state.progress(tmp_path)
    assert {key: found[key] for key in ("phase", "update", "of", "epoch")} == {
        **{"phase": "training", "update": 7},
        **{"of": 20, "epoch": 1},
    }
    assert found["tokens_per_s"] is found["left_s"] is None
    assert (found["pid"], found["host"]) == (os.getpid(), os.uname().nodename)
    assert found["at"].endswith("+00:00") and found["seconds"] >= 0
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]


def test_within_a_phase_it_is_written_every_two_seconds(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    file, seen = ProgressFile(tmp_path), []
    file.phase("testing")
    for _ in range(10):
        clock.now += 0.5
        file.tick()
        seen.append(json.loads(file.path.read_text())["seconds"])
    assert sorted(set(seen)) == [0.0, 2.0, 4.0]


def test_the_next_attempt_counts_on(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    first = ProgressFile(tmp_path)
    clock.now += 3
    first.phase("training")
    clock.now += 10
    first.write()
    first.resumed_at.append(5)
    first.write()
    clock.now += 1000  # nothing runs
    second = ProgressFile(tmp_path)
    assert (second.seconds(), second.training_s(), second.resumed_at) == (13, 10, [5])
    second.phase("training")
    clock.now += 2
    second.phase("testing")
    clock.now += 4
    assert (second.seconds(), second.training_s()) == (19, 12)
    second.at_least(11)
    assert second.training_s() == 12
    second.at_least(50)
    assert second.training_s() == 50


def test_a_file_that_cannot_be_read_or_written_ends_nothing(tmp_path):
    (tmp_path / "progress.json").write_text("{")
    file = ProgressFile(tmp_path)
    assert file.seconds() < 100 and file.resumed_at == []
    ProgressFile(tmp_path / "gone").phase("data")
    (tmp_path / "progress.json").write_text('{"resumed_at": 5, "seconds": "a while"}')
    assert ProgressFile(tmp_path).resumed_at == []


def test_other_ranks_write_nothing(tmp_path):
    file = ProgressFile(tmp_path, first=False)
    file.phase("data")
    file.remove()
    assert list(tmp_path.iterdir()) == []
