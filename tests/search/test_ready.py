"""Weights made ready give the products of plain ones, are cast once a search, and leave the model as it was."""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from attnlab.model import per_word
from attnlab.search import Search, forced, ready
from attnlab.search.ready import FEW, Ready


class Casts(TorchDispatchMode):
    """Counts how often each matrix of a shape is turned into another type."""

    def __init__(self):
        super().__init__()
        self.shapes = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        # in inference mode `to` arrives whole
        if func.overloadpacket in (torch.ops.aten.to, torch.ops.aten._to_copy) and out.dtype != args[0].dtype:
            self.shapes.append(tuple(args[0].shape))
        return out


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("rows", [(1,), (2, 1), (3, 5), (FEW,), (FEW + 1,), (0, 5)])
@torch.no_grad()
def test_a_ready_product_is_the_plain_one(rows, turned, bias):
    layer = nn.Linear(6, 11, bias=bias).double()
    x = torch.randn(*rows, 6, dtype=torch.float64)
    expected = layer(x)
    weight = Ready.of(layer.weight, turned=turned)
    found = nn.functional.linear(x, weight, layer.bias)
    assert found.shape == expected.shape and type(found) is torch.Tensor
    torch.testing.assert_close(found, expected)
    assert turned or found.is_contiguous()
    assert type(weight * 2) is torch.Tensor
    torch.testing.assert_close(x @ weight.mT, x @ layer.weight.mT)


@torch.inference_mode()
def test_under_autocast_the_product_is_that_of_autocast():
    layer, x = nn.Linear(8, 32), torch.randn(2, 5, 8)
    with torch.autocast("cpu", torch.bfloat16):
        expected, found = layer(x), nn.functional.linear(x, Ready.of(layer.weight), layer.bias)
        assert found.dtype == expected.dtype == torch.bfloat16
        torch.testing.assert_close(found, expected, atol=0, rtol=0)
        double = nn.functional.linear(x.double(), Ready.of(layer.weight.double()), None)
    assert double.dtype == torch.float64  # as autocast leaves it


def test_a_search_casts_each_weight_once_whatever_the_number_of_steps(tools, order, monkeypatch):
    monkeypatch.setattr(per_word, "MULTIPLE", 1)  # or new words are as many as rows of a weight
    model = tools.real_model(order)
    source, lengths = tools.sources([5, 3, 4])
    search = Search(3, min_length=8, max_length=9, max_length_factor=0, max_length_offset=9)
    with Casts() as seen, torch.autocast("cpu", torch.bfloat16):
        search(model, source, lengths, end=tools.END)
    recurrence = model.decoder.recurrence
    weights = [model.output.weight, recurrence.rnn.weight_hh_l0, recurrence.rnn.weight_ih_l0]
    if recurrence.feed is not None:  # the state's and what is fed are one matrix
        weights[1] = torch.cat([recurrence.rnn.weight_hh_l0, recurrence.feed.weight], 1)
    for shape in {tuple(weight.shape) for weight in weights}:
        # the encoder's library call casts weights of its own shapes
        same = [p for p in [*model.parameters(), *weights[1:2]] if tuple(p.shape) == shape]
        assert 1 <= seen.shapes.count(shape) <= len(same)


def test_in_bfloat16_the_hypotheses_are_those_of_plain_autocast(tools, order, monkeypatch):
    model = tools.real_model(order)
    source, lengths = tools.sources([7, 2, 5, 1, 9, 4])
    with torch.autocast("cpu", torch.bfloat16):
        found = Search(4, n_best=2)(model, source, lengths, end=tools.END)
        monkeypatch.setattr(Ready, "of", staticmethod(lambda weight, turned=False: weight))
        monkeypatch.setattr(per_word.PerWord, "of", lambda embedding: None)
        plain = Search(4, n_best=2)(model, source, lengths, end=tools.END)
    for one, other in zip(found, plain, strict=True):
        assert [h.tokens for h in one] == [h.tokens for h in other]
        for a, b in zip(one, other, strict=True):
            assert a.missing == b.missing and (a.missing or a.log_prob == pytest.approx(b.log_prob, abs=1e-2))


def test_the_model_has_its_own_parameters_back_even_after_an_error(tools):
    model = tools.real_model(tools.orders[0])
    before = {name: id(parameter) for name, parameter in model.named_parameters()}
    with pytest.raises(ZeroDivisionError), ready(model):
        assert isinstance(model.output.weight, Ready)
        assert not isinstance(model.target_embedding.weight, Ready)
        raise ZeroDivisionError
    assert {name: id(parameter) for name, parameter in model.named_parameters()} == before
    assert isinstance(model.output.weight, nn.Parameter)


def test_within_one_that_is_ready_a_search_casts_nothing_anew(tools, order):
    model = tools.real_model(order)
    source, lengths = tools.sources([5, 3, 4])
    target = torch.tensor([[4, 9, 5, 2], [7, 2, 0, 0], [2, 0, 0, 0]])
    search = Search(3, min_length=3, max_length=4, max_length_factor=0, max_length_offset=4)
    shapes = {tuple(p.shape) for n, p in model.named_parameters() if p.ndim == 2 and "embedding" not in n}
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        expected = search(model, source, lengths, end=tools.END)
        read = forced(model, source, lengths, target)
        with ready(model):
            search(model, source, lengths, end=tools.END)
            before = model.output.weight, model.decoder.recurrence._joined
            with Casts() as seen:
                found = search(model, source, lengths, end=tools.END)
            again = forced(model, source, lengths, target)
            assert (model.output.weight, model.decoder.recurrence._joined) == before
    encoder = {tuple(p.shape) for p in model.encoder.parameters()}  # the library's call casts its own
    assert not (shapes - encoder) & set(seen.shapes)
    assert [[h.tokens for h in one] for one in found] == [[h.tokens for h in one] for one in expected]
    torch.testing.assert_close(again.log_probs, read.log_probs, atol=5e-2, rtol=0)
    assert model.decoder.recurrence._joined is None and isinstance(model.output.weight, nn.Parameter)
