"""What is made of a word alone is made once, and is the same."""

import jaxtyping
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

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
        assert kept.count <= len(kept._rows) <= max(most, 2)  # a step of two words has to have them
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


def asked(model, monkeypatch):
    """How many embeddings of a step of two sentences by eight equal words meet the weight."""
    source, lengths, *_ = pairs([4, 2], [1, 1])
    memory, state = model.encode(source, lengths)
    below, seen = model.decoder.recurrence._below, []

    def counted(values, layer):
        seen.append(values.flatten(0, -2).shape[0])
        return below(values, layer)

    with monkeypatch.context() as patch, ready(model):
        patch.setattr(model.decoder.recurrence, "_below", counted)
        model.step(torch.full((2, 8), 5), state.expand(8), memory)
    return sum(seen)


def test_a_word_is_looked_up_only_where_its_embedding_is_its_own(monkeypatch):
    model = spread(build(order="post_combine_feeding", dropout=0.5)).eval()
    with torch.no_grad():
        assert asked(model, monkeypatch) == 1
        model.dropout.train()  # each occurrence is dropped out in its own way
        assert asked(model, monkeypatch) == 16
        model.dropout.eval()
        hook = model.target_embedding.register_forward_hook(lambda module, given, out: out + out.cumsum(1))
        assert asked(model, monkeypatch) == 16
        hook.remove()
        model.target_embedding.__class__ = type("Mine", (nn.Embedding,), {})
        assert asked(model, monkeypatch) == 16
        model.target_embedding.__class__ = nn.Embedding
        step = model.decoder.step
        monkeypatch.setattr(model.decoder, "step", lambda embedded, *rest: step(embedded + 1, *rest))
        assert asked(model, monkeypatch) == 16
        monkeypatch.undo()
        assert asked(model, monkeypatch) == 1
    assert asked(model, monkeypatch) == 16  # the embedding wants its gradient


def test_a_decoder_of_ones_own_may_have_a_state_of_its_own(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as its users have it
    model = build().eval()
    given = []
    model.decoder.step = lambda embedded, state, memory: (given.append(state), (embedded, None, state))[1]
    model.step(torch.tensor([[5]]), "mine", None)
    assert given == ["mine"]


def test_what_was_made_in_inference_mode_serves_and_grows_outside():
    kept, make = PerWord(10), Made()
    with torch.inference_mode():
        answers(kept, [1, 2], make)
    for words in ([3, 1], [4, 5], [6, 7]):
        answers(kept, words, make)
    with torch.inference_mode():
        answers(kept, [8, 7], make)
    assert sorted(make.words) == [*range(1, 9)]
