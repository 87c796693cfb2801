"""docs/explain.md describes the verb as it is."""

import re

from attnlab.explain.options import parser
from attnlab.explain.words import words


def text(repository):
    return (repository / "docs" / "explain.md").read_text(encoding="utf-8")


def test_every_option_is_described_and_no_other(repository):
    table = text(repository).partition("## Options")[2].partition("## The nine steps")[0]
    told = set(re.findall(r"^\| `(--[\w-]+)", table, re.MULTILINE))
    known = {name for action in parser()._actions for name in action.option_strings if name.startswith("--")}
    assert known - {"--help"} == told


def test_its_steps_are_those_of_the_walkthrough(repository):
    found = re.findall(r"^\| (\d) (\w+) \|", text(repository), re.MULTILINE)
    assert found == [(str(k), step.id) for k, step in enumerate(words().steps, start=1)]


def test_the_files_it_names_are_there(repository):
    table = text(repository).partition("## Where what is")[2]
    names = re.findall(r"`([\w/.]+)`", table.partition("A new word")[0])
    package = repository / "src" / "attnlab" / "explain"
    there = [name for name in names if name.endswith((".py", ".yaml", "/"))]
    assert len(there) >= 9
    assert [name for name in there if not (package / name).exists()] == []
