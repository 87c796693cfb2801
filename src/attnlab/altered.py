"""The settings of a run as an evaluation changes them: what may change, and what stays the model's own."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from attnlab import check
from attnlab.errors import UserError

GROUPS = ("data", "search", "metrics")
"""What can be changed: the model is what it is."""
WEIGHTS = "attention.override"
"""What can be done to a trained model's weights beside (`attention/tampering.py`)."""
BOUND = ("lowercase", "source_eos")
"""Options of `data` that the model was trained with: its tokenisers and its encoder know nothing else."""
LIMITS = ("batch_tokens", "batch_sentences")
"""Options of `data` that say how large a batch is."""
LOADING = (*LIMITS, "workers", "cache_dir")
"""Options of `data` that say nothing about the text: another source of text is loaded as the run's was."""


class Variant(NamedTuple):
    """One evaluation of those that a command asks for.

    Attributes:
        tampered: what is done to the weights, a name of `attention.OVERRIDES`; None where nothing is said.
        overrides: its own, as it could have been asked for alone.
        settings: these without what concerns the weights.
    """

    tampered: str | None
    overrides: list[str]
    settings: list[str]


def variants(overrides: Sequence[str]) -> list[Variant]:
    """The evaluations that the overrides ask for: one, or one for each of `attention.override=A,B`.

    Raises:
        UserError: bad grammar, no such override of the weights, or `WEIGHTS` comes twice.
    """
    parsed = _parsed(overrides)
    ours = [
        n for n, one in enumerate(parsed) if one.key_or_group.partition(".")[0] == WEIGHTS.partition(".")[0]
    ]
    rest = [override for n, override in enumerate(overrides) if n not in ours]
    if not ours:
        return [Variant(None, rest, rest)]
    from attnlab.attention import OVERRIDES

    there = f"there are: {', '.join(OVERRIDES)}"
    one = parsed[ours[0]]
    several = one.is_choice_sweep() if one.is_sweep_override() else False
    if one.key_or_group != WEIGHTS or one.is_delete() or (one.is_sweep_override() and not several):
        raise UserError(f"{one.input_line}: of the attention only {WEIGHTS}=NAME can be given; {there}")
    if len(ours) > 1:
        raise UserError(f"{WEIGHTS} is given twice; for several evaluations write {WEIGHTS}=A,B")
    given = [*one.sweep_iterator()] if several else [one.value()]
    names = [str(name) for name in given]
    for name in names:
        if name not in OVERRIDES:
            near = get_close_matches(name, OVERRIDES, 1)
            guess = f"; did you mean {near[0]}?" if near else ""
            raise UserError(f"{WEIGHTS}={name}: {there}{guess}")
    found = []
    for name in dict.fromkeys(names):
        own = list(overrides)
        own[ours[0]] = f"{WEIGHTS}={name}"
        found.append(Variant(name, own, rest))
    return found


def changed(config: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """A copy of the settings with the overrides put in: whole groups first, then single options.

    A `data` option that is named keeps the run's `BOUND` and `LOADING`.

    Raises:
        UserError: bad grammar, or a key that is no option of `GROUPS`.
    """
    return settings(config, overrides)[1]


def settings(config: dict[str, Any], overrides: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings with the whole groups put in, and these with the single options too."""
    parsed = _parsed(overrides)
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


def _parsed(overrides: Sequence[str]) -> list[Any]:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import OverrideParseException

    try:
        return list(OverridesParser.create().parse_overrides(overrides=list(overrides)))
    except OverrideParseException as error:
        raise UserError(
            f"{error.override}: no override; write KEY=VALUE, such as search.beam_size=1"
        ) from error


def _known(groups: Any) -> None:
    for group in groups:
        if group not in GROUPS:
            there = ", ".join((*GROUPS, WEIGHTS))
            raise UserError(f"{group}: an evaluation can change {there}; the rest is the run's own")


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
