"""Hypotheses that go on from the same one: what is made of their state is made once, and is the same."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.model import state as module
from attnlab.model.state import DecoderState, Siblings

from .models import ORDERS, build, pairs, spread


@pytest.fixture(autouse=True, scope="module")
def few_are_enough():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ENOUGH", 1)
        yield


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20))
def test_every_row_gets_what_its_own_parent_gives(parents):
    parents = torch.tensor(parents)
    values = (parents * 7 + 1).unsqueeze(-1).double()  # equal for siblings
    siblings = Siblings.of(parents, torch.float64)
    distinct = len(parents.unique())
    assert (siblings is None) == (distinct * 4 > len(parents) * 3)
    if siblings is not None:
        asked = []

        def make(x, y):
            asked.append(len(x))
            return 2 * x + y

        assert torch.equal(siblings.once(make, values, values), 3 * values)
        assert asked == [distinct]


def test_a_few_hypotheses_are_not_worth_it(monkeypatch):
    monkeypatch.setattr(module, "ENOUGH", 4)
    assert Siblings.of(torch.zeros(3, dtype=torch.int64), torch.float32) is None
    assert Siblings.of(torch.zeros(4, dtype=torch.int64), torch.float32) is not None


def test_half_precision_sees_few_different_numbers_of_rows():
    for rows in range(1, 200):
        parents = torch.arange(rows).repeat_interleave(2)
        siblings = Siblings.of(parents, torch.bfloat16)
        if siblings is not None:
            assert len(siblings.first) % module.MULTIPLE == 0 and rows <= len(siblings.first) <= 1.5 * rows
            found = siblings.once(lambda x: x * 2, parents.unsqueeze(-1).bfloat16())
            assert torch.equal(found.squeeze(-1), parents.bfloat16() * 2)
        else:
            assert rows < 64 and rows % module.MULTIPLE


def test_they_are_known_after_the_beam_is_made_and_filled_and_forgotten_elsewhere():
    state = DecoderState((torch.randn(1, 2, 1, 3),))
    beam = state.expand(4)
    assert beam.siblings.family.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    filled = beam.reorder(torch.tensor([[0, 0, 2, 2], [1, 1, 1, 1]]))
    assert len(filled.siblings.first) == 3
    for state in (beam, filled):
        rows = state.top.flatten(0, 1)
        assert torch.equal(state.siblings.once(lambda x: x, rows), rows)
    assert beam.reorder(torch.tensor([[0, 1, 2, 3], [3, 2, 1, 0]])).siblings is None  # nobody shares
    assert filled.select(torch.tensor([1])).siblings is None


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("looping", [False, True])
def test_a_step_with_siblings_is_the_step_without(order, cell, looping):
    model = spread(build(order=order, cell=cell, layers=2), scale=0.4)
    source, lengths, *_ = pairs([4, 2, 5], [1, 1, 1])
    memory, state = model.encode(source, lengths)
    _, _, state = model.step(torch.full((3, 1), model.start), state, memory)
    _, _, state = model.step(torch.tensor([[5, 6, 7]]).expand(3, 3), state.expand(3), memory)
    state = state.reorder(torch.tensor([[2, 0, 0], [1, 1, 1], [0, 2, 2]]))
    assert state.siblings is not None
    tokens = torch.tensor([[8, 9, 10]]).expand(3, 3)
    plain = model.step(tokens, state._replace(siblings=None), memory)
    if looping:
        with model.decoder.recurrence.looping(torch.Tensor.detach):
            shared = model.step(tokens, state, memory)
    else:
        shared = model.step(tokens, state, memory)
    for ours, theirs in zip((shared[0], *shared[2].hidden), (plain[0], *plain[2].hidden), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    assert shared[2].siblings is None  # other tokens, other states


def test_what_does_not_come_of_the_state_alone_is_fed_to_each():
    model = spread(build(order="input_feeding"), scale=0.4)
    source, lengths, *_ = pairs([4, 2], [1, 1])
    _, state = model.encode(source, lengths)
    state = state.expand(3)
    decoder = model.decoder
    gates = decoder.recurrence.project(torch.randn(2, 3, model.target_embedding.embedding_dim).double())
    fed = torch.randn(2, 3, decoder.recurrence.feed.in_features).double()
    expected = decoder.recur(gates, fed, state._replace(siblings=None))
    for ours, theirs in zip(decoder.recur(gates, fed, state), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
