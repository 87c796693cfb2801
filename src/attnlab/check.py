"""Refuses a configuration that cannot be trained, in one line, before a folder is made. No torch.

The chosen options declare what they need under `about.requires` (docs/architecture.md), each a rule or a
list of rules of these kinds, so that nothing here knows a variant's name:

    equal: [decoder.hidden_size, encoder.hidden_size]     the same value
    multiple_of: [encoder.hidden_size, 2]                 a number, or a path, as the second
    at_most: [search.n_best, search.beam_size]            the same, the second the larger
    factor: {context_goes_to: rnn}                        what the decoder order declares; a list is a choice

and beside any of them `when: model.tie_embeddings` (the rule holds where that path is true) and
`remedy: use scorer=general` (which ends the line).
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from attnlab.errors import UserError
from attnlab.sweep import identity

# By the option's own name, wherever it stands, so that a new scorer's `units` are covered too.
_WHOLE = frozenset(
    {
        *("hidden_size", "embedding_size", "layers", "units", "half_width", "maxout_size", "size"),
        *("max_length", "beam_size", "n_best", "validation_beam_size", "batch_tokens", "batch_sentences"),
        *("max_train_length", "max_train_pairs", "train_pairs", "val_pairs", "test_pairs"),
        *("patience", "save_every", "num_nodes", "threads", "log_every_n_steps"),
        *("max_ngram_order", "heatmap_tokens"),
    }
)
_COUNT = frozenset(  # from 0
    {
        *("seed", "seed_init", "seed_order", "min_length", "workers", "min_bucket", "samples", "after"),
        *("validation_sentences", "attention_matrices", "num_sanity_val_steps", "heatmaps"),
    }
)
_LIMIT = frozenset({"max_epochs", "max_steps"})  # of Lightning, which writes -1 for none
_SHARE = frozenset({"dropout", "label_smoothing"})
_POSITIVE = frozenset({"lr"})
_NOT_NEGATIVE = frozenset({"gradient_clip_val", "min_delta", "weight_decay", "unknown_limit"})
# What may be null although its default is something else.
_NULLABLE = frozenset(
    {"size", "batch_tokens", "patience", "save_every", "validation_sentences", "max_epochs"}
)
_LARGEST_SEED = 2**63 - 1  # of torch's generators
_LONGEST_NAME = 200  # bytes; file systems stop at 255
# Lightning's own, which take more than one type ("auto" or 2; 32 or "bf16-mixed").
_LOOSE = frozenset({"devices", "precision", "strategy", "accelerator"})


def _select(config: Mapping[str, Any], path: str) -> Any:
    node: Any = config
    for key in path.split("."):
        if not isinstance(node, Mapping) or key not in node:
            raise KeyError(path)
        node = node[key]
    return node


def _leaves(config: Any, ends: frozenset[str] = frozenset(), path: str = "") -> Iterator[tuple[str, Any]]:
    """The values with their paths; `ends` are paths that stay whole, unless an object is to be made there."""
    if isinstance(config, Mapping) and (path not in ends or "_target_" in config):
        for key, value in config.items():
            yield from _leaves(value, ends, f"{path}.{key}" if path else str(key))
    else:
        yield path, config


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _place_fault(path: str, value: Any) -> str | None:
    """What is wrong with `out`, any folder, or with `study`, one folder in it that no run may leave."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if path == "out" and not (text.strip() and text.isprintable()):
        return f"out={value}: must be the name of a folder, such as out=outputs"
    if path != "study" or value is None:
        return None
    if re.fullmatch(r"\w[\w.+ -]*(?<! )", text) and len(text.encode()) <= _LONGEST_NAME:
        return None
    return (
        f"study={value!r}: must be one name of letters, digits, '.', '_', '+' and '-' such as study=first,"
        " or null; to write elsewhere give out=DIR"
    )


def _size_fault(path: str, value: Any) -> str | None:
    """What is wrong with one option, judged by its name."""
    name = path.rpartition(".")[2]
    whole = isinstance(value, int) and not isinstance(value, bool)
    fault = _place_fault(path, value)
    if fault is not None or value is None:
        return fault
    if value == "???":  # Hydra's mark of a value without default
        return f"{path} has no default: give it, as {path}=VALUE"
    if name in _WHOLE and not (whole and value >= 1):
        return f"{path}={value}: must be a whole number of at least 1"
    if name in _COUNT and not (whole and value >= 0):
        return f"{path}={value}: must be a whole number of at least 0"
    if name in _COUNT and value > _LARGEST_SEED:
        return f"{path}={value}: must be at most {_LARGEST_SEED}"
    if name in _LIMIT and not (whole and (value >= 1 or value == -1)):
        return f"{path}={value}: must be a whole number of at least 1, or -1 for no limit"
    if name in _SHARE and not (_number(value) and 0 <= value < 1):
        return f"{path}={value}: must be a number of at least 0 and less than 1"
    if name in _POSITIVE and not (_number(value) and 0 < value < math.inf):
        return f"{path}={value}: must be a number greater than 0"
    if name in _NOT_NEGATIVE and not (_number(value) and value >= 0):
        return f"{path}={value}: must be a number of at least 0"
    return None


def _type_fault(path: str, value: Any, default: Any) -> str | None:
    """What is wrong with a value beside the default in the option's file."""
    name = path.rpartition(".")[2]
    if default is None or name in _LOOSE:
        return None
    if value is None and name in (_WHOLE | _COUNT | _LIMIT | _SHARE | _POSITIVE) - _NULLABLE:
        return f"{path}=null: must have a value (the default is {default})"
    if isinstance(default, bool):
        wanted, good = "true or false", isinstance(value, bool)
    elif isinstance(default, int | float):
        wanted, good = "a number", value is None or _number(value)
    elif isinstance(default, list):
        wanted, good = "a list, such as [a,b]", value is None or isinstance(value, list)
    elif isinstance(default, str):
        wanted, good = "a word", not isinstance(value, list | dict | bool)
    else:
        return None
    return None if good else f"{path}={value}: must be {wanted} (the default is {default})"


def _rule_fault(owner: str, rule: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    """What is wrong by one declared rule."""

    def value(item: Any) -> Any:
        return _select(config, item) if isinstance(item, str) else item

    if "when" in rule and not value(rule["when"]):
        return None
    need: str | None = None
    near = "choose another option"
    if "equal" in rule:
        first, *rest = rule["equal"]
        other = next((path for path in rest if value(path) != value(first)), None)
        if other is not None:
            need = f"{first} == {other}, but they are {value(first)} and {value(other)}"
    elif "multiple_of" in rule:
        path, step = rule["multiple_of"]
        if not isinstance(value(path), int) or value(path) % value(step):
            need = f"{path} to be a multiple of {value(step)}, but it is {value(path)}"
            near = _near(value(path), value(step))
    elif "at_most" in rule:
        path, most = rule["at_most"]
        if None not in (value(path), value(most)) and value(path) > value(most):
            need = f"{path} of at most {most}, but they are {value(path)} and {value(most)}"
    elif "factor" in rule:
        factors = (config.get("about") or {}).get("factors") or {}
        for name, allowed in rule["factor"].items():
            options = allowed if isinstance(allowed, list) else [allowed]
            if factors.get(name) not in options:
                is_ = factors.get(name)
                need = f"a decoder with {name} {' or '.join(map(str, options))}, but here it is {is_}"
    else:
        kinds = "equal, multiple_of, at_most, factor"
        raise UserError(f"about.requires.{owner}: a rule needs one of {kinds}, but has {', '.join(rule)}")
    if need is None:
        return None
    if "when" in rule:
        need += f" (with {rule['when']}={value(rule['when'])})"
    remedy = rule.get("remedy") or ("set them equal" if "equal" in rule else near)
    return f"{owner} needs {need}: {remedy}"


def _near(size: Any, step: Any) -> str:
    """The multiples of `step` on both sides of a size."""
    if not (isinstance(size, int) and isinstance(step, int)):
        return "choose another option"
    below = size // step * step
    return f"give {below} or {below + step}" if below > 0 else f"give {step}"


def _named(owner: str, chosen: Mapping[str, str | None]) -> str:
    """`scorer=dot` for `scorer`; `model/readout` may be written `model.readout` or `readout`."""
    for group, option in chosen.items():
        if option is not None and owner in (group, group.replace("/", "."), group.rpartition("/")[2]):
            return f"{group}={option}"
    return owner


def _derived(config: Mapping[str, Any] | DictConfig, path: str) -> bool:
    """Whether an option takes its value from another, which is the one to name."""
    *above, name = path.split(".")
    node: Any = config
    for key in above:
        if not isinstance(node, DictConfig) or key not in node:  # plain, or a key that is no word
            return False
        node = node[key]
    return isinstance(node, DictConfig) and name in node and OmegaConf.is_interpolation(node, name)


def value_faults(
    values: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    skipped: Callable[[str], bool] = lambda path: False,
) -> list[str]:
    """Sizes and types that cannot be, one line each, without the rules that the options declare.

    Args:
        values: plain settings.
        defaults: values of the right types.
        skipped: whether a dotted path is passed over.
    """
    known = dict(_leaves(defaults)) if defaults is not None else {}
    found = []
    for path, value in _leaves(values, frozenset(known)):
        if not skipped(path):
            fault = _size_fault(path, value) or _type_fault(path, value, known.get(path))
            if fault is not None:
                found.append(fault)
    return found


def faults(config: Mapping[str, Any] | DictConfig, defaults: Mapping[str, Any] | None = None) -> list[str]:
    """All that is wrong with a configuration, one line each.

    Args:
        config: as composed, or plain.
        defaults: the same choices without any value set by the user; types are compared with it.
    """
    chosen, dropped = identity.choices(config), identity.unused(config)
    values = identity.plain(config)

    def without_effect(path: str) -> bool:
        return any(path == item or path.startswith(f"{item}.") for item in dropped)

    found = value_faults(
        values,
        defaults,
        lambda path: path.startswith("about.") or without_effect(path) or _derived(config, path),
    )
    if found:  # the rules compute with the values
        return found
    for owner, rules in ((values.get("about") or {}).get("requires") or {}).items():
        if without_effect(owner):
            continue
        for rule in [rules] if isinstance(rules, Mapping) else rules:
            try:
                fault = _rule_fault(_named(owner, chosen), rule, values)
            except KeyError as error:
                raise UserError(f"about.requires.{owner} names {error.args[0]}, which is no option") from None
            if fault is not None:
                found.append(fault)
    return found


def check(config: Mapping[str, Any] | DictConfig, defaults: Mapping[str, Any] | None = None) -> None:
    """Raise UserError, in one line, where `faults` finds any."""
    found = faults(config, defaults)
    if found:
        raise UserError("; ".join(found))
