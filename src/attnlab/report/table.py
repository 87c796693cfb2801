"""A comparison as text: for the terminal, as Markdown, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnlab.metrics.length import label
from attnlab.report.compare import Comparison, Row, Run, Spread
from attnlab.sweep.identity import AXES


class Column(NamedTuple):
    """A title and one cell a row; `numeric` ones stand on the right."""

    title: str
    cells: list[str]
    numeric: bool = True


Pick = Callable[[Run], "float | None"]


def _path(*keys: str, within: str = "test") -> Pick:
    """Looks a number up in a run's scores or record; None as soon as a part is absent or null."""

    def pick(run: Run) -> float | None:
        value: Any = run.test if within == "test" else run.record[within]
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    return pick


# title, name in the CSV, where it is found, how the mean is written
_SCORES: list[tuple[str, str, Pick, Callable[[float], str]]] = [
    ("chrF", "chrf", _path("chrf", "score"), "{:.1f}".format),
    ("TER", "ter", _path("ter", "score"), "{:.1f}".format),
    ("perplexity", "perplexity", _path("perplexity"), "{:.3g}".format),
    ("length ratio", "length_ratio", _path("length_ratio"), "{:.3f}".format),
    ("AER predicted", "aer_predicted", _path("alignment", "predicted", "aer"), "{:.3f}".format),
    ("AER input", "aer_input", _path("alignment", "input", "aer"), "{:.3f}".format),
]
_COSTS: list[tuple[str, str, Pick, Callable[[float], str]]] = [
    ("parameters", "parameters", _path("total", within="parameters"), lambda value: short(value)),
    (
        "attention's",
        "parameters_attention",
        _path("attention", within="parameters"),
        lambda value: short(value),
    ),
    ("tokens/s", "tokens_per_s", _path("tokens_per_s", within="train"), lambda value: short(value)),
    (
        "wall time",
        "wall_s",
        _path("wall_s", within="train"),
        lambda value: str(timedelta(seconds=round(value))),
    ),
]
_BLEU = _path("bleu", "score")
_GAP = 2  # between columns


def short(value: float) -> str:
    """`842`, `12.3k`, `4.5M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:.0f}"


def columns(comparison: Comparison) -> tuple[list[Column], list[list[Column]]]:
    """The columns that name the cells, and three groups of numbers: scores, BLEU by length, cost.

    A score that no row has is left out.
    """
    rows = comparison.rows
    cell = [Column(axis, [row.cell[axis] or "none" for row in rows], False) for axis in comparison.varying]
    if any(row.settings for row in rows):
        cell.append(Column("other settings", [row.settings for row in rows], False))
    if not cell:
        cell = [Column("cell", [row.cell_id for row in rows], False)]
    scores = [
        Column("seeds", [_seeds(row) for row in rows], False),
        Column("BLEU", [_bleu(row) for row in rows]),
        *_present(rows, _SCORES),
    ]
    return cell, [scores, _by_length(comparison), _present(rows, _COSTS)]


def heading(comparison: Comparison) -> list[str]:
    """What holds for every row: test set, languages, size, signature, the axes that do not vary."""
    run = next(run for row in comparison.rows for run in row.runs)
    lines = [f"{comparison.label}: {run.test['n']} sentences", f"BLEU {comparison.signature}"]
    if comparison.constant and len(comparison.rows) > 1:
        lines.append(
            "all rows: " + ", ".join(f"{axis} {option}" for axis, option in comparison.constant.items())
        )
    return lines


def legend(comparison: Comparison) -> list[str]:
    """What the marks in the table mean, where they are used."""
    lines = ["length columns: BLEU by white-space words of the source, n sentences in each"]
    if any(spread.n > 1 for row in comparison.rows for spread in [row.spread(_BLEU)]):
        lines.append("mean ± sample standard deviation over the seeds")
    marks = {bucket["mark"] for row in comparison.rows for bucket, _ in row.buckets("by_source_length")}
    if "few" in marks:
        lines.append("* few sentences in the bucket: the score is not to be relied on")
    if "too_short" in marks:
        lines.append("short: no reference in the bucket has a 4-gram, BLEU is not defined")
    return lines


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
        console.print(Text(line), soft_wrap=True, style="dim" if console.is_terminal else "")


def to_markdown(comparison: Comparison, notes: Sequence[str] = ()) -> str:
    """The whole table as GitHub Markdown, with its heading, legend and notes."""
    cell, groups = columns(comparison)
    every = [*cell, *chain.from_iterable(groups)]
    lines = [f"{_escape(line)}  " for line in heading(comparison)] + [""]
    lines.append("| " + " | ".join(_escape(column.title) for column in every) + " |")
    lines.append("|" + "|".join(" ---: " if column.numeric else " --- " for column in every) + "|")
    for cells in zip(*(column.cells for column in every), strict=True):
        lines.append("| " + " | ".join(map(_escape, cells)) + " |")
    lines += ["", *(f"- {_escape(line)}" for line in [*legend(comparison), *notes]), ""]
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
            "missing_seeds": " ".join(row.missing),
        }
        line |= _csv_spread("bleu", row.spread(_BLEU))
        for _, name, pick, _ in _SCORES + _COSTS:
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


def _present(
    rows: Sequence[Row], wanted: Sequence[tuple[str, str, Pick, Callable[[float], str]]]
) -> list[Column]:
    table = []
    for title, _, pick, write in wanted:
        means = [row.spread(pick).mean for row in rows]
        if any(mean is not None for mean in means):
            table.append(Column(title, ["-" if mean is None else write(mean) for mean in means]))
    return table


def _by_length(comparison: Comparison) -> list[Column]:
    """A column for every bucket that any row has; titled with n where all rows agree on it."""
    cells: dict[str, dict[int, str]] = {}
    sizes: dict[str, set[int]] = {}
    order: dict[str, int] = {}
    for index, row in enumerate(comparison.rows):
        for bucket, spread in row.buckets("by_source_length"):
            name = label(bucket)
            order[name] = bucket["lo"]
            sizes.setdefault(name, set()).add(bucket["n"])
            text = "-" if spread.mean is None else f"{spread.mean:.1f}"
            if bucket["mark"] == "few":
                text += "*"
            elif bucket["mark"] == "too_short":
                text = "short"
            cells.setdefault(name, {})[index] = text
    return [
        Column(
            f"{name} (n={sizes[name].pop()})" if len(sizes[name]) == 1 else name,
            [cells[name].get(index, "-") for index in range(len(comparison.rows))],
        )
        for name in sorted(cells, key=lambda name: (order[name], name))
    ]


def _bleu(row: Row) -> str:
    spread = row.spread(_BLEU)
    if spread.mean is None:
        return "-"
    text = f"{spread.mean:.2f}" if spread.deviation is None else f"{spread.mean:.2f} ± {spread.deviation:.2f}"
    return f"{text} (short)" if any(run.test["bleu"].get("mark") for run in row.runs) else text


def _seeds(row: Row) -> str:
    parts = [" ".join(run.seed for run in row.runs)] if row.runs else []
    parts += [f"failed {' '.join(row.failed)}"] if row.failed else []
    parts += [f"missing {' '.join(row.missing)}"] if row.missing else []
    return "; ".join(parts)


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
