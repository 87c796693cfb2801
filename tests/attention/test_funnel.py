"""The additive score without what is kept inside its tanh: values, gradients, memory."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attnlab.attention.funnel as module
from attnlab.attention.funnel import funnel
from attnlab.attention.gathering import Gathered


def plain(query, keys, v):
    return torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3)) @ v


def parts(*leading, queries, places, units, dtype=torch.float64, seed=0):
    made = torch.Generator().manual_seed(seed)
    shapes = ((*leading, queries, units), (*leading, places, units), (units,))
    return [torch.randn(shape, generator=made, dtype=dtype).requires_grad_() for shape in shapes]


@given(
    leading=st.lists(st.integers(1, 3), min_size=0, max_size=2),
    queries=st.integers(1, 4),
    places=st.integers(1, 5),
    units=st.integers(1, 4),
)
def test_scores_and_gradients_are_those_of_the_formula(leading, queries, places, units):
    inputs = parts(*leading, queries=queries, places=places, units=units)
    expected, found = plain(*inputs), funnel(*inputs)
    torch.testing.assert_close(found, expected)
    seen = torch.randn_like(expected)
    for one, other in zip(
        torch.autograd.grad(found, inputs, seen), torch.autograd.grad(expected, inputs, seen), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


def test_gradients_are_the_slopes_of_the_scores():
    assert torch.autograd.gradcheck(funnel, parts(2, queries=3, places=4, units=3))


def test_a_saturated_unit_has_the_gradient_of_the_formula():
    query, keys, v = (torch.tensor(x, dtype=torch.float64) for x in ([[9.0]], [[8.0], [-17.0]], [2.0]))
    inputs = [query.requires_grad_(), keys.requires_grad_(), v.requires_grad_()]
    for one, other in zip(
        torch.autograd.grad(funnel(*inputs).sum(), inputs),
        torch.autograd.grad(plain(*inputs).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-15)


def test_without_places_there_are_no_scores_and_no_gradient():
    inputs = parts(2, queries=3, places=0, units=4)
    scores = funnel(*inputs)
    assert scores.shape == (2, 3, 0)
    assert all(not part.any() for part in torch.autograd.grad(scores.sum(), inputs))


def test_training_goes_on_after_a_search_over_a_larger_batch():
    inputs = parts(7, queries=3, places=50, units=11)
    with torch.inference_mode():
        searched = funnel(*(part.detach() for part in inputs))
    scores = funnel(*inputs)
    torch.testing.assert_close(scores.detach(), searched.clone())
    scores.sum().backward()


def test_half_precision_comes_in_and_single_precision_does_the_work():
    inputs = parts(2, queries=3, places=5, units=8, dtype=torch.float32)
    half = [inputs[0].bfloat16(), inputs[1].bfloat16(), inputs[2]]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = funnel(*half)
    expected = plain(half[0].float(), half[1].float(), half[2])
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores, expected)
    for one, other in zip(
        torch.autograd.grad(scores.sum(), inputs), torch.autograd.grad(expected.sum(), inputs), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("queries", [2, 12])
def test_what_is_kept_for_the_backward_pass_does_not_grow_with_queries_times_places_times_units(queries):
    inputs = parts(2, queries=queries, places=9, units=7)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda x: x):
        funnel(*inputs)
    addresses = {tensor.data_ptr(): tensor.numel() for tensor in kept}
    assert set(addresses) <= {part.data_ptr() for part in inputs}, "only what came in is kept"


@given(groups=st.integers(1, 5), piece=st.integers(1, 40))
def test_pieces_of_any_size_give_the_same(groups, piece):
    inputs = parts(groups, queries=2, places=3, units=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", piece)
        found = funnel(*inputs)
        ours = torch.autograd.grad(found.sin().sum(), inputs)
    expected = plain(*inputs)
    torch.testing.assert_close(found, expected)
    for one, other in zip(ours, torch.autograd.grad(expected.sin().sum(), inputs), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_steps_of_a_loop_add_to_one_gradient_of_the_keys(dtype):
    query, keys, v = parts(2, queries=1, places=3, units=4)
    keys = keys.detach().to(dtype).requires_grad_()
    found = []
    for used in (Gathered.of(keys), keys):
        scores, asks = 0, query
        for _ in range(3):
            scores = funnel(asks, used, v)
            asks = asks + scores.mean()
        found.append(torch.autograd.grad(scores.sum(), (query, keys, v)))
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype
        torch.testing.assert_close(
            one, other, **({} if dtype == torch.float64 else {"rtol": 0.02, "atol": 0.01})
        )
