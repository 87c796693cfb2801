"""The LSTM step by hand equals the equations written with autograd, and its gradients their differences."""

import pytest
import torch

from attnlab.model.cells import lstm


def equations(c, *gates):
    i, f, g, o = sum(gates).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("used", ["h", "c", "both"])
def test_states_and_gradients_are_those_of_the_equations(parts, used):
    found = []
    for step in (lstm, equations):
        torch.manual_seed(parts)
        c = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
        gates = [torch.randn(3, 20, dtype=torch.float64, requires_grad=True) for _ in range(parts)]
        h, new = step(c, *gates)
        weigh = torch.linspace(0.5, 2, 15, dtype=torch.float64).view(3, 5)
        total = (h * weigh).sum() * (used != "c") + (new * weigh**2).sum() * (used != "h")
        found.append((h, new, *torch.autograd.grad(total, [c, *gates])))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


def test_gradients_are_the_differences():
    torch.manual_seed(0)
    c, a, b = (torch.randn(2, n, dtype=torch.float64, requires_grad=True) for n in (2, 8, 8))
    assert torch.autograd.gradcheck(lambda c, a, b: lstm(c, a, b), (c, a, b))


def test_the_inputs_are_left_as_they_were():
    c, gates = torch.randn(2, 3), torch.randn(2, 12)
    kept = c.clone(), gates.clone()
    lstm(c, gates)
    assert torch.equal(c, kept[0]) and torch.equal(gates, kept[1])


def test_a_cell_state_keeps_float32_where_gates_are_bfloat16():
    """128 small additions, each below the spacing of bfloat16 near the sum: rounded away in half precision."""
    c = torch.zeros(1, 1)
    gates = torch.tensor([[0.0, 20.0, 0.01, 0.0]], dtype=torch.bfloat16)  # i = 1/2, f = 1
    for _ in range(400):
        h, c = lstm(c, gates)
    assert c.dtype == torch.float32 and h.dtype == torch.bfloat16
    assert c.item() == pytest.approx(400 * 0.5 * torch.tanh(gates[0, 2].float()).item(), rel=1e-4)
