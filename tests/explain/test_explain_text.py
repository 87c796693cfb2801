"""The plain-text form of the walkthrough, and the numbers that the literature's example has."""

import re
from pathlib import Path

import pytest

from attnlab.explain.__main__ import main
from attnlab.explain.numbers import numbers
from attnlab.explain.text import COLUMNS

GOLDEN = Path(__file__).with_name("walkthrough.txt")


def test_the_text_of_the_worked_example_is_the_golden_one(capsys):
    assert main(["--text"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "known",
    ["0.404, 0.821, 0.150", "0.4026, 0.3724, 0.4243", "0.55, -0.17 and 0.61", "0.2804, 0.4499, 0.2697"],
)
def test_the_golden_text_has_the_examples_numbers(known):
    assert known in " ".join(GOLDEN.read_text(encoding="utf-8").split())


def test_the_text_fits_a_terminal_and_holds_no_mark():
    text = GOLDEN.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert not re.search(r"[{}`]|\*\w", text)


def test_it_has_nine_steps_and_an_answer_for_each_question():
    text = GOLDEN.read_text(encoding="utf-8")
    assert re.findall(r"^(\d)\. .*\n-+$", text, re.MULTILINE) == [str(k) for k in range(1, 10)]
    asked, _, answered = text.partition("Questions\n")[2].partition("Answers\n")
    count = [len(re.findall(r"^\d+\. ", part, re.MULTILINE)) for part in (asked, answered)]
    assert count[0] == count[1] >= 8


def test_no_decoder_state_on_the_slider_makes_the_weights_anything_but_shares():
    tree = numbers()
    assert sum(tree["a"]) == pytest.approx(1, abs=1e-12)
    assert [sum(row) for row in tree["jacobian"]] == pytest.approx([0, 0, 0], abs=1e-12)
