"""From the overrides of a cell to its settings, its folder and its faults, once for all its seeds."""

import gc
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from attnlab.check import faults
from attnlab.errors import UserError
from attnlab.sweep import ahead, compose, identity

_SEEDS = ("seed", "seed_init", "seed_order")
# Where a seed may go without another cell being made, and as what.
_OF_MODEL = "${seed_init}"
_FOLLOWS = {"seed_init": "${seed}", "seed_order": "${seed}", "model.initialise.seed": _OF_MODEL}
_SUBDIR = "${attnlab.cell:}/${attnlab.seed:}"
_WHOLE = re.compile(r"0|[1-9]\d{0,17}")  # what is no such number goes the long way, and is refused there


@dataclass(frozen=True)
class Resolved:
    """A run as it would be started: settings, chosen options, folder; or what is wrong with it."""

    values: dict[str, Any]
    chosen: dict[str, str | None]
    folder: Path
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Composed:
    """The first of the runs that differ in their seeds, or why it cannot be composed."""

    overrides: list[str]
    run: Resolved | None
    independent: bool = False  # the others may be made of it
    fault: str = ""


class Resolver:
    """Composes and checks runs. Those that differ in their seeds alone share one composition, if they can.

    They cannot where the configuration asks for a seed in another place than those of the seeds themselves,
    as `data.seed=${seed}` does: such runs are other cells, and each is composed.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self._loader, self._master = loader, master
        self._defaults: dict[str, dict[str, Any]] = {}  # by what is set, and the options there
        self._first: dict[tuple[str, ...], _Composed] = {}  # of runs that differ in their seeds
        self._coming: Iterator[tuple[tuple[str, ...], _Composed]] = iter(())

    @contextmanager
    def ahead(self, jobs: Sequence[Sequence[str]]) -> Iterator[None]:
        """Composes these runs side by side, as they are asked for within; each by one file's reading.

        Args:
            jobs: the overrides of each run, in their order.
        """
        heads = {_key(job): (list(job), number) for number, job in reversed(list(enumerate(jobs)))}
        order = list(heads)[::-1]
        repository = getattr(self._loader, "repository", None)
        if repository is not None:
            self._loader.repository = ahead.Memo(repository)  # type: ignore[attr-defined]
        collecting = gc.isenabled()
        gc.disable()  # a composition leaves a hundred thousand small objects, and no garbage in circles
        answers = ahead.each(lambda head: self._compose(*head), [heads[key] for key in order])
        self._coming = zip(order, answers, strict=True)
        try:
            yield
        finally:
            answers.close()  # type: ignore[attr-defined]
            self._coming = iter(())
            if collecting:
                gc.enable()
            if repository is not None:
                self._loader.repository = repository  # type: ignore[attr-defined]

    def __call__(self, overrides: Sequence[str], number: int) -> Resolved:
        """The run of these overrides; `number` is its place in the sweep.

        Raises:
            UserError: it cannot be composed.
        """
        key, mine = _key(overrides), list(overrides)
        while key not in self._first:
            known = next(self._coming, None)
            if known is None:
                self._first[key] = self._compose(mine, number)
            else:
                self._first[known[0]] = known[1]
        first = self._first[key]
        if first.overrides != mine:
            if first.run is not None and first.independent:
                return _with_seeds(first.run, _split(overrides)[0])
            first = self._compose(mine, number)
        if first.run is None:
            raise UserError(first.fault)
        return first.run

    def _compose(self, overrides: list[str], number: int) -> "_Composed":
        seeds, _ = _split(overrides)
        try:
            config = compose.cell_config(self._loader, self._master, overrides, number)
            run = self._resolve(config)
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            name = str(self._master.hydra.job.config_name)
            return _Composed(overrides, None, fault=compose.reason(error, self._loader, name, overrides))
        return _Composed(overrides, run, independent=bool(seeds) and _independent(config, seeds))

    def _resolve(self, config: DictConfig) -> Resolved:
        chosen = identity.choices(config)
        wrong = tuple(faults(config, self._default(config, chosen)))
        # A value that cannot be may have no place either.
        folder = Path() if wrong else compose.sweep_folder(config)
        return Resolved(identity.plain(config), chosen, folder, wrong)

    def _default(self, config: DictConfig, chosen: Mapping[str, str | None]) -> dict[str, Any]:
        """The defaults of what the overrides set, whose types are to be theirs.

        A composition costs as much as a cell's: it is made once for those cells that choose alike there.
        """
        keys = (item.lstrip("+~").partition("=")[0] for item in config.hydra.overrides.task)
        tops = {key.partition(".")[0] for key in keys if key.partition("@")[0] not in chosen}
        said = {group: option for group, option in chosen.items() if group.partition("/")[0] in tops}
        choice = str((sorted(tops), said, chosen.get("experiment")))
        if choice not in self._defaults:
            found = compose.defaults(self._loader, config)
            self._defaults[choice] = {key: value for key, value in found.items() if key in tops}
        return self._defaults[choice]


def _split(overrides: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """The seeds that are plain numbers, and all other overrides."""
    seeds, rest = {}, []
    for item in overrides:
        key, _, value = item.partition("=")
        if key in _SEEDS and _WHOLE.fullmatch(value):
            seeds[key] = int(value)
        else:
            rest.append(item)
    return seeds, rest


def _key(overrides: Sequence[str]) -> tuple[str, ...]:
    """What runs share that differ in their seeds: which seeds are given, and all else."""
    seeds, rest = _split(overrides)
    return (*seeds, *rest)


def _leaves(node: Any, path: str = "") -> list[tuple[str, str]]:
    """Dotted paths of the unresolved values that are text."""
    if isinstance(node, Mapping):
        return [
            pair for key, item in node.items() for pair in _leaves(item, f"{path}.{key}" if path else key)
        ]
    if isinstance(node, list):
        return [pair for item in node for pair in _leaves(item, path)]
    return [(path, node)] if isinstance(node, str) else []


def _independent(config: DictConfig, given: Mapping[str, int]) -> bool:
    """Whether a seed goes into the seeds alone, and into the last part of the folder's name.

    Args:
        config: as composed, with its interpolations.
        given: the seeds that are set by an override; the others must follow `seed`.
    """
    for key in config:
        if key == "hydra":
            continue
        node: Any = config._get_node(key)
        raw: Any = OmegaConf.to_container(node, resolve=False) if OmegaConf.is_config(node) else node._value()
        if key in _FOLLOWS and key not in given and raw != _FOLLOWS[str(key)]:
            return False
        if key == "model" and (raw.get("initialise") or {}).get("seed", _OF_MODEL) != _OF_MODEL:
            return False
        for path, text in _leaves(raw, str(key)):
            follows = text == _FOLLOWS.get(path)
            if not follows and "${" in text and ("seed" in text or re.search(r"\$\{[^}]*\$\{", text)):
                return False
    sweep = OmegaConf.to_container(config.hydra.sweep, resolve=False)
    return isinstance(sweep, dict) and sweep["subdir"] == _SUBDIR and "seed" not in str(sweep["dir"])


def _with_seeds(first: Resolved, seeds: Mapping[str, int]) -> Resolved:
    """The same run with other seeds; the same ones are given, the others follow `seed`."""
    values = {**first.values, **seeds}
    for name in _SEEDS[1:]:
        if name not in seeds:
            values[name] = values["seed"]
    initialise = (values.get("model") or {}).get("initialise")
    if isinstance(initialise, Mapping) and "seed" in initialise:
        values["model"] = {**values["model"], "initialise": {**initialise, "seed": values["seed_init"]}}
    return replace(first, values=values, folder=first.folder.parent / identity.seed_name(values))
