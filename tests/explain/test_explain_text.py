"""The plain-text form of the walkthrough, and the numbers that the literature's example has."""

# ruff: noqa: RUF001 (mathematical signs)

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from attnlab.explain import example
from attnlab.explain.__main__ import main
from attnlab.explain.numbers import numbers
from attnlab.explain.pictures.lanes import ORDERS
from attnlab.explain.text import COLUMNS
from attnlab.explain.words import plain, words

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
    assert not re.search(r"[{}`~]|\*\w", text)


def test_it_has_nine_steps_and_an_answer_for_each_question():
    text = GOLDEN.read_text(encoding="utf-8")
    assert re.findall(r"^(\d)\. .*\n-+$", text, re.MULTILINE) == [str(k) for k in range(1, 10)]
    asked, _, answered = text.partition("Questions\n")[2].partition("Answers\n")
    count = [len(re.findall(r"^\d+\. ", part, re.MULTILINE)) for part in (asked, answered)]
    assert count[0] == count[1] >= 8


CORNERS = [list(state) for state in itertools.product((-1.0, 0.0, 1.0), repeat=4)]


@pytest.mark.parametrize("additive", [True, False])
def test_no_decoder_state_on_the_slider_makes_the_weights_anything_but_shares(additive):
    for state in [*example.STEPS, example.ELSEWHERE, *CORNERS[::7]]:
        tree = numbers(example.Point(state=state, additive=additive))
        assert min(tree["a"]) > 0 and sum(tree["a"]) == pytest.approx(1, abs=1e-12)
        rows = tree["jacobian"]
        assert [sum(row) for row in rows] == pytest.approx([0, 0, 0], abs=1e-12)
        assert [sum(column) for column in zip(*rows, strict=True)] == pytest.approx([0, 0, 0], abs=1e-12)
        assert [rows[j][j] for j in range(3)] == pytest.approx([a * (1 - a) for a in tree["a"]], abs=1e-12)


def test_a_step_of_the_dot_product_looks_at_each_word_and_the_additive_score_never_at_the_last():
    for step, state in enumerate(example.STEPS):
        assert numbers(example.Point(state=state, additive=False))["heaviest"] == example.SOURCE[step]
    for state in [*example.STEPS, *CORNERS]:
        tree = numbers(example.Point(state=state))
        assert tree["e"][2] < tree["e"][1]


def test_where_the_heaviest_is_not_the_nearest_two_measures_say_so():
    found = numbers()["elsewhere"]
    assert found["a"].index(max(found["a"])) == 1
    assert (
        found["distance"].index(min(found["distance"]))
        == found["straight"].index(min(found["straight"]))
        == 0
    )
    states = np.array(example.H)
    c = np.array(found["a"]) @ states
    assert found["straight"] == pytest.approx(np.sqrt(((c - states) ** 2).sum(1)))
    assert found["distance"] == pytest.approx(np.abs(c - states).mean(1))


def test_counts_are_those_of_sizes_written_out():
    sizes = numbers()["sizes"]
    assert (sizes["doors"], sizes["long_doors"]) == (3 * 4, 60 * 4)
    assert (sizes["W"], sizes["U"], sizes["v"], sizes["additive"]) == ("3 × 4", "3 × 4", 3, 12 + 12 + 3)
    assert (sizes["W_c"], sizes["combine"]) == ("4 × 8", 32)
    assert sizes["recall"] == pytest.approx([math.log(20), math.log(21)])


def test_every_place_in_the_words_is_a_number_of_the_tree():
    tree, said = numbers(), words()
    templates = [said.title, said.lead, said.example, said.runs]
    for step in said.steps:
        templates += [step.title, *step.say, *step.example, *step.runs]
    for question in said.questions:
        templates += [question.ask, question.answer]
    for template in templates:
        assert "{" not in plain(template, tree) and "–" not in plain(template, tree)


def test_the_orders_drawn_are_those_of_the_configuration(repository):
    declared = {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))["about"]["factors"]
        for path in (repository / "conf" / "decoder").glob("*.yaml")
    }
    assert declared == ORDERS
