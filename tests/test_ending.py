"""How verbs end: one line and a status, and silence for a reader that has seen enough."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab.ending import Console, ReaderGone, told
from attnlab.errors import UserError


def test_a_verb_that_comes_to_its_end_keeps_its_status():
    assert told(lambda: 3) == 3


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (UserError("no such thing"), 2, "attnlab: no such thing\n"),
        (KeyboardInterrupt(), 130, "attnlab: interrupted\n"),
    ],
)
def test_what_ends_a_verb_early_is_one_line(capsys, error, status, words):
    def verb():
        raise error

    assert told(verb) == status
    assert capsys.readouterr().err == words


def test_a_closed_pipe_is_no_error_and_python_says_nothing_on_its_way_out():
    code = "import sys; from attnlab.ending import told; sys.exit(told(lambda: print('x\\n' * 10**6) or 0))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"x\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_standard_output_is_one_line():
    code = "import sys; from attnlab.ending import told; sys.exit(told(lambda: print('x\\n' * 10**5) or 0))"
    with Path("/dev/full").open("w") as full:
        made = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (made.returncode, made.stderr) == (
        2,
        "attnlab: standard output: No space left on device; make room\n",
    )


def test_the_terminal_leaves_out_what_the_last_line_says(capsys):
    logger, handler = logging.Logger("x"), Console(sys.stdout)
    logger.addHandler(handler)
    logger.error("twice", extra={"told": True})
    logger.error("once")
    assert capsys.readouterr().out == "once\n"


def test_a_closed_pipe_ends_what_logs_to_it():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(os.dup(1), "w") as kept, os.fdopen(writing, "w", closefd=False) as stream:
        logger = logging.Logger("x")
        logger.addHandler(Console(stream))
        with pytest.raises(ReaderGone):
            logger.error("words")
        os.dup2(kept.fileno(), writing)  # what is in the buffer has to go somewhere
    os.close(writing)


def closed(arguments, folder, environment=None):
    """A command whose standard output has no reader: its status and what it says on stderr."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=environment,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments", [["--help"], ["report", "--help"], ["translate", "--help"], ["train", "--help"]]
)
def test_help_without_a_reader_is_quiet(tmp_path, arguments):
    assert closed(["attnlab.cli", *arguments], tmp_path) == (0, "")


def test_a_report_without_a_reader_is_written_and_quiet(repository, tmp_path):
    records = repository / "experiments" / "demo" / "records"
    assert closed(["attnlab.cli", "report", str(records)], tmp_path) == (0, "")
    assert (tmp_path / "report" / "table.md").is_file()


def test_a_sweep_without_a_reader_ends_like_any_tool(command):
    status = closed(["attnlab.cli", "train", "-m", "seed=1,2"], command.folder, command.environment)
    assert status == (141, "")
    assert command.records() == {}


def test_a_run_without_a_reader_ends_like_any_tool_and_says_so_in_its_record(real_command):
    small = ["data.train_pairs=60", "data.val_pairs=4", "data.test_pairs=4", "data.cache_dir=cache"]
    arguments = ["attnlab.cli", "train", *small, "encoder.hidden_size=8", "decoder.hidden_size=8"]
    assert closed(arguments, real_command.folder, real_command.environment) == (141, "")
    (failed,) = real_command.folder.glob("outputs/*/*/*/failed.json")
    assert "nobody read its output" in failed.read_text()
