"""Is a comparison fair: every factor in which two rows differ, whatever else is said to be compared.

A decoder's order is three factors, a cell without attention differs from one with by `attention` alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from attnlab.report.rows import SYSTEM, Row
from attnlab.report.settings import told
from attnlab.sweep.identity import AXES

DECODER = "decoder"
FACTORS = ("asks", "context_goes_to", "fed_back")
"""What an order of the decoder means (`factors` of a record)."""
UNKNOWN = "not controlled"
"""The one factor of another's system: nothing is known of its training."""
_NO_EFFECT = frozenset({"metrics", "callbacks.validation_sentences", "callbacks.validation_beam_size"})
_SEARCH = "search"


def differing(first: Row, second: Row) -> list[str]:
    """The names of all factors in which two rows differ; empty where none is known.

    `attention` (one row has none), or `scorer` and `window`; `encoder`; `asks`, `context_goes_to` and
    `fed_back`; every other setting by its dotted name, or by its group where another option was chosen.
    `search` settings are those of the test set's own decoding; the text of the training is compared by its
    fingerprint; the code, where both rows are one cell. An option that says how something is measured, and
    not what, is no factor.
    """
    if SYSTEM in (first.kind, second.kind):
        return [UNKNOWN] if first.key != second.key else []
    return [*_axes(first, second), *_settings(first, second), *_runs(first, second)]


def confounded(factors: Sequence[str]) -> bool:
    """Whether a difference in scores cannot be put down to one factor."""
    return len(factors) > 1 or UNKNOWN in factors


def _axes(first: Row, second: Row) -> list[str]:
    names = [axis for axis in AXES if axis != DECODER and first.cell[axis] != second.cell[axis]]
    factors = [name for name in FACTORS if first.factors.get(name) != second.factors.get(name)]
    if first.attends != second.attends:
        # Without attention there is neither a scorer, nor a window, nor a state that asks.
        names = ["attention", *(name for name in names if name not in ("scorer", "window"))]
        factors = [name for name in factors if name != FACTORS[0]]
    elif first.cell[DECODER] != second.cell[DECODER] and not factors:
        names.append(DECODER)
    return [*names, *factors]


def _settings(first: Row, second: Row) -> list[str]:
    """Settings, as the column `other settings` names them; an axis' own where its option is the same."""
    if not first.config or not second.config:
        return []
    pair = [first, second]
    swapped = {axis for axis in AXES if first.cell[axis] != second.cell[axis]}

    def wanted(key: str) -> bool:
        top = key.partition(".")[0]
        return top not in swapped and top != _SEARCH and top not in _NO_EFFECT and key not in _NO_EFFECT

    found = told(pair, wanted, frozenset())
    names = sorted({name for own in found.values() for name in own}, key=lambda name: ("." in name, name))
    for axis in sorted(swapped):  # what was asked for beside the option
        given = told(pair, partial(_below, axis), frozenset())
        names += sorted({name for own in given.values() for name in own if name in _asked(pair) - {axis}})
    return names


def _below(axis: str, key: str) -> bool:
    return key.startswith(f"{axis}.")


def _asked(rows: Sequence[Row]) -> set[str]:
    return {
        str(override).lstrip("+").partition("=")[0]
        for row in rows
        for override in (row.runs[0].record.get("overrides") or [] if row.runs else [])
    }


def _runs(first: Row, second: Row) -> list[str]:
    """What only finished runs can tell: search, training text, code."""
    if not first.runs or not second.runs:
        return []
    one, two = first.runs[0], second.runs[0]
    searches = [_flat(run.test.get(_SEARCH) or {}) for run in (one, two)]
    keys = sorted({*searches[0], *searches[1]})
    names = [f"{_SEARCH}.{key}" for key in keys if searches[0].get(key) != searches[1].get(key)]
    trained = [(run.record["data"].get("fingerprints") or {}).get(_train(run.record)) for run in (one, two)]
    if None not in trained and trained[0] != trained[1]:
        names.append("training text")
    if first.cell_id == second.cell_id and one.record["code"] != two.record["code"]:
        names.append("code")
    return names


def _train(record: Mapping[str, Any]) -> str:
    return str(((record["config"] or {}).get("data") or {}).get("train") or "train")


def _flat(search: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): json.dumps(value, sort_keys=True) for key, value in search.items()}
