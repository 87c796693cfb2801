"""What Hydra has composed, read the way the plan, the gate and the launcher need it."""

import difflib
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir, version
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from attnlab.sweep import identity, study

# What belongs to the sweep, or to the place of one run, and not to what a cell is.
_OF_THE_SWEEP = re.compile(r"^[+~]*hydra[./](launcher|sweeper|mode|sweep|run|job_logging|output_subdir)\b")


def conf_dir() -> Path:
    """The folder of our configuration: inside an installed package, or at the top of a checkout.

    Raises:
        FileNotFoundError: neither is there.
    """
    here = Path(__file__).resolve()
    for folder in (here.parents[1] / "conf", here.parents[3] / "conf"):
        if (folder / "config.yaml").is_file():
            return folder
    raise FileNotFoundError("attnlab's configuration (conf/config.yaml) is not installed")


@contextmanager
def composing() -> Iterator[ConfigLoader]:
    """Hydra's compose API, with the caller's own Hydra, if any, as it was afterwards."""
    base, outer = version.getbase(), GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf_dir()), job_name="train", version_base="1.3"):
            yield GlobalHydra.instance().config_loader()
    finally:
        version.VersionBase.instance().version_base = base
        GlobalHydra.instance().hydra = outer


def defaults(loader: ConfigLoader, config: DictConfig) -> dict[str, Any]:
    """The same choices of options with no value set: what the options' own files say."""
    chosen = config.hydra.runtime.choices
    groups = [
        item
        for item in config.hydra.overrides.task
        if re.split("[=@]", item.lstrip("+~"), maxsplit=1)[0] in chosen
    ]
    hydra_overrides = list(config.hydra.overrides.hydra)
    bare = loader.load_configuration(config.hydra.job.config_name, groups + hydra_overrides, RunMode.RUN)
    return identity.plain(bare)


def misspelt(loader: ConfigLoader, config_name: str, overrides: Sequence[str]) -> list[str]:
    """A line for each override that names no option, with the options there are.

    Hydra's own message on these says how to add a new key, which is not what a misspelt one needs.
    """
    parsed = OverridesParser.create(config_loader=loader).parse_overrides(list(overrides))
    groups = [one for one in parsed if one.is_hydra_override() or loader.get_group_options(one.key_or_group)]
    own = any(one.key_or_group == "hydra.searchpath" for one in parsed)  # options that the loader can't list
    lines, without = [], []
    for one in groups:
        if one.is_hydra_override() or one.is_delete() or one.is_sweep_override():
            continue
        options = loader.get_group_options(one.key_or_group)
        value: Any = one.value()
        wished = value if isinstance(value, list) else [value]
        told = f"{one.input_line}: no option of {one.key_or_group}; choose {', '.join(options)}"
        if not all(isinstance(option, str) for option in wished):
            without.append(told)
        elif not own and not set(wished) <= set(options):
            lines.append(told + _guess([name for name in wished if name not in options], options))
    lines = lines or without  # one that is null may be meant so, and another at fault
    if lines:
        return lines
    lines_of_groups = [str(one.input_line) for one in groups]
    bare = loader.load_configuration(config_name, lines_of_groups, RunMode.MULTIRUN, from_shell=False)
    lines = []
    for one in parsed:
        path = one.key_or_group
        if one in groups or one.is_add() or one.is_force_add():
            continue
        above, _, name = path.rpartition(".")
        node = OmegaConf.select(bare, above) if above else bare
        if not isinstance(node, DictConfig):
            guess = _guess([above], [str(key) for key in bare if key not in ("hydra", "about")])
            lines.append(f"there is no {path}, for {above} holds no options{guess}")
        elif name not in node:
            options = sorted(
                str(key) for key in node if key not in ("_target_", "_partial_", "hydra", "about")
            )
            guess = _guess([name], options)
            there = f"but {', '.join(options)}" if options else "and takes no options"
            lines.append(f"{above or 'the configuration'} has no {name}, {there}{guess}")
    return lines


def _guess(names: Sequence[str], options: Sequence[str]) -> str:
    """`; did you mean additive?`, where one of the names comes near to an option."""
    near = [match for name in names for match in difflib.get_close_matches(name, options, 1)]
    return f"; did you mean {near[0]}?" if near else ""


def reason(error: Exception, loader: ConfigLoader, config_name: str, overrides: Sequence[str]) -> str:
    """An error of composition in one line: the options there are, or Hydra's words and their cause."""
    try:
        named = misspelt(loader, config_name, overrides)
    except (HydraException, OmegaConfBaseException, ValueError):  # what we are telling already
        named = []
    if named:
        return "; ".join(named)
    parts = [str(error).partition("Config search path:")[0], str(error.__cause__ or "")]
    return ": ".join(" ".join(part.split()) for part in parts if part.strip())


def cell_config(loader: ConfigLoader, master: DictConfig, overrides: list[str], number: int) -> DictConfig:
    """The configuration of one cell of a sweep, with its place in it."""
    config = loader.load_sweep_config(master, overrides)
    with open_dict(config):
        config.hydra.job.num = number
        config.hydra.job.id = str(number)
    return config


def sweep_folder(config: DictConfig) -> Path:
    """The run folder of a cell of a sweep."""
    return Path(os.path.normpath(Path(str(config.hydra.sweep.dir)) / str(config.hydra.sweep.subdir)))


def run_folder(config: DictConfig) -> Path:
    """The run folder of a single run."""
    return Path(os.path.normpath(str(config.hydra.run.dir)))


def arguments(config: DictConfig) -> list[str]:
    """Arguments of `attnlab train` that compose one cell's configuration again."""
    name = str(config.hydra.job.config_name)
    arguments = [] if name == "config" else ["--config-name", name]
    for source in config.hydra.runtime.config_sources:
        if source.provider == "command-line":
            arguments += ["--config-dir", source.path]
        elif source.provider == "main" and Path(source.path) != conf_dir():
            arguments += ["--config-path", source.path]
    kept = [item for item in config.hydra.overrides.hydra if not _OF_THE_SWEEP.match(item)]
    return [*arguments, *config.hydra.overrides.task, *kept]


def cell_arguments(config: DictConfig, folder: Path) -> list[str]:
    """The same for one cell of a sweep, as a run of its own in `folder`."""
    quoted = str(folder.resolve()).replace("'", "\\'")
    return [*arguments(config), "hydra.mode=RUN", f"hydra.run.dir='{quoted}'"]


def cell_dict(config: DictConfig) -> dict[str, Any]:
    """What `run_cell` takes: plain, resolved containers with the cell's names and how it was asked for."""
    return {
        **identity.plain(config),
        "cell": identity.cell(config),
        "overrides": OmegaConf.to_container(config.hydra.overrides.task),
        "command": shlex.join(["attnlab", "train", *arguments(config), *_alone(config)]),
    }


def _alone(config: DictConfig) -> list[str]:
    """What makes the command of one cell train that cell, where the study's name would train all of them."""
    return ["hydra.mode=RUN"] if study.find(config.get("study"), conf_dir()) is not None else []
