"""Every scorer under every window against its oracle: outputs and gradients, in float64."""

import pytest
import torch

from . import oracles
from .grid import SCORERS, WINDOWS, D, ask, make, normal

LENGTHS = [5, 1, 3, 0]
STEPS = 7  # beyond the longest source
SIZE = 3


@pytest.mark.parametrize("one_step", [True, False], ids=["one_step", "all_steps"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("scorer", SCORERS)
def test_outputs_and_gradients_are_the_oracles(scorer, window, one_step):
    attention = make(scorer, window, SIZE, seed=1)
    lengths = torch.tensor(LENGTHS)
    query = normal(len(LENGTHS), STEPS, SIZE, seed=2).requires_grad_()
    states = normal(len(LENGTHS), max(LENGTHS), SIZE, seed=3).requires_grad_()
    leaves = [query, states, *attention.parameters()]

    context, weights = ask(attention, query, states, lengths, one_step)
    # A sum with fixed random factors, so that every output has a gradient of its own.
    pull = normal(*context.shape, seed=4), normal(*weights.shape, seed=5)
    loss = (context * pull[0]).sum() + (weights * pull[1]).sum()
    found = torch.autograd.grad(loss, leaves, allow_unused=True)

    expected_context, expected_weights = torch.zeros_like(context), torch.zeros_like(weights)
    scorer_parameters = dict(attention.scorer.named_parameters())
    window_parameters = dict(attention.window.named_parameters())
    expected_loss = query.sum() * 0
    for b, length in enumerate(LENGTHS):
        for t in range(1, STEPS + 1):
            a, c = oracles.attend(
                SCORERS[scorer][1],
                WINDOWS[window][1],
                scorer_parameters,
                window_parameters,
                query[b, t - 1],
                states[b, :length],
                t,
                D,
            )
            expected_context[b, t - 1], expected_weights[b, t - 1, :length] = c.detach(), a.detach()
            expected_loss = (
                expected_loss + (c * pull[0][b, t - 1]).sum() + (a * pull[1][b, t - 1, :length]).sum()
            )
    expected = torch.autograd.grad(expected_loss, leaves, allow_unused=True)

    torch.testing.assert_close(weights, expected_weights, rtol=0, atol=1e-10)
    torch.testing.assert_close(context, expected_context, rtol=0, atol=1e-10)
    for leaf, ours, theirs in zip(leaves, found, expected, strict=True):
        zeros = torch.zeros_like(leaf)
        torch.testing.assert_close(
            zeros if ours is None else ours, zeros if theirs is None else theirs, rtol=1e-9, atol=1e-9
        )


def test_the_oracle_itself_gives_shares_of_one():
    # Guards the guard: an oracle that returned nothing would be matched by an attention that attends to nothing.
    attention = make("additive", "global", SIZE)
    weights, context = oracles.attend(
        oracles.additive,
        oracles.everywhere,
        dict(attention.scorer.named_parameters()),
        {},
        normal(SIZE),
        normal(5, SIZE),
        1,
        D,
    )
    assert weights.sum().item() == pytest.approx(1)
    assert context.abs().sum().item() > 0


def test_the_printed_concat_is_additive_by_another_name():
    # Luong et al. 2015, 3.1: v' tanh(W [s; h_j]); its W is [W, U] side by side.
    attention = make("additive", "global", SIZE)
    scorer = attention.scorer
    W = torch.cat((scorer.W.weight, scorer.U.weight), dim=1)
    s, h = normal(SIZE), normal(3, SIZE, seed=1)
    printed = torch.stack([scorer.v @ torch.tanh(W @ torch.cat((s, h_j))) for h_j in h])
    ours = scorer(s.view(1, 1, SIZE), scorer.prepare(h.unsqueeze(0))).flatten()
    torch.testing.assert_close(ours, printed, rtol=0, atol=1e-12)
