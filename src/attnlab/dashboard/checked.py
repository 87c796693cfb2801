"""A built workspace or report against the logged keys.

What is checked is what W&B would store (the objects' own models), not what this package meant to build: an
accessor that the library writes in another way is found too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attnlab.dashboard.logged import Logged

_ATTRIBUTES = frozenset({"group", "name", "displayName", "state", "jobType", "createdAt", "run", "tags"})
_OWN_AXES = frozenset({"_step", "_runtime", "_timestamp", "_absolute_runtime"})


def model(built: Any) -> dict[str, Any]:
    """What W&B would store of a workspace or a report."""
    stored: dict[str, Any] = built._to_model().model_dump()
    return stored


def panels(stored: Any) -> Iterator[Mapping[str, Any]]:
    """The models of all panels, wherever they stand."""
    if isinstance(stored, Mapping):
        if "view_type" in stored:
            yield stored
            return
        stored = list(stored.values())
    if isinstance(stored, list):
        for part in stored:
            yield from panels(part)


def faults(built: Any, logged: Logged) -> list[str]:
    """What panels, the common x axis, filters and groupings name that no run has logged, one line each."""
    stored = model(built)
    found = []
    for panel in panels(stored):
        kind, config = panel["view_type"], panel["config"] or {}
        look = _LOOKS.get(kind)
        words = config.get("chart_title") or kind
        if look is None:
            found.append(f"{words}: a {kind} is a panel that this check cannot read")
        else:
            found += [f"{words}: {fault}" for fault in look(config, logged)]
    for axis in _x_axes(stored):
        if axis not in _OWN_AXES and axis not in logged.rows:
            found.append(f"x axis of all charts: {_missing(axis, 'a number over the run')}")
    for runs in _run_sets(stored):
        keys = [item["key"] for item in runs["filters"]["filters"]] + list(runs["grouping"])
        found += [f"runs: {fault}" for key in keys for fault in _key(key["section"], key["name"], logged)]
    return found


def _x_axes(stored: Any) -> Iterator[str]:
    """Of a workspace: what its charts are drawn over where they name nothing themselves."""
    if isinstance(stored, Mapping):
        settings = stored.get("settings")
        if isinstance(settings, Mapping) and isinstance(settings.get("x_axis"), str):
            yield settings["x_axis"]
        stored = [part for name, part in stored.items() if name not in ("settings", "config")]
    if isinstance(stored, list):
        for part in stored:
            yield from _x_axes(part)


def _run_sets(stored: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(stored, Mapping):
        for name, part in stored.items():
            if name == "run_sets":
                yield from part
            else:
                yield from _run_sets(part)
    elif isinstance(stored, list):
        for part in stored:
            yield from _run_sets(part)


def _missing(key: str, kind: str) -> str:
    return f"no run logs {key} as {kind}"


def _key(section: str, name: str, logged: Logged) -> Iterator[str]:
    if section == "run":
        if name not in _ATTRIBUTES:
            yield f"a run has no {name}"
    elif section == "config":
        if name.removesuffix(".value") not in logged.settings:
            yield _missing(name.removesuffix(".value"), "a setting")
    elif name not in logged.summary:
        yield _missing(name, "a final number")


def _grouping(config: Mapping[str, Any], logged: Logged) -> Iterator[str]:
    by = config.get("group_by")
    if by is not None:
        yield from _key("config" if by.endswith(".value") else "run", by, logged)


def _line(config: Mapping[str, Any], logged: Logged) -> Iterator[str]:
    yield from _grouping(config, logged)
    x = config["x_axis"]
    for y in config["metrics"]:
        if y not in logged.rows:
            yield _missing(y, "a number over the run")
        elif x not in _OWN_AXES and x not in logged.rows[y]:
            yield f"no run logs {y} in a row with {x}"


def _bar(config: Mapping[str, Any], logged: Logged) -> Iterator[str]:
    yield from _grouping(config, logged)
    for metric in config["metrics"]:
        yield from _key("summary", metric, logged)


def _parallel(config: Mapping[str, Any], logged: Logged) -> Iterator[str]:
    for column in config["columns"]:
        section, _, name = column["accessor"].partition(":")
        yield from _key(section, name, logged)


def _media(config: Mapping[str, Any], logged: Logged) -> Iterator[str]:
    for key in config["media_keys"]:
        if key not in logged.images:
            yield _missing(key, "a picture")


def _table(config: Mapping[str, Any], logged: Logged) -> Iterator[str]:
    names = set(_picked(config))
    if not names:
        yield "names no table"
    for name in sorted(names - logged.tables):
        yield _missing(name, "a table")


def _picked(node: Any) -> Iterator[str]:
    """The keys that a Weave expression picks out of a run's summary."""
    if isinstance(node, Mapping):
        if node.get("name") == "pick":
            value = node["inputs"]["key"].get("val")
            if isinstance(value, str):
                yield value
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from _picked(part)


_LOOKS = {
    "Run History Line Plot": _line,
    "Bar Chart": _bar,
    "Parallel Coordinates Plot": _parallel,
    "Media Browser": _media,
    "Weave": _table,
}
