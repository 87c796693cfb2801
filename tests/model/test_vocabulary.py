"""The vocabulary's cross-entropy equals torch's, with its gradients, however many blocks it takes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from attnlab.model import vocabulary
from attnlab.model.vocabulary import summed_cross_entropy


def both(n, size, words, smoothing, dtype=torch.float64, scale=1.0):
    """Loss and gradients of ours and of the plain formula, each scaled by 0.3 further up."""
    torch.manual_seed(n + words)
    target = torch.randint(words, (n,))
    found = []
    for plain in (False, True):
        torch.manual_seed(1)
        r = (scale * torch.randn(n, size)).to(dtype).requires_grad_()
        w = torch.randn(words, size).to(dtype).requires_grad_()
        if plain:
            loss = F.cross_entropy(r @ w.T, target, reduction="sum", label_smoothing=smoothing)
        else:
            loss = summed_cross_entropy(r, w, target, smoothing)
        (0.3 * loss).backward()
        found.append((loss.detach(), r.grad, w.grad))
    return found


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 9),
    words=st.integers(1, 7),
    smoothing=st.sampled_from([0.0, 0.1]),
    block=st.integers(1, 10),
    rows=st.integers(1, 4),
)
def test_loss_and_gradients_are_the_formulas_for_all_blocks(n, words, smoothing, block, rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "BLOCK", block)
        patch.setattr(vocabulary, "ROWS", rows)
        ours, plain = both(n, 3, words, smoothing)
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


class Products(TorchDispatchMode):
    """The sizes of the results of all matrix products."""

    def __init__(self):
        super().__init__()
        self.made = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if str(func).startswith("aten.mm"):
            self.made.append(tuple(out.shape))
        return out


class Largest(TorchDispatchMode):
    """The most elements of one tensor that was made."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.count = max(self.count, out.numel())
        return out


def test_no_more_rows_of_logits_than_a_block_are_made(monkeypatch):
    monkeypatch.setattr(vocabulary, "BLOCK", 4)
    r, w = torch.randn(20, 3, requires_grad=True), torch.randn(50, 3, requires_grad=True)
    with Largest() as largest:
        summed_cross_entropy(r, w, torch.arange(20)).backward()
    assert largest.count == 4 * 50


def test_large_logits_neither_overflow_nor_lose_the_word():
    for a, b in zip(*both(5, 4, 6, 0.1, torch.float32, scale=300.0), strict=True):
        assert torch.isfinite(a).all()
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_under_autocast_products_are_bfloat16_and_gradients_have_the_type_of_the_weights():
    torch.manual_seed(0)
    r, w = torch.randn(6, 8, requires_grad=True), torch.randn(9, 8, requires_grad=True)
    target = torch.randint(9, (6,))
    with torch.autocast("cpu", torch.bfloat16):
        loss = summed_cross_entropy(r, w, target)
        expected = F.cross_entropy(F.linear(r, w).float(), target, reduction="sum")
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected)
    ours = torch.autograd.grad(loss, (r, w))
    for a, b in zip(ours, torch.autograd.grad(expected, (r, w)), strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a, b, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("tokens", [1, 63, 64, 65, 200])
def test_in_half_precision_rows_come_in_multiples_and_those_that_fill_up_count_for_nothing(
    tokens, monkeypatch
):
    monkeypatch.setattr(vocabulary, "BLOCK", 128)
    torch.manual_seed(0)
    r, w = torch.randn(tokens, 8, requires_grad=True), torch.randn(9, 8, requires_grad=True)
    target = torch.randint(9, (tokens,))
    with Products() as products, torch.autocast("cpu", torch.bfloat16):
        loss = summed_cross_entropy(r, w, target, 0.1)
    assert {shape[0] for shape in products.made} <= {64, 128, 9} and {
        shape[1] for shape in products.made
    } <= {8, 9}
    exact = F.cross_entropy(r @ w.T, target, reduction="sum", label_smoothing=0.1)
    torch.testing.assert_close(loss, exact, rtol=0.01, atol=0.01)
    for a, b in zip(torch.autograd.grad(loss, (r, w)), torch.autograd.grad(exact, (r, w)), strict=True):
        torch.testing.assert_close(a, b, rtol=0.05, atol=0.05 * float(b.abs().max()))


def test_no_gradient_is_made_where_none_is_asked_for():
    r, w = torch.randn(4, 3), torch.randn(5, 3, requires_grad=True)
    summed_cross_entropy(r, w, torch.tensor([0, 1, 2, 3])).backward()
    assert w.grad is not None
    with torch.no_grad():
        assert not summed_cross_entropy(r, w, torch.tensor([0, 1, 2, 3])).requires_grad


def test_no_token_costs_nothing():
    r, w = torch.randn(0, 3, requires_grad=True), torch.randn(5, 3, requires_grad=True)
    loss = summed_cross_entropy(r, w, torch.zeros(0, dtype=torch.long))
    loss.backward()
    assert loss == 0 and not w.grad.any()
