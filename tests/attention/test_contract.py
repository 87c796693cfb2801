"""What every scorer under every window owes, asked one step at a time and all steps at once.

The clauses are functions of `attnlab.contract.joined`, which `attnlab check` runs on outside ones too: each
raises where it does not hold. tests/contract has a fault planted for each of them.
"""

import pytest

from attnlab.contract import joined

from .grid import LOCAL, SCORERS, WINDOWS, D, make

SIZE = 4


@pytest.fixture(params=[True, False], ids=["one_step", "all_steps"])
def one_step(request) -> bool:
    return request.param


@pytest.fixture(params=WINDOWS)
def window(request) -> str:
    return request.param


@pytest.fixture(params=SCORERS)
def scorer(request) -> str:
    return request.param


@pytest.mark.parametrize("precision", joined.PRECISIONS)
def test_masks_hold_in_every_precision(scorer, window, one_step, precision):
    attention = make(scorer, window, SIZE)
    weights = joined.masks_hold(attention, precision, one_step, at_most_one=window == "local_p")
    if window in LOCAL:
        assert weights.ne(0).sum(-1).max() <= 2 * D + 1


def test_half_precision_agrees_with_single(scorer, window, one_step):
    joined.half_agrees_with_single(make(scorer, window, SIZE), one_step)


def test_one_step_gives_what_all_steps_give(scorer, window):
    joined.one_step_gives_what_all_steps_give(make(scorer, window, SIZE))


def test_a_sentence_is_attended_to_as_if_it_were_alone(scorer, window, one_step):
    joined.a_sentence_is_as_if_alone(make(scorer, window, SIZE), one_step)


def test_a_row_with_nothing_to_attend_to_leaves_the_gradients_of_the_others(scorer, window, one_step):
    joined.an_empty_sentence_leaves_the_gradients_of_the_others(make(scorer, window, SIZE), one_step)


def test_the_source_is_prepared_once_a_batch_and_nothing_of_it_is_kept(scorer, window):
    joined.nothing_of_a_batch_is_kept(make(scorer, window, SIZE))


def test_sentences_can_be_selected_from_the_memory(scorer, window):
    joined.sentences_can_be_selected(make(scorer, window, SIZE))
