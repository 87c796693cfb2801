"""A comparison as text: for the terminal, as Markdown, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import chain
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnlab.metrics.length import label
from attnlab.report.columns import BLEU, COSTS, SCORES, Column, columns, heading, legend
from attnlab.report.rows import Comparison, Spread
from attnlab.sweep.identity import AXES

_GAP = 2  # between columns


def to_console(comparison: Comparison, console: Console) -> None:
    """Prints the table, cut into parts that fit the terminal; whole and in plain lines without one."""
    for line in heading(comparison):
        console.print(Text(line), soft_wrap=True)
    cell, groups = columns(comparison)
    parts = (
        _parts(cell, groups, console.width)
        if console.is_terminal
        else [[*cell, *chain.from_iterable(groups)]]
    )
    for part in parts:
        if console.is_terminal:
            table = Table(box=None, padding=(0, _GAP, 0, 0))
            for column in part:
                table.add_column(Text(column.title), justify="right" if column.numeric else "left")
            for cells in zip(*(column.cells for column in part), strict=True):
                table.add_row(*map(Text, cells))
            console.print(table)
        else:
            for line in _plain(part):
                console.print(Text(line), soft_wrap=True)
    for line in legend(comparison):
        dim = "dim" if console.is_terminal else ""
        console.print(Text(line), soft_wrap=not console.is_terminal, style=dim)


def to_markdown(comparison: Comparison, notes: Sequence[str] = (), unscored: Sequence[str] = ()) -> str:
    """The whole table as GitHub Markdown, with its heading, legend, notes and the runs without a score."""
    cell, groups = columns(comparison)
    every = [*cell, *chain.from_iterable(groups)]
    lines = [f"{_escape(line)}  " for line in heading(comparison)] + [""]
    lines.append("| " + " | ".join(_escape(column.title) for column in every) + " |")
    lines.append("|" + "|".join(" ---: " if column.numeric else " --- " for column in every) + "|")
    for cells in zip(*(column.cells for column in every), strict=True):
        lines.append("| " + " | ".join(map(_escape, cells)) + " |")
    lines += ["", *(f"- {_escape(line)}" for line in [*legend(comparison), *notes]), ""]
    if unscored:
        lines += ["Runs without a score:", "", *(f"- {_escape(line)}" for line in unscored), ""]
    return "\n".join(lines)


def to_csv(comparison: Comparison) -> str:
    """One line a cell with all digits: every axis, provenance, means, deviations, buckets."""
    lines = []
    for row in comparison.rows:
        line: dict[str, Any] = {axis: row.cell[axis] or "none" for axis in AXES}
        line |= {
            "settings": row.settings,
            "cell_id": row.cell_id,
            "languages": comparison.languages,
            "test_set": comparison.test_set,
            "fingerprint": comparison.fingerprint,
            "bleu_signature": comparison.signature,
            "seeds": " ".join(run.seed for run in row.runs),
            "n_seeds": len(row.runs),
            "failed_seeds": " ".join(row.failed),
            "interrupted_seeds": " ".join(row.interrupted),
            "missing_seeds": " ".join(row.missing),
        }
        line |= _csv_spread("bleu", row.spread(BLEU))
        for _, name, pick, _ in SCORES + COSTS:
            line |= _csv_spread(name, row.spread(pick))
        for bucket, spread in row.buckets("by_source_length"):
            line |= _csv_spread(f"bleu_{label(bucket)}", spread)
        lines.append(line)
    return csv_text(lines)


def csv_text(lines: Sequence[dict[str, Any]]) -> str:
    """CSV of dictionaries; None becomes an empty field. The first line's keys lead, later ones follow."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _csv_spread(name: str, spread: Spread) -> dict[str, float | None]:
    return {name: spread.mean, f"{name}_sd": spread.deviation}


def _width(column: Column) -> int:
    return max(Text(cell).cell_len for cell in [column.title, *column.cells])


def _parts(cell: list[Column], groups: Sequence[list[Column]], width: int) -> list[list[Column]]:
    """Cuts the numbers into parts that fit the width, groups whole where possible, each beside the cells."""

    def needed(columns: Sequence[Column]) -> int:
        return sum(_width(column) + _GAP for column in columns)

    room = width - needed(cell)
    parts: list[list[Column]] = [[]]
    for group in groups:
        if parts[-1] and needed([*parts[-1], *group]) > room:
            parts.append([])
        for column in group:
            if parts[-1] and needed([*parts[-1], column]) > room:
                parts.append([])
            parts[-1].append(column)
    return [cell + part for part in parts if part]


def _plain(part: Sequence[Column]) -> list[str]:
    lines = []
    for cells in zip(*([column.title, *column.cells] for column in part), strict=True):
        padded = []
        for column, text in zip(part, cells, strict=True):
            space = " " * (_width(column) - Text(text).cell_len)
            padded.append(space + text if column.numeric else text + space)
        lines.append((" " * _GAP).join(padded).rstrip())
    return lines


def _escape(text: str) -> str:
    """Markdown's own characters, so that names from a configuration stay what they are."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "\\|`[]":
        text = text.replace(mark, "\\" + mark)
    return text
