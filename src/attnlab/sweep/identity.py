"""What makes two runs the same cell: a hash of the settings that matter, and the folder named by it.

The hash takes the resolved configuration less what cannot change a result of the same seed's kind: seeds, the
study's name, places, devices, loggers, what is only shown. A new key with a new default changes every hash.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from omegaconf import DictConfig, OmegaConf

AXES = ("encoder", "scorer", "decoder", "window")
_NAME = ("scorer", "decoder", "window", "encoder")  # the order of a readable name
_RUNS = "runs"

# Dotted paths that leave a cell the same cell. `trainer.max_epochs` is NOT among them, nor is `data.seed`.
IGNORED = frozenset(
    {
        *("hydra", "seed", "seed_init", "seed_order", "model.initialise.seed"),
        *("study", "out", "rerun", "about", "logger"),
        *("cell", "overrides", "command"),  # what `train` writes into the configuration
        *("trainer.devices", "trainer.accelerator", "trainer.num_nodes", "trainer.strategy"),
        *("trainer.threads", "trainer.benchmark", "trainer.detect_anomaly", "trainer.log_every_n_steps"),
        "trainer.compile",
        *("trainer.enable_progress_bar", "trainer.enable_model_summary", "trainer.profiler"),
        *(
            "callbacks.save_last",
            "callbacks.save_every",
            "callbacks.attention_matrices",
            "data.licence",
            "data.show_samples",
            "data.unknown_limit",
        ),
    }
)
# Names of options, wherever they stand, that say where or how fast and not what.
IGNORED_NAMES = frozenset({"cache_dir", "workers"})
# Options that came later, with the value that leaves a cell what it was before them.
NEUTRAL = {"trainer.matmul_precision": "highest"}
# A place of which only the last folder counts: the corpus may be moved, but another corpus is another cell.
PLACES = frozenset({"data.dir"})


def plain(config: Mapping[str, Any] | DictConfig) -> dict[str, Any]:
    """Resolved plain containers of a configuration, without Hydra's own node."""
    if not isinstance(config, DictConfig):
        return {str(key): value for key, value in config.items() if key != "hydra"}
    result: dict[str, Any] = {}
    for key in config:
        if key != "hydra":  # resolving all of it would resolve the run folder, which asks for this
            node = config._get_node(key)
            result[str(key)] = (
                OmegaConf.to_container(node, resolve=True)
                if OmegaConf.is_config(node) and not node._is_interpolation()  # type: ignore[union-attr]
                else config[key]
            )
    return result


def choices(config: Mapping[str, Any] | DictConfig) -> dict[str, str | None]:
    """The option chosen of each group: from Hydra, or from the `cell` that `train` has written in."""
    found = OmegaConf.select(config, "hydra.runtime.choices") if isinstance(config, DictConfig) else None
    if found is None:
        found = config.get("cell") or {}
    return {str(group): found[group] for group in found}


def unused(config: Mapping[str, Any] | DictConfig) -> set[str]:
    """Dotted paths that the chosen options declare to be without effect."""
    about = config.get("about") or {}
    return {str(path) for paths in (about.get("unused") or {}).values() for path in paths}


def cell(config: Mapping[str, Any] | DictConfig) -> dict[str, str | None]:
    """The option of each axis, None where the others leave it without effect."""
    chosen, dropped = choices(config), unused(config)
    return {axis: None if axis in dropped else chosen.get(axis) for axis in AXES}


def _normal(value: Any, path: str, dropped: set[str]) -> Any:
    """With 1.0 as 1, without what is left out."""
    if isinstance(value, Mapping):
        items = {str(key): (f"{path}.{key}" if path else str(key), item) for key, item in value.items()}
        return {
            key: _normal(item, inner, dropped)
            for key, (inner, item) in items.items()
            if inner not in dropped and key not in IGNORED_NAMES and not _is_neutral(inner, item)
        }
    if isinstance(value, list | tuple):
        return [_normal(item, path, dropped) for item in value]
    if path in PLACES and isinstance(value, str):
        return PurePath(value).name
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _is_neutral(path: str, value: Any) -> bool:
    return path in NEUTRAL and NEUTRAL[path] == value


def digest(config: Mapping[str, Any] | DictConfig) -> str:
    """Eight hexadecimal digits of what matters in a configuration."""
    kept = _normal(plain(config), "", set(IGNORED) | unused(config))
    text = json.dumps(kept, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def cell_name(config: Mapping[str, Any] | DictConfig) -> str:
    """Such as `additive-post_combine-global-bilstm-0a1b2c3d`; `none` for an axis without effect."""
    names = cell(config)
    words = [re.sub(r"[^\w.]+", "_", names[axis] or "none") for axis in _NAME]
    return "-".join([*words, digest(config)])


def seed_name(config: Mapping[str, Any] | DictConfig) -> str:
    """`seed1`, or `seed1-init2-order3` where those are set apart: they must not share a folder."""
    seed = config["seed"]
    parts = [f"seed{seed}"]
    for name in ("init", "order"):
        own = config.get(f"seed_{name}", seed)
        if own != seed:
            parts.append(f"{name}{own}")
    return "-".join(parts)


def study_name(study: str | None) -> str:
    """The folder under `out` that holds the runs of a study, or of none."""
    return study or _RUNS


def mode(study: str | None) -> str | None:
    """How Hydra is to run without `-m`: a study that has a file is a sweep."""
    from attnlab.sweep import compose  # which imports this module
    from attnlab.sweep.study import find

    return None if find(study, compose.conf_dir()) is None else "MULTIRUN"


def register() -> None:
    """Make `${attnlab.cell:}`, `${attnlab.seed:}`, `${attnlab.study:NAME}`, `${attnlab.mode:NAME}` known."""
    OmegaConf.register_new_resolver("attnlab.cell", lambda *, _root_: cell_name(_root_), replace=True)
    OmegaConf.register_new_resolver("attnlab.seed", lambda *, _root_: seed_name(_root_), replace=True)
    OmegaConf.register_new_resolver("attnlab.study", study_name, replace=True)
    OmegaConf.register_new_resolver("attnlab.mode", mode, replace=True)


register()
