"""One stack of recurrent layers, run in one call and stepped."""

from contextlib import nullcontext

import pytest
import torch

from attnlab.model.recurrence import Recurrence

from . import oracles
from .models import spread

B, T, E, H = 3, 5, 4, 6


def make(cell: str, layers: int, feed: int = 0) -> Recurrence:
    torch.manual_seed(0)
    return spread(Recurrence(cell, E, H, layers, feed, dropout=0.0))


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_running_and_stepping_give_the_same_states(cell, layers):
    recurrence = make(cell, layers)
    embedded = torch.randn(B, T, E).double()
    hidden = tuple(torch.randn(layers, B, H).double() for _ in range(recurrence.state_parts))
    states, final = recurrence.run(embedded, hidden)
    gates = recurrence.project(embedded)
    for t in range(T):
        hidden = recurrence.step(gates[:, t], None, hidden)
        torch.testing.assert_close(hidden[0][-1], states[:, t], rtol=0, atol=1e-12)
    for ours, theirs in zip(hidden, final, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_what_is_fed_joins_the_input_of_the_bottom_layer(cell):
    recurrence = make(cell, 2, feed=3)
    x, fed = torch.randn(1, 1, E).double(), torch.randn(1, 3).double()
    hidden = tuple(torch.randn(2, 1, H).double() for _ in range(recurrence.state_parts))
    new = recurrence.step(recurrence.project(x)[:, 0], fed, hidden)

    decoder = type("Holder", (), {"recurrence": recurrence})
    steps = oracles.Steps(type("Model", (), {"decoder": decoder}), cell, None, None)
    state = [tuple(part[layer, 0] for part in hidden) for layer in range(2)]
    expected = steps.rnn(x[0, 0], fed[0], state)
    for layer in range(2):
        for part, value in enumerate(expected[layer]):
            torch.testing.assert_close(new[part][layer, 0], value, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("cell", "parts"), [("lstm", 2), ("gru", 1)])
def test_parts_of_a_state(cell, parts):
    assert make(cell, 1).state_parts == parts


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_dropout_acts_between_the_layers_of_both_ways_and_only_in_training(cell):
    torch.manual_seed(0)
    recurrence = spread(Recurrence(cell, E, H, 2, 0, dropout=0.5))
    x = torch.randn(B, 1, E).double()
    hidden = tuple(torch.zeros(2, B, H).double() for _ in range(recurrence.state_parts))

    def both() -> list[torch.Tensor]:
        run, _ = recurrence.run(x, hidden)
        return [run[:, 0], recurrence.step(recurrence.project(x)[:, 0], None, hidden)[0][-1]]

    recurrence.eval()
    calm = both()
    torch.testing.assert_close(*calm, rtol=0, atol=1e-12)
    recurrence.train()
    assert not any(torch.allclose(ours, theirs) for ours, theirs in zip(both(), calm, strict=True))


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("feed", [0, 3])
def test_within_a_loop_the_joined_matrix_gives_the_same_states_and_gradients(cell, feed):
    recurrence = make(cell, 2, feed)
    found = []
    for context in (recurrence.looping(), nullcontext()):
        torch.manual_seed(1)
        x = torch.randn(B, T, E).double()
        fed = torch.randn(B, feed).double() if feed else None
        hidden = tuple(torch.randn(2, B, H).double() for _ in range(recurrence.state_parts))
        with context:
            for t in range(T):
                hidden = recurrence.step(recurrence.project(x)[:, t], fed, hidden)
        total = sum((part**2).sum() for part in hidden)
        found.append((*hidden, *torch.autograd.grad(total, list(recurrence.parameters()))))
    for ours, plain in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain, rtol=0, atol=1e-10)
    assert recurrence._joined is None
