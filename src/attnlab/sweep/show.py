"""A plan for the eye and for programs: a table on a terminal, lines elsewhere, JSON where it is asked for."""

import json
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from attnlab.errors import UserError
from attnlab.results import DONE
from attnlab.sweep.live import duration
from attnlab.sweep.plan import DUPLICATE, INVALID, Cell, Plan

FORMATS = ("table", "lines", "json")
_NARROW = 60  # columns; in fewer a table would leave out the cells, which lines do not
_HEADS = ("state", "cost", "cell", "note")


def show(plan: Plan, form: str | None, slots: int | None) -> None:
    """Prints a plan whose cost has been estimated.

    Args:
        plan: the plan.
        form: one of `FORMATS`; None is a table on a terminal with room for it, else lines.
        slots: cells at a time, where it is known.

    Raises:
        UserError: no such format.
    """
    if form is None:
        wide = shutil.get_terminal_size().columns >= _NARROW
        form = "table" if sys.stdout.isatty() and wide else "lines"
    if form not in FORMATS:
        raise UserError(f"hydra.sweeper.format={form} must be one of {', '.join(FORMATS)}, or null")
    if form == "json":
        print(json.dumps(as_json(plan, slots), indent=1, ensure_ascii=False))
        return
    if plan.study is not None:
        print(f"{plan.study.path}" + (f": {plan.study.question}" if plan.study.question else ""))
    rows = [row(cell) for cell in plan.cells]
    if form == "table":
        _table(rows)
    else:
        widths = [max(map(len, column)) for column in zip(_HEADS, *rows, strict=True)]
        for cells in rows:
            print("  ".join(word.ljust(width) for word, width in zip(cells, widths, strict=True)).rstrip())
    for line in [*plan.notes, total(plan), cost(plan, slots)]:
        print(line)
    for line in plan.warnings:
        print(f"attnlab: {line}", file=sys.stderr)


def row(cell: Cell) -> tuple[str, str, str, str]:
    """State, cost, label and note of a cell, each in one line."""
    known = duration(cell.seconds) if cell.seconds is not None else "unknown"
    note = "; ".join([*cell.faults, *([cell.note] if cell.note else [])])
    return cell.state, known if cell.train else "-", cell.label, note


def total(plan: Plan) -> str:
    """The count of cells by state."""
    counts = [f"{number} {name}" for name, number in plan.counts.items() if number]
    if plan.excluded:
        counts.append(f"{plan.excluded} excluded")
    own = sum(cell.state not in (INVALID, DUPLICATE) for cell in plan.cells)
    return (
        f"{own} {'cell' if own == 1 else 'cells'} to have, {len(plan.to_train)} to train: {', '.join(counts)}"
    )


def cost(plan: Plan, slots: int | None) -> str:
    """What the cells to train still need, in sum and by the slots."""
    seconds = [cell.seconds for cell in plan.to_train if cell.seconds is not None]
    unknown = len(plan.to_train) - len(seconds)
    if not plan.to_train:
        return "cost: nothing to train"
    if not seconds:
        return "cost: unknown, for nothing has been measured here yet"
    words = f"cost: {duration(sum(seconds))}"
    if slots is not None and slots > 1:
        words += f", {duration(wall(seconds, slots))} with {slots} slots"
    if unknown:
        words += f"; without {unknown} of unknown cost"
    return words


def wall(seconds: Sequence[float], slots: int) -> float:
    """From the start to the end of a sweep: no less than the longest cell."""
    return max([sum(seconds) / slots, *seconds])


def as_json(plan: Plan, slots: int | None) -> dict[str, Any]:
    """The plan in plain containers."""
    asked = plan.study
    seconds = [cell.seconds for cell in plan.to_train if cell.seconds is not None]
    return {
        "study": None
        if asked is None
        else {"file": str(asked.path), "sha256": asked.sha256, "question": asked.question},
        "cells": [
            {
                "state": cell.state,
                "train": cell.train,
                "seconds": cell.seconds,
                "label": cell.label,
                "folder": None if cell.folder is None else str(cell.folder),
                "overrides": cell.overrides,
                "note": row(cell)[3],
            }
            for cell in plan.cells
        ],
        "counts": {**plan.counts, "excluded": plan.excluded},
        "cost": {
            "seconds": sum(seconds) if seconds else None,
            "unknown": len(plan.to_train) - len(seconds),
            "slots": slots,
            "wall_seconds": wall(seconds, slots or 1) if seconds else None,
        },
        "notes": plan.notes,
        "warnings": plan.warnings,
    }


def _table(rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    styles = {DONE: "green", INVALID: "red", DUPLICATE: "dim", "failed": "red", "running": "cyan"}
    table = Table(box=None, pad_edge=False)
    for head in _HEADS:
        table.add_column(
            head, justify="right" if head == "cost" else "left", no_wrap=head in ("state", "cost")
        )
    for state, *rest in rows:
        table.add_row(Text(state, style=styles.get(state, "")), *map(Text, rest))
    Console(highlight=False).print(table)
