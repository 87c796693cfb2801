"""`checklist.md`: what conferences ask about reproducibility, answered from the records or `not recorded`.

The questions are in our words, under the codes of the ACL's Responsible NLP Research checklist (sections B
and C) and of the NeurIPS paper checklist (questions 4 to 8 and 12). What only the authors can say is left
to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attnlab.report import answers
from attnlab.report.evidence import Evidence
from attnlab.report.inventory import inventory, plural
from attnlab.report.rows import Report
from attnlab.results import Record


def checklist(report: Report, evidences: Sequence[Evidence] = (), failed: Iterable[Record] = ()) -> str:
    """The checklist as Markdown; the same bytes for the same records.

    Args:
        report: its comparisons.
        evidences: one for each comparison, for what was tested and how.
        failed: records of failed and interrupted runs, for the time that they cost.
    """
    known = inventory(report, failed)
    sections: list[tuple[str, list[tuple[str, list[str]]]]] = [
        (
            "ACL: Responsible NLP Research checklist",
            [
                ("B1 Whose data and programs are used?", answers.creators(known)),
                ("B2 Under which licence or terms?", answers.licences(known)),
                (
                    "B3 Is this what they were meant for?",
                    [answers.left("the terms under B2 say what is allowed")],
                ),
                (
                    "B4 Are there personal or offensive contents?",
                    [answers.left("no text is kept in a record")],
                ),
                ("B5 Which languages and domains does the data cover?", answers.domains(known)),
                ("B6 How large is it, and how is it split?", answers.splits(known)),
                ("C1 How many parameters, how much computation, on which machines?", answers.compute(known)),
                ("C2 What was the setting, and how were its values chosen?", answers.setting(known)),
                (
                    "C3 Are the numbers of one run or a mean, and how far do they spread?",
                    answers.statistics(known, evidences),
                ),
                ("C4 Which packages, with which settings?", answers.packages(known)),
            ],
        ),
        (
            "NeurIPS: paper checklist",
            [
                ("4 Is there what it takes to reproduce the results?", answers.reproduction(known)),
                ("5 Are data and code open?", answers.opened(known)),
                ("6 Is the setting of the experiments told?", ["as under C2; the splits under B6"]),
                ("7 Are errors and significance given?", ["as under C3"]),
                ("8 What did the computation take?", ["as under C1"]),
                ("12 Are the licences of what was used respected?", ["as under B2"]),
            ],
        ),
    ]
    lines = [
        "# Reproducibility",
        "",
        f"From the records of {plural(len(known.records), 'finished run')} of {plural(known.cells, 'cell')}. "
        "The questions are in other words than the forms'; the codes are theirs. Compare them with the form "
        "of your year.",
    ]
    for title, items in sections:
        lines += ["", f"## {title}"]
        for question, told in items:
            lines += ["", f"**{question}**", "", *(f"- {_escape(answer)}" for answer in told)]
    return "\n".join([*lines, ""])


def _escape(text: str) -> str:
    """One line, in which names from a configuration are no Markdown."""
    text = " ".join(str(text).split()).replace("\\", "\\\\").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "[]*":
        text = text.replace(mark, "\\" + mark)
    return text
