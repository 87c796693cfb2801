"""The walkthrough as plain text, for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attnlab.explain import filling
from attnlab.explain.tables import Table
from attnlab.explain.words import plain, words

COLUMNS = 88
_BAR = 24


def example_text(tree: Mapping[str, Any], tables: Mapping[str, Sequence[Table]]) -> str:
    """The walkthrough of the worked example."""
    said = words()
    lines = [*heading(said.title, "="), *paragraph(said.lead, tree), *paragraph(said.example, tree)]
    for number, step in enumerate(said.steps, start=1):
        lines += heading(f"{number}. {step.title}", "-")
        for template in [*step.say, *step.example]:
            lines += paragraph(template, tree)
        for table in tables.get(step.id, ()):
            lines += [*written(table, tree), ""]
    return "\n".join([*lines, *recall(tree)]).rstrip("\n") + "\n"


def recall(tree: Mapping[str, Any]) -> list[str]:
    """The questions, their answers below."""
    said = words().questions
    lines = heading("Questions", "-")
    for number, question in enumerate(said, start=1):
        lines += wrapped(f"{number}. {plain(question.ask, tree)}", 3)
    lines += ["", *heading("Answers", "-")]
    for number, question in enumerate(said, start=1):
        lines += wrapped(f"{number}. {plain(question.answer, tree)}", 3)
    return lines


def heading(title: str, rule: str) -> list[str]:
    """A title, underlined."""
    return [title, rule * len(title), ""]


def paragraph(template: str, tree: Mapping[str, Any]) -> list[str]:
    """A paragraph, and an empty line."""
    return [*wrapped(plain(template, tree), 0), ""]


def wrapped(text: str, indent: int) -> list[str]:
    """Lines of a terminal."""
    return textwrap.wrap(text, COLUMNS, subsequent_indent=" " * indent, break_on_hyphens=False)


def written(table: Table, tree: Mapping[str, Any]) -> list[str]:
    """A table in columns, with bars of `#` where it has some."""
    rows = [
        [filling.fill(cell, tree) for cell in table.head],
        *([filling.fill(cell, tree) for cell in row] for row in table.rows),
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(len(table.head))]
    bars = [""] + [bar(filling.lookup(tree, path)) for path in table.bars or ()]
    bars += [""] * (len(rows) - len(bars))
    caption = wrapped(filling.fill(table.caption, tree), 2)
    return [*(f"  {line}" for line in caption), *_rows(rows, widths, bars)]


def _rows(rows: Sequence[Sequence[str]], widths: Sequence[int], bars: Sequence[str]) -> Iterator[str]:
    for row, drawn in zip(rows, bars, strict=True):
        first, *rest = row
        cells = [
            first.ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)),
        ]
        yield ("    " + "  ".join(cells) + ("  " + drawn if drawn else "")).rstrip()


def bar(share: float) -> str:
    """A share of one as a bar."""
    return "#" * round(_BAR * max(0.0, min(1.0, share)))
