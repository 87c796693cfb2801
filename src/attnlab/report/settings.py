"""In which settings do the cells of one table differ, apart from the axes?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from attnlab.sweep.identity import AXES, IGNORED, IGNORED_NAMES, PLACES, unused

if TYPE_CHECKING:
    from attnlab.report.rows import Row

_ABSENT = "-"


def differences(rows: Sequence[Row]) -> None:
    """Sets `settings` of every row to what tells it apart beside its axes, such as `optim.lr=0.01`.

    A setting outside the axes is named in every row as soon as two rows differ in it: whoever compares them
    must know. Settings of an axis (`scorer.units`) are named only among cells of one name. What does not
    belong to a cell's identity (seeds, places, devices, options without effect) is left out.
    """
    flat = {row.cell_id: dict(_leaves(row.config, IGNORED | unused(row.config))) for row in rows}
    outside = _differing([_outside(flat[row.cell_id]) for row in rows])
    names: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        names.setdefault(tuple(row.cell.values()), []).append(row)
    for same in names.values():
        keys = sorted(set(outside) | set(_differing([flat[row.cell_id] for row in same])))
        for row in same:
            row.settings = " ".join(f"{key}={flat[row.cell_id].get(key, _ABSENT)}" for key in keys)


def _outside(flat: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in flat.items() if key.split(".")[0] not in AXES}


def _differing(tables: Sequence[Mapping[str, str]]) -> list[str]:
    keys = {key for table in tables for key in table}
    return [key for key in keys if len({table.get(key, _ABSENT) for table in tables}) > 1]


def _leaves(value: Any, dropped: AbstractSet[str], path: str = "") -> Iterator[tuple[str, str]]:
    if path in dropped or path.rpartition(".")[2] in IGNORED_NAMES:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, dropped, f"{path}.{key}" if path else str(key))
    elif path in PLACES and isinstance(value, str):
        yield path, PurePath(value).name
    elif isinstance(value, list | tuple):
        yield path, "[" + ",".join(map(str, value)) + "]"
    else:
        yield path, f"{value:g}" if isinstance(value, float) else str(value)
