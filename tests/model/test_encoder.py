"""Encoders: packed batches against a slow loop over one sentence."""

from functools import partial

import pytest
import torch

from attnlab.model import Encoder

from . import oracles
from .models import ENCODERS, spread

LENGTHS = [4, 1, 6, 4, 0, 2]
K, E = 4, 3


def make(name: str, layers: int, seed: int = 0) -> Encoder:
    return spread(partial(Encoder, **ENCODERS[name])(E, K, layers=layers), seed=seed)


def batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Embeddings [B,S,E] with noise in the padding, wider than the longest sentence."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(len(LENGTHS), 8, E, generator=generator).double(), torch.tensor(LENGTHS)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("name", ENCODERS)
def test_states_and_final_states_are_those_of_each_sentence_read_alone(name, layers):
    encoder = make(name, layers)
    embedded, lengths = batch()
    states, final = encoder(embedded, lengths)
    assert states.shape == (len(LENGTHS), 8, K)
    assert len(final) == (2 if ENCODERS[name]["cell"] == "lstm" else 1)
    for b, length in enumerate(LENGTHS):
        assert (states[b, length:] == 0).all()
        if length == 0:
            assert all((part[:, b] == 0).all() for part in final)
            continue
        expected, finals = oracles.encode(encoder, ENCODERS[name]["cell"], embedded[b, :length])
        torch.testing.assert_close(states[b, :length], expected, rtol=0, atol=1e-12)
        for layer, state in enumerate(finals):
            for part, value in enumerate(state):
                torch.testing.assert_close(final[part][layer, b], value, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ENCODERS)
def test_the_order_of_the_rows_changes_nothing_but_the_order(name):
    encoder = make(name, 2)
    embedded, lengths = batch()
    states, final = encoder(embedded, lengths)
    for order in ([5, 4, 3, 2, 1, 0], [2, 0, 3, 5, 1, 4], [3, 0, 2, 4, 5, 1]):
        rows = torch.tensor(order)
        states_, final_ = encoder(embedded[rows], lengths[rows])
        torch.testing.assert_close(states_, states[rows], rtol=0, atol=1e-12)
        for ours, theirs in zip(final_, final, strict=True):
            torch.testing.assert_close(ours, theirs[:, rows], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ENCODERS)
def test_padding_and_empty_sentences_get_no_gradient_and_give_none(name):
    encoder = make(name, 2)
    embedded, lengths = batch()
    gradients = []
    for rows in ([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 5]):  # with and without the empty one
        encoder.zero_grad()
        given = embedded[rows].clone().requires_grad_()
        states, final = encoder(given, lengths[rows])
        (states.square().sum() + sum(part.square().sum() for part in final)).backward()
        gradients.append([p.grad.clone() for p in encoder.parameters()])
        padding = torch.arange(8) >= lengths[rows].unsqueeze(-1)
        assert (given.grad[padding] == 0).all()
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_a_reversed_encoder_reads_from_the_end_and_gives_states_in_source_order():
    backwards = make("lstm_reversed", 1)
    forwards = make("lstm", 1)
    forwards.load_state_dict(backwards.state_dict())
    embedded, _ = batch()
    sentence, length = embedded[:1, :5], torch.tensor([5])
    states, final = backwards(sentence, length)
    mirrored, ends = forwards(sentence.flip(1), length)
    torch.testing.assert_close(states, mirrored.flip(1))
    torch.testing.assert_close(states[:, 0], final[0][-1])  # what it read last is the first source token
    for ours, theirs in zip(final, ends, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_an_odd_size_for_two_directions_is_refused(cell):
    with pytest.raises(ValueError, match=r"encoder\.hidden_size=5.*even"):
        Encoder(E, 5, cell=cell, bidirectional=True)
    assert Encoder(E, 5, cell=cell).hidden_size == 5


def test_a_batch_of_empty_sentences_alone_gives_zeros():
    embedded, _ = batch()
    for name in ENCODERS:
        states, final = make(name, 1)(embedded[:2, :1], torch.tensor([0, 0]))
        assert (states == 0).all() and all((part == 0).all() for part in final)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("form", ["bidirectional", "reverse", "plain"])
@pytest.mark.parametrize("lengths", [[4, 2, 0, 3], [3, 3], [1, 5]])
def test_padding_read_first_gives_states_and_gradients_of_packed_sequences(cell, form, lengths):
    torch.manual_seed(0)
    encoder = Encoder(3, 4, cell=cell, layers=2, **({} if form == "plain" else {form: True})).double()
    counts = torch.tensor(lengths)
    found = []
    for way in (encoder._padding_first, encoder._packed):
        torch.manual_seed(1)
        embedded = torch.randn(len(lengths), max(lengths), 3, dtype=torch.float64, requires_grad=True)
        states, finals = way(embedded, counts)
        weighed = sum((t * torch.randn(t.shape, dtype=t.dtype)).sum() for t in (states, *finals))
        parameters = list(encoder.parameters())
        found.append((states, *finals, *torch.autograd.grad(weighed, [embedded, *parameters])))
    for ours, packed in zip(*found, strict=True):
        torch.testing.assert_close(ours, packed)
