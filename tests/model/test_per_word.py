"""What is made of a word alone is made once, and is the same."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.model.per_word import PerWord
from attnlab.model.state import MULTIPLE
from attnlab.search import ready

from .models import ORDERS, build, pairs, spread

STEPS = st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=1, max_size=8)


class Made:
    """Rows of three from an embedding of one, and for which words it was asked."""

    def __init__(self):
        self.words = []

    def __call__(self, values):
        self.words += values[..., 0].int().flatten().tolist()
        return values * torch.tensor([1.0, 2.0, -1.0], dtype=values.dtype)


def answers(kept, words, make):
    words = torch.tensor(words).unsqueeze(0)
    found = kept(words, words.unsqueeze(-1).double(), make)
    assert found.shape == (1, 2, 3)
    assert torch.equal(found, words.unsqueeze(-1) * torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64))


@given(STEPS)
def test_every_word_gets_its_row_and_is_asked_for_once(steps):
    kept, make = PerWord(10), Made()
    for words in steps:
        answers(kept, words, make)
    assert sorted(make.words) == sorted({word for words in steps for word in words})


def test_nothing_asked_is_nothing_made():
    assert PerWord(3)(torch.zeros(2, 0).long(), torch.zeros(2, 0, 1), Made()).shape == (2, 0, 3)


@given(STEPS, st.integers(1, 10))
def test_no_more_is_kept_than_is_allowed(steps, most):
    row = 3 * 8
    kept, make = PerWord(10, most=most * row), Made()
    for words in steps:
        answers(kept, words, make)
        assert kept.count <= max(most, 2)  # a step of two words has to have them
    distinct = len({word for words in steps for word in words})
    assert distinct <= len(make.words) <= 2 * len(steps)
    assert len(make.words) == distinct or distinct > most


def test_in_half_precision_it_is_asked_in_multiples_and_a_change_of_precision_forgets():
    kept, make = PerWord(100), Made()
    words = torch.arange(40).view(8, 5)
    values = words.unsqueeze(-1).float()
    with torch.autocast("cpu", torch.bfloat16):
        found = kept(words, values, lambda rows: make(rows.bfloat16()))
        assert found.dtype == torch.bfloat16 and torch.equal(found[..., 1].float(), 2 * values[..., 0])
    assert len(make.words) == -(-40 // MULTIPLE) * MULTIPLE and set(make.words) == set(range(40))
    found = kept(words, values, make)
    assert found.dtype == torch.float32 and torch.equal(found[..., 1], 2 * values[..., 0])
    assert kept.count == 40


def test_there_is_none_on_a_gpu():
    assert PerWord.of(torch.empty(3, 2, device="meta")) is None


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("order", ORDERS)
@torch.no_grad()
def test_a_step_that_looks_words_up_is_the_step_that_multiplies(order, cell, monkeypatch):
    model = spread(build(order=order, cell=cell, layers=2), scale=0.4).eval()
    source, lengths, *_ = pairs([4, 2, 5], [1, 1, 1])
    memory, begin = model.encode(source, lengths)
    recurrence, asked = model.decoder.recurrence, []
    below = recurrence._below

    def counted(values, layer):
        asked.append(len(values)) if layer == 0 else None
        return below(values, layer)

    monkeypatch.setattr(recurrence, "_below", counted)
    steps = [[[2], [2], [2]], [[5, 6], [6, 7], [5, 5]], [[7, 6], [2, 8], [8, 8]], [[5, 5], [6, 6], [2, 7]]]

    def path():
        state, read = begin, []
        for tokens in steps:
            tokens = torch.tensor(tokens)
            state = state.expand(2) if tokens.shape[1] > state.top.shape[1] else state
            readout, _, state = model.step(tokens, state, memory)
            read.append(readout)
        return [*read, *state.hidden]

    expected = path()
    assert asked == [3, 3, 3, 3]  # sentences
    asked.clear()
    with ready(model):
        for found in (path(), path()):
            for ours, theirs in zip(found, expected, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    assert asked == [1, 3, 1]  # words: 2; 5, 6, 7; 8


def test_in_training_no_word_is_looked_up():
    model = spread(build(order="post_combine_feeding", dropout=0.5)).train()
    source, lengths, *_ = pairs([4, 2], [1, 1])
    memory, state = model.encode(source, lengths)
    with ready(model):
        tokens = torch.full((2, 8), 5)
        _, _, new = model.step(tokens, state.expand(8), memory)
    assert not torch.equal(new.top[0, 0], new.top[0, 1])  # dropout of an embedding is drawn for each
