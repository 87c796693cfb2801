"""The settings of a run as an evaluation changes them: what may change, and what stays the model's own."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from attnlab import check
from attnlab.errors import UserError

GROUPS = ("data", "search", "metrics")
"""What can be changed: the model is what it is."""
BOUND = ("lowercase", "source_eos")
"""Options of `data` that the model was trained with: its tokenisers and its encoder know nothing else."""
LIMITS = ("batch_tokens", "batch_sentences")
"""Options of `data` that say how large a batch is."""
LOADING = (*LIMITS, "workers", "cache_dir")
"""Options of `data` that say nothing about the text: another source of text is loaded as the run's was."""


def changed(config: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """A copy of the settings with the overrides put in: whole groups first, then single options.

    A `data` option that is named keeps the run's `BOUND` and `LOADING`.

    Raises:
        UserError: bad grammar, or a key that is no option of `GROUPS`.
    """
    return settings(config, overrides)[1]


def settings(config: dict[str, Any], overrides: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings with the whole groups put in, and these with the single options too."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import OverrideParseException

    try:
        parsed = OverridesParser.create().parse_overrides(overrides=list(overrides))
    except OverrideParseException as error:
        raise UserError(
            f"{error.override}: no override; write KEY=VALUE, such as search.beam_size=1"
        ) from error
    for one in parsed:
        if one.is_sweep_override() or one.is_delete():
            raise UserError(f"{one.input_line}: an evaluation has one value an option; write KEY=VALUE")
    config = copy.deepcopy(config)
    groups = {p.key_or_group: str(p.value()) for p in parsed if "." not in p.key_or_group}
    _known(groups)
    if groups:
        fresh = _composed([f"{group}={option}" for group, option in groups.items()])
        own = config["data"]
        config.update({group: fresh[group] for group in groups})
        config["data"].update({option: own[option] for option in BOUND if option in own})
        kept = [option for option in LOADING if option in own and option in config["data"]]
        config["data"].update({option: own[option] for option in kept})
    chosen = copy.deepcopy(config)
    for item in parsed:
        if "." not in item.key_or_group:
            continue
        *above, last = item.key_or_group.split(".")
        _known([above[0]])
        node: Any = config
        for key in above:
            node = node.get(key) if isinstance(node, dict) else None
        if not isinstance(node, dict) or last not in node:
            there = (
                ", ".join(sorted(k for k in node if not k.startswith("_")))
                if isinstance(node, dict)
                else "nothing"
            )
            raise UserError(f"{item.key_or_group}: no such option; {'.'.join(above)} has {there}")
        if item.key_or_group in {f"data.{option}" for option in BOUND} and item.value() != node[last]:
            raise UserError(
                f"{item.key_or_group}={item.value()}: the run was trained with {node[last]}; an evaluation "
                "cannot change it"
            )
        node[last] = item.value()
    return chosen, config


def _known(groups: Any) -> None:
    for group in groups:
        if group not in GROUPS:
            raise UserError(
                f"{group}: an evaluation can change {', '.join(GROUPS)}; the rest is the run's own"
            )


def _composed(overrides: list[str]) -> dict[str, Any]:
    """The named options as the configuration has them."""
    import hydra
    from hydra.errors import HydraException

    from attnlab.sweep import compose, identity

    with compose.composing() as loader:
        try:
            config = identity.plain(hydra.compose("config", overrides=overrides))
        except HydraException as error:
            raise UserError(compose.reason(error, loader, "config", overrides)) from error
    return {group: config[group] for group in (o.split("=")[0] for o in overrides)}


def faults(config: dict[str, Any], chosen: dict[str, Any], group: str) -> list[str]:
    """Impossible sizes and types of a group, judged by the run's own values or the chosen option's."""
    # One of the two limits may be null, whatever the run had: the corpus says which.
    known = {key: value for key, value in chosen[group].items() if not (group == "data" and key in LIMITS)}
    return check.value_faults({group: config[group]}, {group: known})
