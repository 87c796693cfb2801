"""Runs that differ in their seeds share one composition, wherever that gives what a composition would."""

from collections.abc import Iterator
from typing import Any

import pytest
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from attnlab.errors import UserError
from attnlab.sweep import compose, resolve


class Counted:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, compose_cell = 0, compose.cell_config

        def counting(*arguments: Any) -> Any:
            self.count += 1
            return compose_cell(*arguments)

        monkeypatch.setattr(compose, "cell_config", counting)

    def __call__(self, *jobs: list[str]) -> list[resolve.Resolved]:
        loader = GlobalHydra.instance().config_loader()
        master = hydra_compose("config", return_hydra_config=True)
        shared = resolve.Resolver(loader, master)
        self.count = 0
        return [shared(job, number) for number, job in enumerate(jobs)]


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    with initialize_config_dir(str(compose.conf_dir()), version_base="1.3"):
        yield Counted(monkeypatch)


@pytest.mark.parametrize(
    ("shared", "seeds"),
    [
        ([], [["seed=1"], ["seed=7"]]),
        ([], [["seed=1", "seed_init=1"], ["seed=2", "seed_init=1"]]),
        (
            ["scorer=dot"],
            [["seed=1", "seed_order=4"], ["seed=2", "seed_order=5"], ["seed=2", "seed_order=2"]],
        ),
    ],
)
def test_seeds_are_filled_in(resolved: Counted, shared: list[str], seeds: list[list[str]]) -> None:
    together = resolved(*([*shared, *own] for own in seeds))
    assert resolved.count == 1
    for own, found in zip(seeds, together, strict=True):
        (alone,) = resolved([*shared, *own])
        assert found == alone


@pytest.mark.parametrize(
    "shared",
    [
        ["data.seed=${seed}"],
        ["data.seed=${seed_order}"],
        ["out=runs-${seed}"],
        ["model.initialise.seed=1"],
        ["hydra.sweep.subdir=mine/${seed}"],
    ],
)
def test_a_seed_that_goes_elsewhere_is_composed_each_time(resolved: Counted, shared: list[str]) -> None:
    first, second = resolved([*shared, "seed=1"], [*shared, "seed=2"])
    assert resolved.count == 2
    assert first.folder != second.folder
    (alone,) = resolved([*shared, "seed=2"])
    assert second == alone


def test_a_seed_that_cannot_be_is_refused_beside_others_that_can(resolved: Counted) -> None:
    first, second, third = resolved(["seed=1"], ["seed=-1"], [f"seed={2**64}"])
    assert first.faults == ()
    assert second.faults == ("seed=-1: must be a whole number of at least 0",)
    assert third.faults != ()


def test_a_value_of_the_wrong_type_is_found_whatever_was_chosen_before(resolved: Counted) -> None:
    jobs = [["scorer=dot"], ["scorer=general", "data.lowercase=3"], ["data.lowercase=true"]]
    assert [bool(found.faults) for found in resolved(*jobs)] == [False, True, False]


def test_runs_composed_ahead_are_those_composed_one_by_one(resolved: Counted) -> None:
    dropouts = [f"model.dropout=0.{n}" for n in range(1, 9)]
    orders = ("decoder=post_combine", "decoder=fixed_vector")
    jobs = [[one, order, f"seed={seed}"] for one in dropouts for order in orders for seed in (1, 2)]
    jobs.insert(3, ["scorer=nothing", "seed=1"])

    def fresh() -> resolve.Resolver:
        master = hydra_compose("config", return_hydra_config=True)
        return resolve.Resolver(GlobalHydra.instance().config_loader(), master)

    def found(shared: resolve.Resolver) -> list[Any]:
        answers: list[Any] = []
        for number, job in enumerate(jobs):
            try:
                answers.append(shared(job, number))
            except UserError as error:
                answers.append(str(error))
        return answers

    shared = fresh()
    with shared.ahead(jobs):
        side_by_side = found(shared)
    assert "nothing" in side_by_side[3]
    assert found(fresh()) == side_by_side
