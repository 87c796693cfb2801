"""A gathered matrix gives the products and gradients of a plain one, with one gradient product for all steps."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from attnlab.attention.funnel import funnel
from attnlab.attention.gathering import Gathered, gathering

PRODUCTS = ("aten.mm.default", "aten.bmm.default", "aten.addmm.default")


class Products(TorchDispatchMode):
    """The sizes of the results of all matrix products."""

    def __init__(self):
        super().__init__()
        self.made = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if str(func) in PRODUCTS:
            self.made.append(tuple(out.shape))
        return out


def gradients(matrix, steps, gathered, turned, follow):
    """Of a chain of products with one matrix, in which each step needs the one before."""
    matrix = matrix.clone().requires_grad_()
    start = torch.linspace(-1, 1, 2 * 3 * matrix.shape[-1 if turned else -2], dtype=matrix.dtype)
    x = start.view(2, 3, -1).clone().requires_grad_()
    used = Gathered.of(matrix) if gathered else matrix
    total, y = 0, x
    for _ in range(steps):
        out = follow(y, used, turned)
        total = total + (out**2).sum()
        y = x + out.mean()
    total.backward()
    return total.detach(), matrix.grad, x.grad


def product(x, matrix, turned):
    return x @ matrix.mT if turned else x @ matrix


def linear(x, matrix, turned):
    return nn.functional.linear(x, matrix if turned else matrix.T)


def otherwise(x, matrix, turned):
    """Products beside other uses: these go the usual way, and the gradients meet."""
    return product(x, matrix, turned) + (matrix * matrix).sum() + torch.cat([matrix, matrix], -1).mean()


@settings(max_examples=30, deadline=None)
@given(
    steps=st.integers(1, 4),
    batched=st.booleans(),
    turned=st.booleans(),
    follow=st.sampled_from([product, linear, otherwise]),
    rows=st.integers(1, 4),
    columns=st.integers(1, 4),
)
def test_gradients_are_those_of_a_plain_matrix(steps, batched, turned, follow, rows, columns):
    batched = batched and follow is not linear
    torch.manual_seed(rows + 7 * columns)
    matrix = torch.randn(*([2] if batched else []), rows, columns, dtype=torch.float64)
    for a, b in zip(
        gradients(matrix, steps, True, turned, follow),
        gradients(matrix, steps, False, turned, follow),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("steps", [2, 9])
def test_one_product_makes_the_gradient_whatever_the_number_of_steps(steps):
    matrix = torch.randn(5, 4, requires_grad=True)
    used, y = Gathered.of(matrix), torch.randn(3, 4, requires_grad=True)
    for _ in range(steps):
        y = y + (y @ used.mT) @ used
    with Products() as products:
        y.sum().backward()
    assert products.made.count((5, 4)) == 1


def test_a_linear_layer_inside_a_loop_gathers_and_is_whole_again_afterwards():
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4, bias=False)).double()
    other, x = copy.deepcopy(layer), torch.randn(2, 4, dtype=torch.float64)
    names = [name for name, _ in layer.named_parameters()]
    with gathering(layer):
        y = layer(layer(layer(x)))
        assert isinstance(layer[0].weight, Gathered)
    assert [name for name, _ in layer.named_parameters()] == names
    assert isinstance(layer[0].weight, nn.Parameter)
    y.sum().backward()
    other(other(other(x))).sum().backward()
    for a, b in zip(layer.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_a_layer_is_whole_again_after_an_error():
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError), gathering(layer):
        layer(torch.randn(3))
    assert isinstance(layer.weight, nn.Parameter)


def test_a_weight_of_two_layers_is_one_matrix():
    first, second = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
    second.weight = first.weight
    both, x = nn.ModuleList([first, second]), torch.randn(2, 3)
    with gathering(both):
        y = second(first(x))
    with Products() as products:
        y.sum().backward()
    assert products.made.count((3, 3)) == 1


def test_without_gradients_nothing_is_gathered():
    matrix = torch.randn(2, 2, requires_grad=True)
    with torch.no_grad():
        assert Gathered.of(matrix) is matrix
    assert not isinstance(Gathered.of(torch.randn(2, 2)), Gathered)


def test_under_autocast_products_are_bfloat16_and_the_gradient_float32():
    matrix = torch.randn(8, 6, requires_grad=True)
    x = torch.randn(3, 6)
    with torch.autocast("cpu", torch.bfloat16):
        used = Gathered.of(matrix)
        y = nn.functional.linear(x, used)
        plain = nn.functional.linear(x, matrix)
    assert y.dtype == torch.bfloat16 and torch.equal(y, plain)
    ours, theirs = (torch.autograd.grad(out.float().sum(), matrix)[0] for out in (y, plain))
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, theirs, rtol=0.02, atol=0.02)


def test_a_second_backward_pass_over_one_graph_gives_the_same():
    matrix = torch.randn(3, 3, requires_grad=True)
    used = Gathered.of(matrix)
    y = ((torch.ones(2, 3) @ used) @ used).sum()
    first = torch.autograd.grad(y, matrix, retain_graph=True)[0]
    assert torch.equal(torch.autograd.grad(y, matrix)[0], first)


@pytest.mark.parametrize("kind", ["products", "total"])
def test_a_backward_pass_that_leaves_the_matrix_out_adds_nothing_to_the_next(kind):
    matrix, x = torch.randn(1, 3, 3, requires_grad=True), torch.randn(1, 2, 3, requires_grad=True)
    v = torch.ones(3)
    y = (x @ Gathered.of(matrix)).sum() if kind == "products" else funnel(x, Gathered.of(matrix), v).sum()
    torch.autograd.grad(y, x, retain_graph=True)
    first = torch.autograd.grad(y, matrix, retain_graph=True)[0]
    plain = (x @ matrix).sum() if kind == "products" else funnel(x, matrix, v).sum()
    torch.testing.assert_close(first, torch.autograd.grad(plain, matrix)[0])
