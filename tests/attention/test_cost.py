"""A local window costs O(2D + 1) a step, forward and backward, whatever the source's length."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnlab.attention.picking import Rows

from .grid import LOCAL, SCORERS, WINDOWS, D, make, normal

BATCH, LENGTH, SIZE = 2, 3000, 3
GATHERED = {"zeros_like", "_embedding_bag_forward_only"}  # how bags.py makes the gradient of a batch's rows


class LargeTensors(TorchDispatchMode):
    """Counts the new tensors with as many values as the batch has source positions."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        old = {
            x.untyped_storage().data_ptr() for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)
        }
        for x in tree_leaves(out):
            large = isinstance(x, torch.Tensor) and x.numel() >= BATCH * LENGTH
            if large and x.untyped_storage().data_ptr() not in old:
                self.found.append(f"{func} {x.dtype}")
        return out


def large_tensors(scorer: str, window: str, steps: int) -> tuple[list[str], list[str]]:
    """Of all steps forward, after `prepare`; and of the backward pass."""
    attention = make(scorer, window, SIZE)
    query = normal(BATCH, steps, SIZE, seed=1).requires_grad_()
    states = normal(BATCH, LENGTH, SIZE, seed=2).requires_grad_()
    memory = attention.prepare(states, torch.tensor([LENGTH, LENGTH - 1]))
    with LargeTensors() as forward:
        parts = [attention(query[:, t : t + 1], memory, torch.tensor([t + 1])) for t in range(steps)]
        loss = sum(p.context.square().sum() + p.weights.sum() for p in parts)
    with LargeTensors() as backward:
        loss.backward()
    assert states.grad is not None
    return forward.found, backward.found


@pytest.mark.parametrize("window", LOCAL)
@pytest.mark.parametrize("scorer", SCORERS)
def test_a_step_in_a_window_makes_nothing_as_long_as_the_source(scorer, window):
    few, many = (large_tensors(scorer, window, steps) for steps in (2, 9))
    assert few[0] == many[0] == []
    assert sorted(few[1]) == sorted(many[1])  # the gradients of a batch's keys and states, whatever the steps
    # one for the keys and one for the states, whether it is filled step by step or summed up at the end
    assert sum(name.split(".")[1] in GATHERED and "float" in name for name in many[1]) == 2


def test_the_measure_sees_a_whole_source_being_scored():
    forward, backward = large_tensors("general", "global", 2)
    assert len(forward) >= 2 and len(backward) >= 2


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("scorer", SCORERS)
def test_only_the_places_of_the_window_are_scored(scorer, window):
    attention = make(scorer, window, SIZE)
    scored = []
    attention.scorer.register_forward_hook(lambda module, inputs, scores: scored.append(scores.numel()))
    lengths, steps = torch.tensor([40, 7]), torch.arange(1, 13)
    memory = attention.prepare(normal(2, 40, SIZE, seed=2), lengths)
    attention(normal(2, 12, SIZE, seed=1), memory, steps)
    assert scored == [2 * 12 * (40 if window == "global" else 2 * D + 1)]


def test_picked_rows_and_their_gradient_are_those_of_plain_indexing():
    source = normal(2, 6, 3).requires_grad_()
    plain = source.detach().clone().requires_grad_()
    rows, found, expected = Rows(source), [], []
    for t, first in enumerate([[[-2, 0, 4]], [[3, 3, 5]], [[0, -9, 9]]]):
        at = torch.tensor(first).expand(2, 3) + torch.tensor([[0], [1]])
        places = (at.unsqueeze(-1) + torch.arange(3)).clamp(0, 5)
        pull = normal(2, 3, 3, 3, seed=t)
        found.append((rows.pick(at, 3), pull))
        expected.append((plain[torch.arange(2)[:, None, None], places], pull))
    for (ours, _), (theirs, _) in zip(found, expected, strict=True):
        assert torch.equal(ours, theirs)
    for pairs in (found, expected):
        sum((picked * pull).sum() for picked, pull in pairs).backward()
    torch.testing.assert_close(source.grad, plain.grad, rtol=0, atol=1e-12)


def test_the_gradient_can_be_taken_again_and_starts_from_zero():
    source = normal(1, 4, 2).requires_grad_()
    loss = Rows(source).pick(torch.tensor([[0, 1]]), 2).square().sum()
    first = torch.autograd.grad(loss, source, retain_graph=True)[0]
    assert torch.equal(torch.autograd.grad(loss, source)[0], first)


def test_rows_that_nobody_picks_or_trains_have_no_gradient():
    assert not Rows(normal(1, 4, 2)).pick(torch.tensor([[0]]), 2).requires_grad
    with torch.no_grad():
        assert not Rows(normal(1, 4, 2).requires_grad_()).pick(torch.tensor([[0]]), 2).requires_grad


def test_many_picks_of_one_row_lose_nothing_in_half_precision():
    source = torch.zeros(1, 2, 1, dtype=torch.bfloat16, requires_grad=True)
    rows = Rows(source)
    sum(rows.pick(torch.tensor([[0]]), 1).sum() for _ in range(1000)).backward()
    assert source.grad[0, 0].item() == 1000  # bfloat16 has no room to count by ones beyond 256
