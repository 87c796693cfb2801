"""`attnlab VERB --help`: what each verb does, what it reads and writes, and a line to start from."""

import importlib
import re
import sys

import pytest

from attnlab.cli import VERBS


def called(verb, option, monkeypatch, capsys):
    """The exit status and what is said, from the verb's own door, without a process."""
    module = importlib.import_module(VERBS[verb][0])
    if not hasattr(module, "main"):
        module = importlib.import_module(f"{VERBS[verb][0]}.__main__")
    monkeypatch.setattr(sys, "argv", [f"attnlab {verb}", option])
    try:
        status = module.main()
    except SystemExit as end:
        status = end.code
    return status, capsys.readouterr()


def help_of(verb, monkeypatch, capsys):
    status, said = called(verb, "--help", monkeypatch, capsys)
    assert not status
    assert said.err == ""
    return said.out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example(verb, monkeypatch, capsys):
    said = help_of(verb, monkeypatch, capsys)
    lines = [line.strip().removeprefix("example: ") for line in said.splitlines()]
    # The first line or the usage say in brackets what it takes; an example could be typed.
    assert any(re.match(rf"attnlab {verb}( [^\[\]\s]|$)", line) for line in lines), said
    # What it leaves where, and what it needs for that.
    assert re.search(r"\b(writes?|gets)\b", said, re.IGNORECASE), said
    if verb not in ("evaluate", "report"):  # which begin with it: from a finished run, of any folders
        assert re.search(r"\breads?\b", said, re.IGNORECASE), said


def test_options_of_every_verb_are_explained(monkeypatch, capsys):
    for verb in ("translate", "status", "reproduce", "evaluate", "align", "report"):
        said = help_of(verb, monkeypatch, capsys)
        bare = re.findall(r"^  (-\S+(?: \S+)?|[a-z]+)$\n(?! {10,}\S)", said, re.MULTILINE)
        assert bare == [], f"{verb}: {bare}"


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("train", "plan", "prepare")])
def test_an_option_that_there_is_not_is_one_line(verb, monkeypatch, capsys):
    status, said = called(verb, "--bogus", monkeypatch, capsys)
    assert (status, said.out) == (2, "")
    assert said.err.startswith("attnlab: ") and said.err.endswith(f" (attnlab {verb} --help)\n")
    assert said.err.count("\n") == 1
