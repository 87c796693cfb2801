"""In which settings do the cells of one table differ, apart from the axes?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any

from attnlab.report.rows import MISSING, Row
from attnlab.sweep.identity import AXES, IGNORED, IGNORED_NAMES, PLACES, unused

_ABSENT = "-"
_TARGET = "._target_"
# What changes the intervals of the buckets and no score. Named only where nothing else tells two rows apart.
_INTERVALS = frozenset({"metrics.bootstrap"})
_OVERRIDE = re.compile(r"\+{0,2}([\w.]+)=(.*)", re.DOTALL)
_OPTION = re.compile(r"[\w.-]+")
_NO_CONFIG = ("about", "hydra", "out", "rerun")  # no settings, of which `shared` tells all

Flat = Mapping[str, str]
Told = dict[str, str]


def differences(rows: Sequence[Row]) -> None:
    """Sets `settings` of every row to what tells it apart beside its axes, such as `optim.lr=0.01`.

    A setting outside the axes is named in every row as soon as two rows differ in it: whoever compares them
    must know. Settings of an axis (`scorer.units`) are named only among cells of one name. Of a group with
    another option (`tokenizer=bpe`) the option is named, and not the settings that come with it. What does
    not belong to a cell's identity (seeds, places, devices, options without effect) is left out. Rows of
    which no settings are known get none; where their axes do not tell them apart, the end of their name.
    """
    unknown = [row for row in rows if not row.config and row.kind == MISSING]
    for row in unknown:
        if sum(row.cell == other.cell for other in rows) > 1:
            row.settings = row.cell_id.rpartition("-")[2]
    rows = [row for row in rows if row.config]
    outside = told(rows, lambda key: key.split(".")[0] not in AXES, _INTERVALS)
    for same in _together(rows, lambda row: tuple(row.cell.values())):
        own = told(same, lambda key: key.split(".")[0] in AXES, _INTERVALS)
        for row in same:
            row.settings = _text(outside[row.key] | own[row.key])
    for same in _together(rows, lambda row: (*row.cell.values(), row.settings)):
        rest = told(same, lambda key: any(key.startswith(path) for path in _INTERVALS), frozenset())
        for row in same:
            row.settings = " ".join(filter(None, [row.settings, _text(rest[row.key])]))


def told(rows: Sequence[Row], wanted: Callable[[str], bool], dropped: AbstractSet[str]) -> dict[str, Told]:
    """Of every row, by its key, the wanted settings in which the rows differ."""
    flat = {
        row.key: {
            key: value
            for key, value in _leaves(row.config, IGNORED | dropped | unused(row.config))
            if wanted(key)
        }
        for row in rows
    }
    found: dict[str, Told] = {cell: {} for cell in flat}
    given = {row.key: _given(row) for row in rows}
    swapped = _swapped(flat, given)
    for path in swapped:
        names = _names(path, flat, given)
        alike: dict[str, list[str]] = {}
        for cell in flat:
            found[cell][path] = names[cell]
            alike.setdefault(names[cell], []).append(cell)
        for cells in alike.values():
            inside = [{k: v for k, v in flat[cell].items() if k.startswith(f"{path}.")} for cell in cells]
            kept = set(_differing(inside))  # not told by the option: they differ among cells that share it
            everywhere = set(_differing(list(flat.values())))
            kept |= {key for cell in cells for key in given[cell] if key in everywhere}
            for cell, own in zip(cells, inside, strict=True):
                found[cell] |= {key: own[key] for key in kept if key in own and key != path + _TARGET}
    for key in _differing(list(flat.values())):
        if not any(key == path or key.startswith(f"{path}.") for path in swapped):
            for cell, table in flat.items():
                found[cell][key] = table.get(key, _ABSENT)
    return found


def shared(rows: Sequence[Row]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The settings that all rows share, and by the row's key those that are its own."""
    flat: dict[str, dict[str, Any]] = {row.key: _flat(row.config, unused(row.config)) for row in rows}
    known = [flat[row.key] for row in rows if flat[row.key]]
    common: dict[str, Any] = {}
    if known:
        common = {
            key: value
            for key, value in known[0].items()
            if all(key in other and other[key] == value for other in known[1:])
        }
    return common, {
        key: {name: value for name, value in own.items() if name not in common} for key, own in flat.items()
    }


def _flat(config: Mapping[str, Any], dropped: AbstractSet[str], path: str = "") -> dict[str, Any]:
    """The settings by dotted path, without those that are `dropped`; of a place only the last folder."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        where = f"{path}.{key}" if path else str(key)
        if where in _NO_CONFIG or where in dropped:
            continue
        if isinstance(value, Mapping) and value:
            found |= _flat(value, dropped, where)
        elif where in PLACES and isinstance(value, str):
            found[where] = PurePath(value).name
        else:
            found[where] = value
    return found


def _given(row: Row) -> dict[str, str]:
    """What was asked for on the command line: `tokenizer` -> `bpe`, `tokenizer.size` -> `4000`."""
    record = row.runs[0].record if row.runs else {}
    matches = (_OVERRIDE.fullmatch(str(override)) for override in record.get("overrides") or [])
    return {match[1]: match[2] for match in matches if match}


def _swapped(flat: Mapping[str, Flat], given: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Paths at which the cells have different objects, outermost only."""
    targets = {key.removesuffix(_TARGET) for table in flat.values() for key in table if key.endswith(_TARGET)}
    found: list[str] = []
    for path in sorted(targets, key=lambda path: (path.count("."), path)):
        if any(path.startswith(f"{outer}.") for outer in found):
            continue
        classes = {_class(table, path) for table in flat.values()}
        options = {_option(given[cell].get(path)) for cell in flat}
        if len(classes) > 1 or (len(options) > 1 and None not in options):
            found.append(path)
    return found


def _names(path: str, flat: Mapping[str, Flat], given: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """A short name for what each cell has at the path: the option asked for, else the class.

    A cell that has the class by default is called by the option that another asked for. One name never stands
    for two classes.
    """
    classes = {cell: _class(table, path) for cell, table in flat.items()}
    options: dict[str, set[str]] = {}
    for cell, target in classes.items():
        option = _option(given[cell].get(path))
        if option is not None:
            options.setdefault(target, set()).add(option)
    names = {}
    for cell, target in classes.items():
        known = options.get(target, set())
        short = target.rpartition(".")[2].lower()
        names[cell] = _option(given[cell].get(path)) or (next(iter(known)) if len(known) == 1 else short)
    for name in set(names.values()):
        of_name = {classes[cell] for cell in names if names[cell] == name}
        if len(of_name) > 1:
            names |= {cell: classes[cell] for cell in list(names) if names[cell] == name}
    return names


def _option(value: str | None) -> str | None:
    return value if value is not None and _OPTION.fullmatch(value) else None


def _class(table: Flat, path: str) -> str:
    return table.get(path + _TARGET) or table.get(path) or _ABSENT


def _together(rows: Sequence[Row], key: Callable[[Row], tuple[Any, ...]]) -> list[list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())


def _differing(tables: Sequence[Flat]) -> list[str]:
    keys = {key for table in tables for key in table}
    return [key for key in keys if len({table.get(key, _ABSENT) for table in tables}) > 1]


def _text(told: Told) -> str:
    """Chosen options first: they say most, and the legend of the figure may cut the rest."""
    return " ".join(f"{key}={told[key]}" for key in sorted(told, key=lambda key: ("." in key, key)))


def _leaves(value: Any, dropped: AbstractSet[str], path: str = "") -> Iterator[tuple[str, str]]:
    """Dotted paths and values, written as they would be typed."""
    if path in dropped or path.rpartition(".")[2] in IGNORED_NAMES:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, dropped, f"{path}.{key}" if path else str(key))
    elif path in PLACES and isinstance(value, str):
        yield path, PurePath(value).name
    elif isinstance(value, list | tuple):
        yield path, "[" + ",".join(map(_typed, value)) + "]"
    else:
        yield path, _typed(value)


def _typed(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
