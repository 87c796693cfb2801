"""A study's file: a question, a union of grids, exclusions, seeds. docs/studies.md describes it. No torch."""

import difflib
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.types import Quote, QuotedString
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from attnlab.errors import UserError

FILE = "study.yaml"
LINKED = "linked"
KEYS = ("question", "overrides", "grids", "exclude", "seeds")
# Reads back as the same word whatever stands around it.
_WORD = re.compile(r"(?!(?:true|false|null|nan|inf)$)[A-Za-z_][\w./+-]*|\$\{[^{}]*\}", re.IGNORECASE)


@dataclass(frozen=True)
class Study:
    """What a study's file asks for.

    Args:
        path: the file.
        text: its bytes.
        question: what the study is to answer.
        points: the overrides of each cell, without its seed.
        exclude: rules, each from option or setting to the values that it matches; all of a rule must match.
        seeds: of every cell; None leaves the configuration's own.
    """

    path: Path
    text: bytes
    question: str | None
    points: list[list[str]]
    exclude: list[dict[str, list[Any]]]
    seeds: list[int] | None

    @property
    def sha256(self) -> str:
        """The hash of the file."""
        return hashlib.sha256(self.text).hexdigest()

    def jobs(self, given: Sequence[Sequence[str]]) -> list[list[str]]:
        """The overrides of every run: each point with each of `given`, which win, and each seed.

        Points that `given` makes the same are one.

        Args:
            given: overrides of the command line, its own sweeps multiplied out.
        """
        found = []
        for point, job in product(self.points, given):
            there = {key_of(item): item for item in point}
            own = {key_of(item): item for item in job}
            seeds = [f"seed={seed}" for seed in self.seeds or ()] if "seed" not in own else []
            kept = [item for key, item in there.items() if key not in own]
            found += [[*kept, *seed, *job] for seed in ([[one] for one in seeds] or [[]])]
        return [list(job) for job in dict.fromkeys(map(tuple, found))]


def key_of(override: str) -> str:
    """What an override sets: the part before `=`."""
    return override.lstrip("+~").partition("=")[0]


def find(name: Any, conf: Path) -> Path | None:
    """`experiments/NAME/study.yaml` in the working directory, else beside our configuration.

    Args:
        name: the study; a name with a separator in it has no file.
        conf: the folder of the configuration.
    """
    if name is None or not re.fullmatch(r"\w[\w.+ -]*", str(name)):
        return None
    for top in (Path(), conf.parent):
        path = top / "experiments" / str(name) / FILE
        if path.is_file():
            return path
    return None


def read(path: Path) -> Study:
    """Reads and checks a study's file.

    Raises:
        UserError: no YAML, an unknown key, an empty grid, a value of the wrong kind.
    """
    try:
        text = path.read_bytes()
        values = OmegaConf.to_container(OmegaConf.create(text.decode("utf-8")), resolve=False)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise UserError(f"{path}{line}: no valid YAML ({problem})") from error
    except AssertionError:  # OmegaConf's word for a number or a date at the top
        values = None
    except RecursionError as error:
        raise UserError(f"{path}: no valid study (an anchor holds itself)") from error
    except (OSError, UnicodeDecodeError, OmegaConfBaseException) as error:
        raise UserError(f"{path}: cannot be read ({' '.join(str(error).split())})") from error
    if not isinstance(values, Mapping) or not values:
        raise UserError(f"{path}: a mapping is expected, with {', '.join(KEYS)}")
    for key in values:
        if key not in KEYS:
            near = difflib.get_close_matches(str(key), KEYS, 1)
            guess = f"; did you mean {near[0]}?" if near else ""
            raise UserError(f"{path}: a study has no {key!r}, but {', '.join(KEYS)}{guess}")
    shared = _shared(values.get("overrides"), path)
    rows = _grids(values["grids"], path) if "grids" in values else [[]]
    seeds = _seeds(values.get("seeds"), path) if "seeds" in values else None
    points = []
    for row in rows:
        if seeds is not None and any(key_of(item) == "seed" for item in (*shared, *row)):
            raise UserError(f"{path}: seed is set under grids or overrides and under seeds; keep one of them")
        own = {key_of(item) for item in row}
        points.append([*(item for item in shared if key_of(item) not in own), *row])
    question = values.get("question")
    return Study(
        path=path,
        text=text,
        question=None if question is None else " ".join(str(question).split()),
        points=points,
        exclude=_exclude(values.get("exclude"), path),
        seeds=seeds,
    )


def _shared(items: Any, path: Path) -> list[str]:
    """`overrides`: a list of `key=value`, or a mapping."""
    if items is None:
        return []
    if isinstance(items, Mapping):
        items = [f"{_option(key, path)}={written(value)}" for key, value in items.items()]
    if not isinstance(items, list) or not all(isinstance(item, str) and item for item in items):
        raise UserError(f"{path}: overrides must be a list such as [experiment=demo, trainer.max_epochs=2]")
    for item in items:
        _option(key_of(item), path)
    return [str(item) for item in items]


def _grids(grids: Any, path: Path) -> list[list[str]]:
    """The cells of all grids, in order."""
    if not isinstance(grids, list) or not grids:
        raise UserError(f"{path}: grids must be a list of mappings such as [{{scorer: [dot, general]}}]")
    return [point for number, grid in enumerate(grids, 1) for point in _grid(grid, f"{path}: grid {number}")]


def _grid(grid: Any, where: str) -> list[list[str]]:
    """The product of one grid's lists."""
    if not isinstance(grid, Mapping) or not grid:
        raise UserError(f"{where} must be a mapping of options to values or lists of them, and not empty")
    axes: list[list[list[str]]] = []
    for key, value in grid.items():
        if key == LINKED:
            if not isinstance(value, list) or not value:
                raise UserError(f"{where}: {LINKED} must be a list of mappings, walked together")
            entries = [_grid(entry, f"{where}, {LINKED} {n}") for n, entry in enumerate(value, 1)]
            axes.append([point for entry in entries for point in entry])
            continue
        values = value if isinstance(value, list) else [value]
        if not values:
            raise UserError(f"{where}: {key} has an empty list; give it a value, or leave it out")
        axes.append([[f"{_option(key, where)}={written(one)}"] for one in values])
    points = [[item for part in parts for item in part] for parts in product(*axes)]
    for point in points:
        keys = [key_of(item) for item in point]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise UserError(f"{where}: {twice} is set twice, in {LINKED} and beside it")
    return points


def _option(key: Any, where: Any) -> str:
    """The name of an option, refused where it is the sweep's own or cannot be a cell's."""
    name = str(key)
    bare = name.lstrip("+~")
    if bare == "study" or bare.startswith(("hydra.", "hydra/")):
        raise UserError(f"{where}: {name} belongs on the command line, not into the study's file")
    if not bare or "=" in bare or any(letter.isspace() for letter in bare):
        raise UserError(f"{where}: {name!r} is no name of an option")
    return name


def _seeds(seeds: Any, path: Path) -> list[int]:
    whole = isinstance(seeds, list) and all(isinstance(s, int) and not isinstance(s, bool) for s in seeds)
    if not whole or not seeds or len(set(seeds)) < len(seeds):
        raise UserError(f"{path}: seeds must be a list of different whole numbers such as [1, 2, 3]")
    return list(seeds)


def _exclude(rules: Any, path: Path) -> list[dict[str, list[Any]]]:
    if rules is None:
        return []
    if not isinstance(rules, list) or not all(isinstance(rule, Mapping) and rule for rule in rules):
        raise UserError(f"{path}: exclude must be a list of mappings such as [{{scorer: dot, seed: 2}}]")
    return [
        {str(key): value if isinstance(value, list) else [value] for key, value in rule.items()}
        for rule in rules
    ]


def written(value: Any) -> str:
    """A value in the grammar of Hydra's overrides, such that it reads back as the same."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{written(key)}:{written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(written(item) for item in value) + "]"
    if isinstance(value, str) and not _WORD.fullmatch(value):
        return QuotedString(text=value, quote=Quote.single).with_quotes()
    return str(value)


def matches(rule: Mapping[str, list[Any]], chosen: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether a rule of `exclude` matches a cell.

    Args:
        rule: from option group or dotted setting to values.
        chosen: the option of each group, defaults included.
        values: the resolved settings.
    """
    for key, wanted in rule.items():
        group = next((name for name in (key, key.replace(".", "/")) if name in chosen), None)
        if group is not None:
            there = chosen[group]
        else:
            node: Any = values
            for part in key.split("."):
                if not isinstance(node, Mapping) or part not in node:
                    return False
                node = node[part]
            there = node
        if not any(_same(one, there) for one in wanted):
            return False
    return True


def _same(first: Any, second: Any) -> bool:
    """Equal, where true is not 1."""
    return bool(first == second) and isinstance(first, bool) == isinstance(second, bool)
