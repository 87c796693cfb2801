"""How verbs end: one line and a status, and silence for a reader that has seen enough."""

import subprocess
import sys

import pytest

from attnlab.ending import told
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
