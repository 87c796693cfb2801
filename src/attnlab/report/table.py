"""A comparison as text: for the terminal, as Markdown, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnlab.report.columns import LENGTH, Column, columns, deltas, probability
from attnlab.report.evidence import Evidence, claimed
from attnlab.report.marks import SIGNIFICANT, heading, legend
from attnlab.report.picks import EVERY
from attnlab.report.rows import Comparison, Row, Spread
from attnlab.sweep.identity import AXES

if TYPE_CHECKING:
    from attnlab.metrics.significance import Test

_GAP = 2  # between columns


def to_console(comparison: Comparison, evidence: Evidence, console: Console) -> None:
    """Prints the main columns, cut into parts that fit the terminal; whole and in plain lines without one."""
    for line in heading(comparison, evidence):
        console.print(Text(line), soft_wrap=True)
    table = columns(comparison, evidence)
    names, groups = table.names, [table.main, table.given, table.costs]
    parts = (
        _parts(names, groups, console.width)
        if console.is_terminal
        else [[*names, *chain.from_iterable(groups)]]
    )
    for part in parts:
        if console.is_terminal:
            shown = Table(box=None, padding=(0, _GAP, 0, 0))
            for column in part:
                shown.add_column(Text(column.title), justify="right" if column.numeric else "left")
            for cells in zip(*(column.cells for column in part), strict=True):
                shown.add_row(*map(Text, cells))
            console.print(shown)
        else:
            for line in _plain(part):
                console.print(Text(line), soft_wrap=True)
    for line in [*legend(comparison, evidence, wide=False, tampered=False), *evidence.notes]:
        dim = "dim" if console.is_terminal else ""
        console.print(Text(line), soft_wrap=not console.is_terminal, style=dim)


def to_markdown(
    comparison: Comparison,
    evidence: Evidence,
    notes: Sequence[str] = (),
    unscored: Sequence[str] = (),
    captions: Mapping[str, str] | None = None,
) -> str:
    """The whole table as GitHub Markdown, with heading, legend, notes, effects, runs without a score.

    `captions` are those of the figures beside it, by the stem of their files.
    """
    every = columns(comparison, evidence, whole=True).every
    lines = [f"{_escape(line)}  " for line in heading(comparison, evidence)] + [""]
    titles = [column.title for column in every]
    cells = zip(*(column.cells for column in every), strict=True)
    lines += markdown_table(titles, cells, [column.numeric for column in every])
    below = [*legend(comparison, evidence), *evidence.notes, *notes]
    lines += ["", *(f"- {_escape(line)}" for line in below), ""]
    lines += effects_markdown(evidence)
    if captions:
        told = [f"{_escape(stem)}: {_escape(caption)}" for stem, caption in captions.items()]
        lines += ["Figures (svg, png, pdf; numbers in csv):", "", *(f"- {line}" for line in told), ""]
    if unscored:
        lines += ["Runs without a score:", "", *(f"- {_escape(line)}" for line in unscored), ""]
    return "\n".join(lines)


def markdown_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool]
) -> list[str]:
    """The lines of a table in Markdown, numbers on the right."""
    lines = ["| " + " | ".join(map(_escape, titles)) + " |"]
    lines.append("|" + "|".join(" ---: " if right else " --- " for right in numeric) + "|")
    return [*lines, *("| " + " | ".join(map(_escape, cells)) + " |" for cells in rows)]


def effects_markdown(evidence: Evidence) -> list[str]:
    """The section of main effects and interactions, or the line that says why there are none."""
    found = evidence.effects
    if found is None:
        return [_escape(evidence.effects_note), ""] if evidence.effects_note else []
    lines = [
        "Main effects and interactions of the axes on BLEU, a linear model over "
        f"{found.n} runs (type II F tests, {found.residual_df} residual degrees of freedom):",
        "",
    ]
    terms = [
        (
            " x ".join(term.factors),
            str(term.df),
            "-" if term.F is None else f"{term.F:.1f}",
            "-" if term.p is None else probability(term.p),
            "-" if term.share is None else f"{term.share:.2f}",
        )
        for term in found.terms
    ]
    lines += markdown_table(["term", "df", "F", "p", "partial eta squared"], terms, [False, *[True] * 4])
    levels = [
        (
            " x ".join(level.factors),
            ", ".join(level.options),
            f"{level.effect:+.2f}",
            "-" if level.low is None else f"[{level.low:+.2f}, {level.high:+.2f}]",
        )
        for level in found.levels
    ]
    interval = f"{100 * evidence.level:g} % interval"
    lines += ["", *markdown_table(["axes", "options", "BLEU", interval], levels, [False, False, True, True])]
    told = [
        "BLEU: above the average option; of an interaction, beyond what its options add each; no correction "
        "for the number of terms",
        *found.dropped,
    ]
    return [*lines, "", *(f"- {_escape(line)}" for line in told), ""]


def to_csv(comparison: Comparison, evidence: Evidence) -> str:
    """One line a row with all digits: every axis, provenance, means, deviations, intervals, test, buckets."""
    return csv_text([_line(row, comparison, evidence) for row in comparison.rows])


def _line(row: Row, comparison: Comparison, evidence: Evidence) -> dict[str, Any]:
    known = evidence.of(row)
    line: dict[str, Any] = {axis: row.cell[axis] or "none" for axis in AXES}
    line |= {
        "settings": row.settings,
        "key": row.key,
        "cell_id": row.cell_id,
        "origin": row.origin,
        "kind": row.kind,
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
    for name, measure in evidence.measures.items():
        found = measure.rows.get(row.key)
        values = (None,) * 4 if found is None else (found.mean, found.deviation, found.low, found.high)
        line |= dict(zip((name, f"{name}_sd", f"{name}_low", f"{name}_high"), values, strict=True))
    base = evidence.baseline.key if evidence.baseline is not None else None
    line |= {"baseline": base, "delta_bleu": deltas(comparison, evidence).get(row.key)}
    line |= test_fields(known.test)
    line |= {"differs": " ".join(name.replace(" ", "_") for name in known.differs)}
    line |= {"confounded": "yes" if known.confounded else "no"}
    slope = known.lengths[LENGTH].slope if LENGTH in known.lengths else None
    line |= dict(zip(("slope", "slope_low", "slope_high"), slope or (None,) * 3, strict=False))
    for number in EVERY:
        line |= _csv_spread(number.name, row.spread(number.pick))
    for name, override in row.overrides.items():
        line |= _csv_spread(f"bleu_{name}", override.bleu) | _csv_spread(f"delta_{name}", override.delta)
    for bucket in known.lengths[LENGTH].buckets if LENGTH in known.lengths else []:
        line[f"bleu_{bucket.label}"] = bucket.score
    return line


def test_fields(test: Test | None) -> dict[str, Any]:
    """A test as fields of a CSV; `significant` is empty without one, `mark` only where it may be claimed."""
    if test is None:
        names = ("delta_low", "delta_high", "p_bootstrap", "p_randomisation", "p_holm", "p_holm_bootstrap")
        return dict.fromkeys((*names, "significant", "mark"))
    return {
        "delta_low": test.low,
        "delta_high": test.high,
        "p_bootstrap": test.p_bootstrap,
        "p_randomisation": test.p_randomisation,
        "p_holm": test.p_holm,
        "p_holm_bootstrap": test.p_holm_bootstrap,
        "significant": "yes" if test.significant else "no",
        "mark": SIGNIFICANT if claimed(test) else "",
    }


def csv_text(lines: Sequence[dict[str, Any]], names: Sequence[str] = ()) -> str:
    """CSV of dictionaries; None becomes an empty field. `names` lead, then keys as they first appear."""
    names = list(dict.fromkeys([*names, *(name for line in lines for name in line)]))
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
    for mark in "\\|`[]*":
        text = text.replace(mark, "\\" + mark)
    return text
