"""First values: by name, from a stream of their own."""

import pytest
import torch

from attnlab.model import Bahdanau, FanIn, Uniform

from .models import build


def values(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("initialise", [FanIn, Uniform, Bahdanau])
def test_one_seed_gives_one_model_and_another_seed_another(initialise):
    torch.manual_seed(0)
    first = values(build(initialise=initialise(seed=3)))
    torch.manual_seed(1)  # what else has been drawn does not matter
    again, other = values(build(initialise=initialise(seed=3))), values(build(initialise=initialise(seed=4)))
    for name, value in first.items():
        assert torch.equal(value, again[name])
        assert torch.equal(value, other[name]) == bool((value == 0).all()), name


@pytest.mark.parametrize("initialise", [FanIn, Uniform, Bahdanau])
def test_no_two_parameters_share_their_values(initialise):
    seen = [value for value in values(build(layers=2, initialise=initialise())).values() if value.any()]
    for i, one in enumerate(seen):
        for other in seen[:i]:
            assert one.shape != other.shape or not torch.equal(one, other)


def test_fan_in_by_kind():
    found = values(build(size=64, embedding=32, layers=2, initialise=FanIn()))  # the scorer has 5 units
    for name, value in found.items():
        if "embedding" in name:
            assert value.std().item() == pytest.approx(0.3, rel=0.15)
        elif "bias" in name:
            assert (value == 0).all()
        else:
            bound = value.shape[-1] ** -0.5
            assert 0.6 * bound < value.abs().max() <= bound, name


def test_uniform_fills_everything_within_its_scale():
    for name, value in values(build(size=64, initialise=Uniform(scale=0.1))).items():
        assert 0.06 < value.abs().max() <= 0.1, name


def test_bahdanaus():
    found = values(build(size=64, embedding=32, layers=2, cell="gru", initialise=Bahdanau()))
    recurrent = 0
    for name, value in found.items():
        if "weight_hh" in name:
            for block in value.split(value.shape[-1]):
                torch.testing.assert_close(block @ block.T, torch.eye(len(block)), atol=1e-5, rtol=0)
                recurrent += 1
        elif "bias" in name or name == "decoder.attention.scorer.v":
            assert (value == 0).all(), name
        else:
            expected = 0.001 if "scorer" in name else 0.01
            assert value.std().item() == pytest.approx(expected, rel=0.2), name
    assert recurrent == 4 * 4 + 2 * 3  # two layers: an LSTM encoder both ways, a GRU decoder


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("initialise", [FanIn, Uniform, Bahdanau])
def test_torchs_default_type_changes_no_first_value(initialise, kind):
    expected = values(build(initialise=initialise()))
    before = torch.get_default_dtype()
    torch.set_default_dtype(kind)
    try:
        found = values(build(initialise=initialise()))
    finally:
        torch.set_default_dtype(before)
    for name, value in expected.items():
        assert torch.equal(found[name], value.to(kind)), name
