"""How much work a search does: counted, since no test can time it."""

import importlib

import pytest
import torch
from torch import nn

from attnlab.model import FixedVector
from attnlab.search import Search, forced

LENGTHS = [5, 3, 4, 2]


@pytest.fixture
def counted(monkeypatch):
    """The shapes of all products with a weight, [rows, out], and of what the attention was asked."""
    seen = {"products": [], "asked": [], "prepared": 0}
    linear = nn.functional.linear

    def counting(x, weight, bias=None):
        seen["products"].append((x.shape[:-1].numel(), tuple(weight.shape)))
        return linear(x, weight, bias)

    monkeypatch.setattr(nn.functional, "linear", counting)
    return seen


def watch(model, seen):
    attention = model.decoder.attention
    prepare = attention.scorer.prepare

    def prepared(states):
        seen["prepared"] += 1
        return prepare(states)

    attention.scorer.prepare = prepared
    attention.register_forward_hook(
        lambda module, given, out: seen["asked"].append((tuple(given[0].shape[:2]), given[1].keys.shape[0]))
    )


def run(model, tools, beam, steps):
    source, lengths = tools.sources(LENGTHS)
    search = Search(
        beam, min_length=steps - 1, max_length=steps, max_length_factor=0, max_length_offset=steps
    )
    return search(model, source, lengths, end=tools.END)


@pytest.mark.parametrize("beam", [1, 4])
def test_keys_are_made_once_a_sentence_and_never_repeated_for_a_beam(tools, order, window, beam, counted):
    if order is FixedVector:
        assert tools.real_model(order, window).decoder.attention is None
        return
    model = tools.real_model(order, window)
    watch(model, counted)
    run(model, tools, beam, 6)
    sentences = len(LENGTHS)
    assert counted["prepared"] == 1
    # the first step asks with one hypothesis a sentence, the others with the beam, all of them the same keys
    assert counted["asked"] == [((sentences, 1), sentences)] + [((sentences, beam), sentences)] * 5


def test_a_step_makes_each_product_once_for_all_sentences_and_hypotheses(tools, order, counted):
    model = tools.real_model(order)
    of_words, made = tuple(model.decoder.recurrence.rnn.weight_ih_l0.shape), {}
    for steps in (3, 7):
        counted["products"].clear()
        run(model, tools, 4, steps)
        made[steps] = [shape for _, shape in counted["products"] if shape != of_words]
    each = (len(made[7]) - len(made[3])) / 4
    vocabulary = tuple(model.output.weight.shape)
    assert [rows for rows, shape in counted["products"] if shape == vocabulary] == [len(LENGTHS)] + [16] * 6
    # state, feed, the attention's query, the readout, the vocabulary
    assert each == int(each) <= 5


def test_a_word_meets_its_weight_once_in_a_search(tools, order, counted, monkeypatch):
    model = tools.real_model(order)
    words, of_words = set(), tuple(model.decoder.recurrence.rnn.weight_ih_l0.shape)
    step = model.step

    def seen(tokens, *rest):
        words.update(tokens.flatten().tolist())
        return step(tokens, *rest)

    monkeypatch.setattr(model, "step", seen)
    run(model, tools, 4, 7)
    assert sum(rows for rows, shape in counted["products"] if shape == of_words) == len(words)


def test_sentences_that_are_done_are_asked_no_more(tools):
    """Lengths differ, so that sentences leave one after another."""
    model = tools.real_model(tools.orders[1])
    asked = []
    model.output.register_forward_hook(lambda module, given, out: asked.append(given[0].shape[0]))
    source, lengths = tools.sources([1, 1, 6, 6, 12, 12])
    search = Search(2, max_length_factor=1, max_length_offset=0)
    search(model, source, lengths, end=tools.PAD)  # never emitted: each sentence goes to its limit
    assert asked == [6] + [4] * 5 + [2] * 6


def test_forced_decoding_asks_the_vocabulary_for_real_tokens_alone_a_part_at_a_time(
    tools, order, monkeypatch
):
    model = tools.real_model(order)
    source, lengths = tools.sources([5, 3, 4])
    target = torch.tensor([[4, 9, 5, 2], [7, 2, 0, 0], [2, 0, 0, 0]])
    whole = forced(model, source, lengths, target)
    asked = []
    model.output.register_forward_hook(lambda module, given, out: asked.append(given[0].shape[0]))
    monkeypatch.setattr(importlib.import_module("attnlab.search.forced"), "ROWS", 3)
    parts = forced(model, source, lengths, target)
    assert asked == [3, 3, 1]
    torch.testing.assert_close(parts.log_probs, whole.log_probs, atol=1e-6, rtol=0)
    nothing = forced(model, source, lengths, torch.zeros_like(target))
    assert not nothing.log_probs.any() and not nothing.weights.any()
