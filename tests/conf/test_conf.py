"""Every file of every group composes, names only what exists, and an experiment can override any group."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from attnlab.check import faults
from attnlab.sweep import identity
from attnlab.sweep.compose import conf_dir

CONF = conf_dir()
# Options that need others beside them to be valid.
COMPANIONS = {"model/readout": ["decoder=input_feeding"]}


def files() -> list[tuple[str, str]]:
    """Group and option of every file but config.yaml and Hydra's own groups."""
    found = [path.relative_to(CONF) for path in sorted(CONF.rglob("*.yaml"))]
    return [
        (path.parent.as_posix(), path.stem) for path in found if path.parts[0] not in ("config.yaml", "hydra")
    ]


@pytest.fixture(autouse=True)
def _hydra() -> Iterator[None]:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        yield


def composed(*overrides: str) -> DictConfig:
    return compose("config", overrides=list(overrides), return_hydra_config=True)


def targets(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "_target_" in node:
            yield node["_target_"]
        for value in node.values():
            yield from targets(value)
    elif isinstance(node, list):
        for value in node:
            yield from targets(value)


@pytest.mark.parametrize(("group", "option"), files())
def test_every_option_composes_and_passes_the_check(group: str, option: str) -> None:
    config = composed(f"{group}={option}", *COMPANIONS.get(group, []))
    assert config.hydra.runtime.choices[group] == option
    assert faults(config) == []
    assert re.fullmatch(
        r"outputs/(runs|demo)/[\w.]+-[\w.]+-[\w.]+-[\w.]+-[0-9a-f]{8}/seed1", config.hydra.run.dir
    )
    for target in targets(identity.plain(config)):
        module, _, name = target.rpartition(".")
        assert hasattr(import_module(module), name), target


def test_the_base_overrides_no_group_that_can_be_swept() -> None:
    # hydra-core 1.3.8 would then ignore the same override in an experiment
    lines = re.findall(r"^\s*- override (\S+):", (CONF / "config.yaml").read_text(), re.M)
    assert lines
    assert all(line.startswith("hydra/") for line in lines)


def test_an_experiment_overrides_groups_and_values_and_the_command_line_overrides_it(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "tried.yaml").write_text(
        "# @package _global_\n"
        "defaults:\n"
        "  - override /scorer: general\n"
        "  - override /model/readout: maxout\n"
        "  - override /decoder: input_feeding\n"
        "seed: 5\n"
        "hydra: {launcher: {slots: 3}}\n"
    )
    place = f"hydra.searchpath=['file://{tmp_path}']"
    config = composed("experiment=tried", place)
    assert config.hydra.runtime.choices.scorer == "general"
    assert config.scorer._target_ == "attnlab.attention.General"
    assert config.model.readout._target_ == "attnlab.model.Maxout"
    assert config.decoder._target_ == "attnlab.model.InputFeeding"
    assert (config.seed, config.hydra.launcher.slots) == (5, 3)
    config = composed("experiment=tried", "scorer=dot", "seed=6", place)
    assert (config.scorer._target_, config.seed) == ("attnlab.attention.Dot", 6)


def test_the_facts_of_one_decoder_do_not_stay_with_another() -> None:
    assert composed("decoder=fixed_vector").about.unused.decoder == ["scorer", "window"]
    assert "decoder" not in composed("decoder=post_combine").about.unused


@pytest.mark.parametrize("decoder", [option for group, option in files() if group == "decoder"])
def test_every_decoder_order_declares_its_three_factors(decoder: str) -> None:
    assert set(composed(f"decoder={decoder}").about.factors) == {"asks", "context_goes_to", "fed_back"}


def test_every_experiment_says_where_it_is_from() -> None:
    for path in (CONF / "experiment").glob("*.yaml"):
        first, second, *_ = path.read_text().splitlines()
        assert first == "# @package _global_", path
        assert second.startswith("# "), path
