r"""A comparison as a LaTeX table: booktabs, best of a column bold, marks and their meaning below.

It needs `\usepackage{booktabs}` and nothing else; names from a configuration are escaped.
"""

from __future__ import annotations

import re

from attnlab.report.columns import Column, columns
from attnlab.report.evidence import Evidence
from attnlab.report.marks import CONFOUNDED, SIGNIFICANT, UNCONTROLLED, heading, legend
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
_MINUS = re.compile(r"(?<![\w.$-])-(?=\d)")


def to_latex(comparison: Comparison, evidence: Evidence) -> str:
    """A `table` environment with the main columns, chrF, overrides and cost; the rest is in the CSV."""
    found = columns(comparison, evidence)
    chosen = [
        *found.names,
        *found.main,
        *(column for column in found.more if _wanted(column)),
        *found.costs[:2],
    ]
    rule = "".join("r" if column.numeric else "l" for column in chosen)
    lines = [
        r"% needs \usepackage{booktabs}; made by attnlab report, all digits in the CSV beside it",
        r"\begin{table}",
        r"\centering",
        r"\small",
        rf"\caption{{{escape('. '.join(_sentence(line) for line in heading(comparison, evidence)))}.}}",
        rf"\label{{tab:{_label(comparison)}}}",
        rf"\begin{{tabular}}{{{rule}}}",
        r"\toprule",
        " & ".join(escape(column.title) for column in chosen) + r" \\",
        r"\midrule",
    ]
    for row in range(len(comparison.rows)):
        lines.append(" & ".join(_cell(column, row) for column in chosen) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", "", r"\vspace{2pt}", r"\parbox{\linewidth}{\footnotesize"]
    lines += [f"{escape(_sentence(line))}." for line in legend(comparison, evidence, wide=False)]
    if any(column.best for column in chosen):
        lines.append("Bold: best of a column; no test is implied.")
    return "\n".join([*lines, "}", r"\end{table}", ""])


def escape(text: str) -> str:
    """Text as LaTeX prints it; line ends become blanks."""
    return "".join(_ESCAPED.get(letter, letter) for letter in " ".join(text.split()))


def _wanted(column: Column) -> bool:
    return column.title in ("chrF", "p (Holm)") or column.title.startswith("BLEU, ")


def _cell(column: Column, row: int) -> str:
    """A cell, its mean bold where it is the column's best."""
    text = column.cells[row]
    mean, blank, rest = text.partition(" ")
    made = f"{escape(mean)}{blank}{escape(rest)}"
    if row in column.best:
        made = rf"\textbf{{{escape(mean)}}}{blank}{escape(rest)}"
    return _MINUS.sub("$-$", made) if column.numeric else made


def _sentence(line: str) -> str:
    return line.rstrip(".:;")


def _label(comparison: Comparison) -> str:
    return "".join(
        letter if letter.isalnum() and letter.isascii() else "-" for letter in comparison.file("table")
    )
