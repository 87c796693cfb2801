"""Sample sentences with their attention for the page: the same sentences of every row, as many as fit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from attnlab.report import beside
from attnlab.report.rows import Row

BUDGET = 1_500_000
"""Bytes of JSON for the samples of a comparison."""


def examples(
    rows: Sequence[Row], budget: int = BUDGET, *, notes: list[str] | None = None
) -> list[dict[str, Any]]:
    """Whole sentences until the budget is used, at least one; of each row the first seed that has samples.

    Only what the runs have written: where the data may not be shown, they have written none. What could not
    be read is told in `notes`.
    """
    found: dict[int, dict[str, Any]] = {}
    notes = [] if notes is None else notes
    for row in rows:
        own, seed = _first(row, notes)
        for one in own:
            shared = {name: one.get(name) for name in ("index", "source", "reference", "gold")}
            entry = found.setdefault(int(one["index"]), {**shared, "rows": {}})
            if any(entry[name] != shared[name] for name in ("source", "reference")):
                continue  # another text under the same number: of another version of the data
            entry["rows"][row.key] = {
                "seed": seed,
                **{name: one.get(name) for name in ("hypothesis", "source_pieces", "pieces", "weights")},
            }
    kept: list[dict[str, Any]] = []
    used = 0
    # Those that most rows have come first; then by number, as the runs chose them spread over lengths.
    for entry in sorted(found.values(), key=lambda one: (-len(one["rows"]), one["index"])):
        size = len(json.dumps(entry, ensure_ascii=False).encode(errors="replace"))  # a cell may be no text
        if kept and used + size > budget:
            continue
        kept.append(entry)
        used += size
    return sorted(kept, key=lambda one: int(one["index"]))


def _first(row: Row, notes: list[str]) -> tuple[list[dict[str, Any]], str]:
    for run in row.runs:
        own = beside.samples(run, notes)
        if own:
            return own, run.seed
    return [], ""
