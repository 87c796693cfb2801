"""Tampered weights: where they lie, what they sum to, and that nothing around them changes them."""

import math
from collections import Counter

import pytest
import torch

from attnlab.attention import OVERRIDES
from attnlab.attention.tampering import none, only_max, permute, uniform, zero_max

from .grid import WINDOWS, ask, make, normal

SIZE, PADDED, STEPS = 4, 26, 9
LENGTHS = torch.tensor([0, 1, 2, 3, 7, 24])  # the last one beyond the reach of `location`
OPTIONS = sorted(OVERRIDES)


def slow(name, row, inside, order):
    """One row by hand; `order[r]` is the place, among those inside, whose weight the r-th place gets."""
    places = [j for j, here in enumerate(inside) if here]
    total, new = sum(row), [0.0] * len(row)
    if not places:
        return new
    peak = max(places, key=lambda j: (row[j], -j))
    rest = sum(row[j] for j in places if j != peak)
    for r, j in enumerate(places):
        new[j] = {
            "none": row[j],
            "uniform": total / len(places),
            "permute": row[places[order[r]]],
            "only_max": total if j == peak else 0.0,
            "zero_max": 0.0 if j == peak or not rest else row[j] / rest * total,
        }[name]
    return new


@pytest.fixture(params=OPTIONS)
def name(request):
    return request.param


def weights_inside():
    """Rows of weights [6, 9, 26] whose sums differ, with places outside on both ends; ties in one of them."""
    weights = normal(len(LENGTHS), STEPS, PADDED, seed=3).square()
    first = torch.arange(STEPS) % 3
    places = torch.arange(PADDED)
    inside = (places >= first[:, None]) & (places < first[:, None] + LENGTHS[:, None, None])
    weights = weights.masked_fill(~inside, 0)
    weights[4, 0, 2:6] = weights[4, 0].max()
    return weights, inside


def test_each_row_is_what_the_definition_says(name):
    weights, inside = weights_inside()
    steps = torch.arange(1, STEPS + 1)
    found = OVERRIDES[name](weights, inside, steps)
    for b, length in enumerate(LENGTHS.tolist()):
        for t in range(STEPS):
            marks = torch.arange(float(length)).expand(1, 1, -1) + 1  # weights that tell their own places
            every = torch.ones(1, 1, length, dtype=torch.bool)
            order = (permute(marks, every, steps[t : t + 1])[0, 0] - 1).long().tolist()
            assert sorted(order) == list(range(length))
            expected = slow(name, weights[b, t].tolist(), inside[b, t].tolist(), order)
            assert found[b, t].tolist() == pytest.approx(expected, abs=1e-12)
    assert (found[~inside] == 0).all()


@pytest.mark.parametrize("scorer", ["additive", "location"])
@pytest.mark.parametrize("window", WINDOWS)
def test_the_attention_keeps_its_sums_and_its_zeros(scorer, window, name):
    attention = make(scorer, window, SIZE)
    query, states = normal(len(LENGTHS), STEPS, SIZE, seed=1), normal(len(LENGTHS), PADDED, SIZE, seed=2)
    _, before = ask(attention, query, states, LENGTHS, False)
    attention.override = OVERRIDES[name]
    for one_step in (True, False):
        context, after = ask(attention, query, states, LENGTHS, one_step)
        torch.testing.assert_close(context, after @ states)
        assert torch.isfinite(context).all() and (after >= 0).all()
        assert (after[before == 0] == 0).all()  # padding, outside the window, beyond the reach
        single = before.ne(0).sum(-1) <= 1
        kept = after.sum(-1)[~single] if name == "zero_max" else after.sum(-1)
        torch.testing.assert_close(kept, before.sum(-1)[~single] if name == "zero_max" else before.sum(-1))
        if name == "none":
            assert one_step or torch.equal(after, before)
        if name == "zero_max":
            assert (after[1] == 0).all()  # a source of one word


def test_an_override_is_no_parameter_and_in_no_checkpoint():
    attention = make("general", "global", SIZE)
    keys, count = list(attention.state_dict()), len(list(attention.parameters()))
    attention.override = uniform
    assert list(attention.state_dict()) == keys and len(list(attention.parameters())) == count


def test_batch_neighbours_padding_and_the_beam_do_not_matter(name):
    attention = make("general", "local_p", SIZE)
    attention.override = OVERRIDES[name]
    query, states = normal(len(LENGTHS), STEPS, SIZE, seed=1), normal(len(LENGTHS), PADDED, SIZE, seed=2)
    _, together = ask(attention, query, states, LENGTHS, False)
    for b, length in enumerate(LENGTHS.tolist()):
        if length:
            _, alone = ask(attention, query[b : b + 1], states[b : b + 1, :length], LENGTHS[b : b + 1], True)
            torch.testing.assert_close(together[b, :, :length], alone[0])
    # five hypotheses at one step: each as if it were the only one
    memory = attention.prepare(states, LENGTHS)
    beam = attention(query[:, :5], memory, torch.full((5,), 4)).dense(PADDED)
    for q in range(5):
        greedy = attention(query[:, q : q + 1], memory, torch.tensor([4])).dense(PADDED)
        torch.testing.assert_close(beam[:, q : q + 1], greedy)


def test_a_permutation_depends_on_step_and_number_of_places_and_is_the_same_again():
    marks = torch.arange(20.0).expand(1, 40, -1)
    inside = torch.ones(1, 40, 20, dtype=torch.bool)
    steps = torch.arange(1, 41)
    first, again = (permute(marks, inside, steps) for _ in range(2))
    assert torch.equal(first, again)
    assert len({tuple(row) for row in first[0].tolist()}) == 40
    shorter = permute(marks[..., :19], inside[..., :19], steps)
    assert sum(a[:19] == b for a, b in zip(first[0].tolist(), shorter[0].tolist(), strict=True)) <= 1


def test_all_permutations_are_about_equally_frequent():
    steps = torch.arange(1, 6001)
    drawn = permute(torch.arange(3.0).expand(1, 6000, -1), torch.ones(1, 1, 3, dtype=torch.bool), steps)
    counts = Counter(tuple(row) for row in drawn[0].tolist())
    assert len(counts) == math.factorial(3)
    chi = sum((count - 1000) ** 2 / 1000 for count in counts.values())
    assert chi < 20.5  # 5 degrees of freedom, p = 0.001


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_tiny_rests_and_low_precision_stay_finite(name, dtype):
    weights = torch.tensor([[[1.0, 6e-8, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]]).to(dtype)
    inside = torch.tensor([[[True, True, True, False], [False] * 4, [True, False, False, False]]])
    found = OVERRIDES[name](weights, inside, torch.arange(1, 4))
    assert found.dtype == dtype and torch.isfinite(found).all()
    assert (found[0, 1] == 0).all() and (found[~inside] == 0).all()
    assert found[0, 2].tolist() == ([0.0] * 4 if name == "zero_max" else [1.0, 0.0, 0.0, 0.0])


def test_no_places_at_all_is_no_fault(name):
    nothing = torch.zeros(2, 3, 0)
    assert OVERRIDES[name](nothing, nothing.bool(), torch.arange(1, 4)).shape == (2, 3, 0)


def test_the_functions_are_registered_under_their_names():
    assert {f.__name__: f for f in (none, uniform, permute, only_max, zero_max)} == OVERRIDES
