r"""A comparison as a LaTeX table for a paper: booktabs, the best score bold, the meaning of marks below.

It needs `\usepackage{booktabs}` and nothing else; names from a configuration are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attnlab.report.columns import Column, Columns, columns
from attnlab.report.evidence import CHRF, Evidence, Measure
from attnlab.report.marks import CONFOUNDED, SIGNIFICANT, UNCONTROLLED, legend
from attnlab.report.rows import Comparison

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    "[": "{[}",  # at the start of a row it would be an option of the row before
    "±": r"$\pm$",
    "Δ": r"$\Delta$",
    "°": r"$^{\circ}$",
    "≤": r"$\leq$",
    "…": r"\ldots{}",
    "\u2212": r"$-$",
    SIGNIFICANT: r"$^{*}$",
    CONFOUNDED: r"$^{\dagger}$",
    UNCONTROLLED: r"$^{\ddagger}$",
}
_SIGNED = re.compile(r"(?<![\w.$-])([+-]\d+(?:\.\d+)?)")
_LIMITS = re.compile(r" (\[[^\]]*\])")
_SEEDS = r"$^{\S}$"
_SEED_LIST = re.compile(r"[0-9][\w-]*( [0-9][\w-]*)*")
_MOST, _NARROW = 9, 4  # columns: of any table, of one that fits a single column of a two-column page
_DROPPED = ("parameters", "slope", "chrF", "AER")
"""What a table with too many columns does without, in this order; the CSV has all."""
_BETTER = ("BLEU", "chrF", "AER")
"""Columns whose best is bold; fewer parameters or a flatter slope are no merit by themselves."""


def to_latex(comparison: Comparison, evidence: Evidence) -> str:
    """A `table` (`table*` with more than 4 columns) of at most 9 columns, intervals below their numbers.

    The axes that vary, BLEU, its difference, AER, slope, chrF, scores from files, parameters; the rest is in
    the CSV. What marks and columns mean stands below.
    """
    chosen, seeds = _chosen(columns(comparison, evidence, whole=True))
    starred = "*" if len(chosen) > _NARROW else ""
    size = r"\footnotesize" if starred else r"\small"
    n = f"{comparison.n:,}".replace(",", "{,}")
    lines = [
        r"% needs \usepackage{booktabs}; made by attnlab report, all digits in the CSV beside it",
        rf"\begin{{table{starred}}}",
        r"\centering",
        rf"{size}\setlength{{\tabcolsep}}{{{3 if starred else 4}pt}}",
        rf"\caption{{Results on {escape(comparison.label)} ($n = {n}$ sentences).}}",
        rf"\label{{tab:{_label(comparison)}}}",
        rf"\begin{{tabular}}{{{''.join('r' if column.numeric else 'l' for column in chosen)}}}",
        r"\toprule",
        " & ".join(escape(column.title) for column in chosen) + r" \\",
        r"\midrule",
    ]
    usual = _usual(comparison, seeds)
    for row, own in enumerate(seeds.cells):
        cells = [_cell(column, row) for column in chosen]
        cells[0] += _SEEDS if own not in ("-", usual) else ""
        lines.append(_joined(cells))
        limits = [_limits(column, row) for column in chosen]
        lines += [_joined(limits)] if any(limits) else []
    lines += [r"\bottomrule", r"\end{tabular}", "", r"\vspace{2pt}"]
    lines += [r"\parbox{\linewidth}{\footnotesize\raggedright"]
    lines += [f"{_sentence(line)}." for line in _notes(comparison, evidence, seeds, usual)]
    if any(_best(column) for column in chosen):
        lines.append("Bold: best of a column; no test is implied.")
    return "\n".join([*lines, "}", rf"\end{{table{starred}}}", ""])


def _chosen(found: Columns) -> tuple[list[Column], Column]:
    """The columns that are printed, at most `_MOST`, and that of the seeds, which is not."""
    seeds, *main = found.main
    chosen = [*found.names, *main]
    chosen += [column for column in found.more if column.title == "chrF"] + found.given
    chosen += [column for column in found.costs if column.title == "parameters"]
    for title in (*_DROPPED, *(column.title for column in reversed(found.given))):
        if len(chosen) > _MOST:
            chosen = [column for column in chosen if column.title != title or column in found.names]
    return chosen, seeds


def _usual(comparison: Comparison, seeds: Column) -> str:
    """The seeds that most rows have."""
    known = [cell for row, cell in zip(comparison.rows, seeds.cells, strict=True) if row.controlled]
    return max(known, key=known.count) if known else "-"


def _notes(comparison: Comparison, evidence: Evidence, seeds: Column, usual: str) -> list[str]:
    """What stands below the table, escaped."""
    notes = []
    if comparison.constant and len(comparison.rows) > 1:
        notes.append("all rows: " + ", ".join(f"{axis} {name}" for axis, name in comparison.constant.items()))
    if evidence.baseline is not None:
        notes.append(f"baseline: {evidence.baseline.name(comparison.varying)}")
    told = f"the seeds {usual.replace(' ', ', ')}" if _SEED_LIST.fullmatch(usual) else "the seeds"
    if told != "the seeds" and all(found.deviation is None for found in evidence.bleu.rows.values()):
        notes.append(f"seed {usual}")
    for line in legend(comparison, evidence, wide=False, tampered=False, paper=True):
        line = re.sub(r"^\[low, high\]: ", "in brackets: ", line)
        notes.append(line.replace("over the seeds", f"over {told}") if line[:4] == "mean" else line)
    others: dict[str, list[str]] = {}
    for row, own in zip(comparison.rows, seeds.cells, strict=True):
        if own not in ("-", usual):
            others.setdefault(own, []).append(row.name(comparison.varying))
    notes = [escape(note) for note in notes]
    for own, names in others.items():
        what = own if own[0].isalpha() or "output" in own else f"seeds {own}"
        notes.append(f"{_SEEDS} {escape(what)}: {escape('; '.join(names))}")
    notes.append(f"BLEU: {_signature(comparison.signature)}")
    if comparison.chrf_signature is not None and evidence.measures.get(CHRF, Measure("")).rows:
        notes.append(f"chrF: {_signature(comparison.chrf_signature)}")
    if comparison.several and comparison.content:
        notes.append(f"fingerprint of the test set: {comparison.content}")
    return notes


def _signature(text: str) -> str:
    return escape(text).replace(r"\textbar{}", r"\textbar\allowbreak{}")


def escape(text: str) -> str:
    """Text as LaTeX prints it; line ends become blanks."""
    return "".join(_ESCAPED.get(letter, letter) for letter in " ".join(text.split()))


def _best(column: Column) -> set[int]:
    return column.best if column.title in _BETTER else set()


def _joined(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(column: Column, row: int) -> str:
    """A cell without its interval, its mean bold where it is the column's best."""
    if not column.numeric:
        return escape(column.cells[row])
    text = _LIMITS.sub("", column.cells[row])
    if text == "-":
        return "--"
    mean, blank, rest = text.partition(" ")
    made = rf"\textbf{{{_maths(mean)}}}" if row in _best(column) else _maths(mean)
    return f"{made}{blank}{_maths(rest)}"


def _limits(column: Column, row: int) -> str:
    """The interval of a cell, small; empty without one."""
    found = _LIMITS.search(column.cells[row]) if column.numeric else None
    return "" if found is None else rf"{{\scriptsize {_maths(found[1])}}}"


def _maths(text: str) -> str:
    """A number: its sign is that of mathematics, its marks are one exponent."""
    made = _SIGNED.sub(r"$\1$", escape(text))
    return made.replace("}$$^{", "").replace("$$", "")


def _sentence(line: str) -> str:
    line = line.rstrip(".:;")
    return line if line.startswith("chrF") else line[:1].upper() + line[1:]


def _label(comparison: Comparison) -> str:
    return "".join(
        letter if letter.isalnum() and letter.isascii() else "-" for letter in comparison.file("table")
    )
