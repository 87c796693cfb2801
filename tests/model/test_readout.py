"""Readouts against numbers worked out by hand."""

import pytest
import torch

from attnlab.model import Combine, Maxout, Plain


def test_combine():
    readout = Combine(hidden_size=2, context_size=1, embedding_size=5)
    with torch.no_grad():
        readout.W_c.weight.copy_(torch.tensor([[1.0, 0.0, 2.0], [0.0, -1.0, 0.5]]))
    r = readout(
        torch.tensor([[[0.5, 1.0]]]), torch.tensor([[[-0.25]]]), torch.zeros(1, 1, 5), torch.zeros(1, 1, 2)
    )
    torch.testing.assert_close(r, torch.tanh(torch.tensor([[[0.0, -1.125]]])))
    assert readout.size == 2 and not any("bias" in name for name, _ in readout.named_parameters())


def test_maxout_takes_the_larger_of_neighbours_from_the_previous_state():
    readout = Maxout(hidden_size=1, context_size=1, embedding_size=1, maxout_size=2)
    with torch.no_grad():
        readout.U_o.weight.copy_(torch.tensor([[1.0], [0.0], [0.0], [1.0]]))
        readout.V_o.weight.copy_(torch.tensor([[0.0], [10.0], [0.0], [0.0]]))
        readout.C_o.weight.copy_(torch.tensor([[0.0], [0.0], [100.0], [0.0]]))
    one = torch.ones(1, 1, 1)
    r = readout(state=one * 999, context=one * 3, embedded=one * 2, previous=one * 5)
    assert r.tolist() == [[[20.0, 300.0]]]  # max(5, 20), max(300, 5)
    assert readout.size == 2


def test_plain_is_the_state():
    state = torch.randn(2, 3, 4)
    readout = Plain(hidden_size=4, context_size=1, embedding_size=1)
    assert torch.equal(
        readout(state, torch.zeros(2, 3, 1), torch.zeros(2, 3, 1), torch.zeros(2, 3, 4)), state
    )
    assert readout.size == 4 and not list(readout.parameters())


@pytest.mark.parametrize("readout", [Combine, Plain])
def test_their_size_is_the_states(readout):
    assert readout(hidden_size=7, context_size=3, embedding_size=2).size == 7
