"""The literature's worked example of additive attention, digit for digit."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attnlab.attention import Additive, Attention, Global, LocalM
from attnlab.attention.attention import masked_softmax

H = torch.tensor([[0.2, -0.5, 0.8, 0.1], [0.9, 0.3, -0.2, 0.7], [-0.1, 0.6, 0.4, -0.3]], dtype=torch.float64)
S = torch.tensor([0.5, 0.1, -0.3, 0.8], dtype=torch.float64)
W = [[0.3, -0.2, 0.5, 0.1], [0.4, 0.6, -0.1, 0.2], [-0.2, 0.3, 0.4, -0.5]]
U = [[0.2, 0.4, -0.3, 0.1], [-0.1, 0.5, 0.2, 0.3], [0.6, -0.2, 0.1, 0.4]]
V = [0.5, -0.3, 0.4]


def scorer() -> Additive:
    made = Additive(query_dim=4, key_dim=4, units=3).double()
    with torch.no_grad():
        made.W.weight.copy_(torch.tensor(W, dtype=torch.float64))
        made.U.weight.copy_(torch.tensor(U, dtype=torch.float64))
        made.v.copy_(torch.tensor(V, dtype=torch.float64))
    return made


def digits(values: torch.Tensor, places: int) -> list[float]:
    return [round(x, places) + 0.0 for x in values.flatten().tolist()]


@pytest.mark.parametrize("window", [Global(4), LocalM(4, half_width=3)], ids=["global", "local_m"])
def test_scores_weights_and_context_are_those_of_the_worked_example(window):
    attention = Attention(scorer(), window)
    assert digits(attention.scorer.W(S), 10) == [0.06, 0.45, -0.59]
    scores = attention.scorer(S.view(1, 1, 4), attention.scorer.prepare(H.unsqueeze(0)))
    assert digits(scores, 4) == [-0.3634, 0.1092, -0.4023]

    memory = attention.prepare(H.unsqueeze(0), torch.tensor([3]))
    attended = attention(S.view(1, 1, 4), memory, torch.tensor([1]))
    assert digits(attended.dense(3), 4) == [0.2804, 0.4499, 0.2697]
    assert digits(attended.context, 8) == [0.43398358, 0.15657815, 0.24225493, 0.26202583]

    context = attended.context.flatten()
    assert digits(nn.functional.cosine_similarity(context, H, dim=-1), 3) == [0.404, 0.821, 0.150]
    assert digits((context - H[1]).abs().mean(), 4) == [0.3724]


def test_the_softmax_of_the_example_scores():
    scores = torch.tensor([[[0.5, 2.1, -0.2]]], dtype=torch.float64)
    weights = masked_softmax(scores, torch.ones(1, 1, 3, dtype=torch.bool))
    assert digits(weights, 3) == [0.155, 0.768, 0.077]


def difference(state: list[float]) -> tuple[float, torch.Tensor]:
    """e_3 - e_2, and its three terms v_u (tanh(W s + U h_3)_u - tanh(W s + U h_2)_u)."""
    made = scorer()
    s = torch.tensor(state, dtype=torch.float64)
    with torch.no_grad():
        e = made(s.view(1, 1, 4), made.prepare(H.unsqueeze(0))).flatten()
        hidden = torch.tanh(made.W(s) + made.prepare(H.unsqueeze(0))[0])
        return float(e[2] - e[1]), made.v * (hidden[2] - hidden[1])


@given(st.lists(st.floats(-10, 10), min_size=4, max_size=4))
def test_no_decoder_state_prefers_the_third_token_to_the_second(state):
    gap, terms = difference(state)
    assert gap < 0
    assert (terms < 0).all()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=4, max_size=4))
def test_nor_does_a_state_so_large_that_tanh_saturates(state):
    gap, terms = difference(state)
    assert gap <= 0
    assert (terms <= 0).all()
