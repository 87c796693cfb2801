"""What a scorer costs in parameters, what it refuses, and how near to uniform it starts."""

import math

import pytest
import torch

from attnlab.attention import Additive, Concat, Dot, General, Location, ScaledDot


def count(module: torch.nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def test_parameters_of_each_scorer():
    H, K, U = 6, 10, 7
    assert count(Dot(H, H)) == count(ScaledDot(H, H)) == 0
    assert count(General(H, K)) == H * K
    assert count(Additive(H, K, units=U)) == U * (H + K) + U
    assert count(Additive(H, K, units=U, bias=True)) == U * (H + K) + U + U
    assert count(Concat(H, K)) == H * K + K
    assert count(Location(H, K, max_length=9)) == 9 * H


@pytest.mark.parametrize("scorer", [Dot, ScaledDot])
def test_a_dot_product_of_unequal_sizes_is_refused_with_both_sizes_and_the_remedy(scorer):
    with pytest.raises(ValueError) as refused:
        scorer(query_dim=256, key_dim=512)
    message = str(refused.value)
    assert "256" in message and "512" in message and "\n" not in message
    assert "scorer=general" in message


@pytest.mark.parametrize(
    "scorer", [lambda: General(3, 5), lambda: Additive(3, 5, units=4), lambda: Concat(3, 5)]
)
def test_the_others_take_unequal_sizes(scorer):
    made = scorer()
    assert made(torch.randn(2, 4, 3), made.prepare(torch.randn(2, 6, 5))).shape == (2, 4, 6)


def test_location_looks_at_no_state():
    made = Location(3, 5, max_length=4)
    query = torch.randn(2, 3, 3)
    scores = [made(query, made.prepare(torch.randn(2, 6, 5))) for _ in range(2)]
    assert torch.equal(*scores)
    torch.testing.assert_close(scores[0][..., :4], query @ made.W.T)


def test_scaled_dot_is_dot_over_the_root_of_the_size():
    query, states = torch.randn(2, 3, 16), torch.randn(2, 5, 16)
    torch.testing.assert_close(
        ScaledDot(16, 16)(query, states), Dot(16, 16)(query, states) / math.sqrt(16), rtol=1e-6, atol=1e-6
    )
