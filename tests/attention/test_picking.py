"""Picked rows against plain indexing: values, gradients, and what is kept and copied on the way."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnlab.attention import General, LocalM
from attnlab.attention.attention import Attention
from attnlab.attention.bags import BLOCK, Bags
from attnlab.attention.picking import Picked, Rows

from .grid import LOCAL, make, normal


def plainly(source: torch.Tensor, first: torch.Tensor, width: int) -> torch.Tensor:
    """Row after row, the nearest one for a place outside."""
    last = source.shape[1] - 1
    return torch.stack(
        [
            torch.stack(
                [
                    torch.stack([source[b, min(max(int(f) + w, 0), last)] for w in range(width)])
                    for f in firsts
                ]
            )
            for b, firsts in enumerate(first)
        ]
    )


def products(keys: torch.Tensor, query: torch.Tensor, shares: torch.Tensor, v: torch.Tensor, how: str):
    """One use of picked keys [B, Q, W, A], as scorers and contexts make it."""
    if how == "dots":
        return query.unsqueeze(-2) @ keys.mT
    if how == "mix":
        return shares.unsqueeze(-2) @ keys
    if how == "squash" and isinstance(keys, Picked):
        return keys.squash(query.unsqueeze(-2), v)
    if how == "squash":
        return (torch.tanh(query.unsqueeze(-2) + keys) @ v).unsqueeze(-2)
    return (keys * shares.unsqueeze(-1)).sum(-2)


USES = ["dots", "mix", "squash", "read"]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_use_of_picked_rows_and_all_gradients_are_those_of_plain_indexing(data):
    batch, length, size = (data.draw(st.integers(1, n)) for n in (3, 6, 4))
    uses = data.draw(st.lists(st.sampled_from(USES), min_size=1, max_size=4))
    source = normal(batch, length, size, seed=1).requires_grad_()
    v = normal(size, seed=2).requires_grad_()
    rows, leaves, found, expected = Rows(source), [source, v], [], []
    for seed, how in enumerate(uses):
        queries, width = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5))
        places = st.lists(st.integers(-7, 8), min_size=queries, max_size=queries)
        first = torch.tensor([data.draw(places) for _ in range(batch)])
        query = normal(batch, queries, size, seed=10 + seed).requires_grad_()
        shares = normal(batch, queries, width, seed=20 + seed).requires_grad_()
        leaves += [query, shares]
        ours = products(rows.pick(first, width), query, shares, v, how)
        theirs = products(plainly(source, first, width), query, shares, v, how)
        pull = normal(*theirs.shape, seed=30 + seed)
        found.append((ours, pull))
        expected.append((theirs, pull))
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    ours, theirs = (
        torch.autograd.grad(sum((x * pull).sum() for x, pull in pairs), leaves, allow_unused=True)
        for pairs in (found, expected)
    )
    for one, other in zip(ours, theirs, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_squash_in_blocks_is_squash_at_once(monkeypatch):
    def run() -> list[torch.Tensor]:
        leaves = [normal(2, 9, 4, seed=1), normal(2, 5, 4, seed=2), normal(4, seed=3)]
        source, query, v = (x.requires_grad_() for x in leaves)
        picked = Rows(source).pick(torch.arange(10).view(2, 5) - 2, 3)
        scores = picked.squash(query.unsqueeze(-2), v)
        return [scores, *torch.autograd.grad((scores * normal(*scores.shape)).sum(), [source, query, v])]

    at_once = run()
    monkeypatch.setattr("attnlab.attention.bags.BLOCK", 2 * 3 * 4)
    assert BLOCK > 2 * 5 * 3 * 4
    for one, other in zip(run(), at_once, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("how", ["dots", "mix", "squash"])
def test_many_windows_over_one_row_lose_nothing_in_half_precision(how):
    source = torch.zeros(1, 2, 1, dtype=torch.bfloat16, requires_grad=True)
    rows, one = Rows(source), torch.ones(1, 1, 1, dtype=torch.bfloat16)
    picked = [rows.pick(torch.tensor([[0]]), 1) for _ in range(1000)]
    sum(products(p, one, one, one[0, 0].float(), how).float().sum() for p in picked).backward()
    if how == "squash":  # tanh'(1 + 0)
        assert source.grad[0, 0].item() == pytest.approx(1000 * 0.41997, rel=0.01)
    else:
        assert source.grad[0, 0].item() == 1000  # bfloat16 has no room to count by ones beyond 256


def test_a_gradient_that_was_not_asked_for_is_not_added_to_the_next():
    source, query = normal(1, 4, 2).requires_grad_(), normal(1, 1, 2, seed=1).requires_grad_()
    picked = Rows(source).pick(torch.tensor([[1]]), 2)
    loss = (query.unsqueeze(-2) @ picked.mT).square().sum()
    expected = torch.autograd.grad(loss, source, retain_graph=True)[0]
    torch.autograd.grad(loss, query, retain_graph=True)
    assert torch.equal(torch.autograd.grad(loss, source)[0], expected)


def test_selected_sentences_share_the_rows_and_pick_as_a_copy_would():
    source, keep = normal(4, 5, 3), torch.tensor([3, 1])
    rows, first = Rows(source), torch.tensor([[0, 2], [4, -1]])
    selected = rows.select(keep)
    assert selected.bags.rows.data_ptr() == rows.bags.rows.data_ptr()
    assert torch.equal(selected.pick(first, 3).clone(), Rows(source[keep]).pick(first, 3).clone())


class Copied(TorchDispatchMode):
    """The largest new tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        old = {
            x.untyped_storage().data_ptr() for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)
        }
        for x in tree_leaves(out):
            if isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() not in old:
                self.largest = max(self.largest, x.numel())
        return out


@pytest.mark.parametrize("window", LOCAL)
@pytest.mark.parametrize("scorer", ["dot", "scaled_dot", "general", "location"])
def test_no_picked_row_is_copied_forward_or_backward(scorer, window):
    batch, steps, length, size = 2, 6, 7, 40  # of a window of 5: 2400 values, were they copied
    attention = make(scorer, window, size)
    memory = attention.prepare(normal(batch, length, size).requires_grad_(), torch.tensor([7, 5]))
    query = normal(batch, steps, size, seed=1).requires_grad_()
    with Copied() as seen:
        attended = attention(query, memory, torch.arange(1, steps + 1))
    assert seen.largest <= batch * steps * size
    with Copied() as seen:
        (attended.context.sum() + attended.weights.square().sum()).backward()
    assert seen.largest <= max(batch * length * size, size * size)


def test_a_scorer_that_does_something_else_with_its_keys_gets_the_rows():
    class Distance(General):
        def forward(self, query, keys):
            return -(query - keys).square().sum(-1).unsqueeze(-2)

    attention = Attention(Distance(3, 3), LocalM(3, half_width=1)).double()
    states = normal(1, 4, 3).requires_grad_()
    query = normal(1, 2, 3, seed=1)
    attended = attention(query, attention.prepare(states, torch.tensor([4])), torch.tensor([1, 3]))
    keys = attention.scorer.prepare(states)
    weights = torch.softmax(-(query[:, 1:] - keys[:, 1:4]).square().sum(-1), -1)
    torch.testing.assert_close(attended.weights[:, 1], weights)
    ours = torch.autograd.grad(attended.context[:, 1].sum(), states)[0]
    theirs = torch.autograd.grad((weights.unsqueeze(1) @ states[:, 1:4]).sum(), states)[0]
    torch.testing.assert_close(ours, theirs)


def test_rows_that_go_unread_into_a_function_are_refused_and_not_lost():
    class Blind(torch.autograd.Function):
        @staticmethod
        def forward(ctx, keys):
            return torch.ones(())

        @staticmethod
        def backward(ctx, gradient):
            return torch.ones(1, 1, 2, 2)

    picked = Rows(normal(1, 4, 2).requires_grad_()).pick(torch.tensor([[1]]), 2)
    with pytest.raises(RuntimeError, match="clone"):
        Blind.apply(picked).backward()


def test_what_a_batch_repeats_is_made_once():
    bags = Bags(normal(8, 2))
    index = torch.zeros(2, 1, 3, dtype=torch.int64)
    assert bags.bounds(index) is bags.bounds(index.clone())
