from pathlib import Path

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from attnlab.errors import UserError
from attnlab.optim import Halving, Plateau, Recipe, direction

CONF = Path(__file__).parents[1] / "conf" / "optim"


def recipe(name, **changes):
    return instantiate(
        {**OmegaConf.to_container(OmegaConf.load(CONF / f"{name}.yaml")), **changes}, _convert_="all"
    )


def test_luong_keeps_the_rate_for_five_epochs_and_then_halves_it_every_epoch():
    schedule = Halving(after=5)
    rates = [schedule.scale(epochs=n, validations=3 * n) for n in range(8)]
    assert rates == [1, 1, 1, 1, 1, 0.5, 0.25, 0.125]


def test_halving_can_count_validations_instead():
    schedule = Halving(after=2, factor=0.1, every="validation")
    assert [schedule.scale(epochs=0, validations=n) for n in range(4)] == pytest.approx([1, 1, 0.1, 0.01])


def test_a_count_that_is_neither_is_refused():
    with pytest.raises(UserError, match="must be epoch or validation"):
        Halving(after=1, every="step")


@pytest.mark.parametrize(
    ("monitor", "values"), [("val/loss", [2.0, 1.0, 1.5]), ("val/bleu", [1.0, 3.0, 2.0])]
)
def test_plateau_cuts_when_the_metric_got_worse_whichever_way_it_runs(monitor, values):
    schedule = Plateau(monitor, patience=1, factor=0.5)
    scales = []
    for value in values:
        schedule.observe({monitor: value})
        scales.append(schedule.scale(0, 0))
    assert scales == [1, 1, 0.5]


def test_plateau_takes_nan_for_no_improvement_and_survives_a_restart():
    schedule = Plateau("val/loss", patience=2)
    for value in (1.0, float("nan")):
        schedule.observe({"val/loss": value})
    resumed = Plateau("val/loss", patience=2)
    resumed.load(schedule.state())
    resumed.observe({"val/loss": 1.0})
    assert (schedule.scale(0, 0), resumed.scale(0, 0)) == (1, 0.5)


def test_the_direction_comes_from_the_metric_and_can_be_set():
    assert (direction("val/bleu"), direction("val/loss"), direction("val/x", "max")) == ("max", "min", "max")
    with pytest.raises(UserError, match="val/x"):
        direction("val/x")
    with pytest.raises(UserError, match="must be max or min"):
        direction("val/bleu", "up")


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("adam", torch.optim.Adam, {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}),
        ("adam_plateau", torch.optim.Adam, {"lr": 1e-3}),
        ("adadelta", torch.optim.Adadelta, {"lr": 1.0, "rho": 0.95, "eps": 1e-6}),
        ("sgd_halving", torch.optim.SGD, {"lr": 1.0, "momentum": 0}),
    ],
)
def test_each_option_makes_the_optimiser_it_names(name, kind, expected):
    optimizer = recipe(name).optimizer([torch.nn.Parameter(torch.zeros(2))])
    assert type(optimizer) is kind
    assert {key: optimizer.defaults[key] for key in expected} == expected


def test_the_published_schedule_is_the_option_of_that_name():
    luong = recipe("sgd_halving")
    assert [luong.rate(n, 0) for n in (4, 5, 6)] == [1.0, 0.5, 0.25]


@pytest.mark.parametrize(
    "changes", [{"lr": 0.0}, {"lr": -1.0}, {"label_smoothing": 1.0}, {"label_smoothing": -0.1}]
)
def test_impossible_numbers_are_refused_by_name(changes):
    with pytest.raises(UserError, match=next(iter(changes))):
        Recipe(**{"lr": 1.0, "optimizer": torch.optim.SGD, **changes})


@pytest.mark.parametrize("factor", [0, -0.5, 1.5])
def test_a_factor_that_would_not_lower_the_rate_is_refused(factor):
    with pytest.raises(UserError, match="factor"):
        Halving(after=1, factor=factor)
    with pytest.raises(UserError, match="factor"):
        Plateau(factor=factor)
