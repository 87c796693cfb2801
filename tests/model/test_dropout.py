"""Dropout keeps the mean, drops the share that was asked for, and is torch's at the ends."""

import pytest
import torch

from attnlab.model.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_share_dropped_and_the_mean_are_those_of_p(p):
    torch.manual_seed(0)
    out = Dropout(p)(torch.ones(1001, 333))
    assert (out == 0).float().mean() == pytest.approx(p, abs=0.003)
    assert out.mean() == pytest.approx(1.0, abs=0.02)
    assert out.unique().tolist() == pytest.approx([0, 1 / (1 - p)], rel=1e-4)


def test_neighbours_in_one_random_word_are_independent():
    torch.manual_seed(0)
    kept = (Dropout(0.5)(torch.ones(40_000)) > 0).view(-1, 4).double()
    assert torch.corrcoef(kept.T).fill_diagonal_(0).abs().max() < 0.03
    assert Dropout(0.5)(torch.ones(3)).shape == (3,)


def test_what_is_dropped_has_no_gradient_and_the_rest_the_same_scale():
    x = torch.ones(50, 7, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(3)
    out = Dropout(0.3)(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


def test_the_generator_decides_and_evaluation_changes_nothing():
    x, layer = torch.randn(5, 9), Dropout(0.5)
    torch.manual_seed(4)
    first, second = layer(x), layer(x)
    torch.manual_seed(4)
    assert torch.equal(layer(x), first) and not torch.equal(first, second)
    assert torch.equal(layer.eval()(x), x)


@pytest.mark.parametrize(("p", "left"), [(0.0, 1.0), (1.0, 0.0), (1e-9, 1.0)])
def test_at_the_ends_nothing_is_drawn_in_vain(p, left):
    assert Dropout(p)(torch.ones(20)).mean() == pytest.approx(left)


def test_half_precision_stays_what_it_is():
    assert Dropout(0.2)(torch.ones(10, dtype=torch.bfloat16)).dtype == torch.bfloat16
