"""The walkthrough of trained runs as plain text."""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

from collections.abc import Sequence

from attnlab.explain import filling
from attnlab.explain.numbers import numbers
from attnlab.explain.reading import Reading
from attnlab.explain.sentence import Sentence
from attnlab.explain.tables import Table
from attnlab.explain.text import heading, paragraph, recall, wrapped, written
from attnlab.explain.words import words

SHADES = " .:-=+*#%@"
"""Weights from 0 to 1, a sign a tenth."""


def runs_text(sentence: Sentence, readings: Sequence[Reading]) -> str:
    """All nine steps, of every run."""
    said, tree = words(), numbers()
    lines = [*heading(said.title, "="), *paragraph(said.lead, tree), *paragraph(said.runs, tree)]
    lines += [
        f"source: {sentence.source}",
        *([f"reference: {sentence.reference}"] if sentence.reference else []),
        "",
    ]
    for number, step in enumerate(said.steps, start=1):
        lines += heading(f"{number}. {step.title}", "-")
        for template in [*step.say, *step.runs]:
            lines += paragraph(template, tree)
        for reading in readings:
            for table in run_tables(step.id, reading):
                lines += [*written(table, {}), ""]
            if step.id == "whole":
                lines += [*_map(reading), ""]
    return "\n".join([*lines, *recall(tree)]).rstrip("\n") + "\n"


def run_tables(step: str, reading: Reading) -> list[Table]:
    """The numbers of a run that belong to a step of the walkthrough, all steps of the output at once."""
    facts, name = reading.facts, reading.name
    if step == "bottleneck":
        row = [reading.text, f"{facts['S']}", f"{facts['K']}", f"{facts['numbers']:,}"]
        return [Table(name, ["translation", "S", "K", "numbers to look at"], [row])]
    if step == "lanes":
        factors = [str(facts["factors"].get(key, "?")) for key in ("asks", "context_goes_to", "fed_back")]
        row = [facts["readout"], *factors]
        return [Table(name, ["readout", "asks", "context goes to", "fed back"], [row])]
    if not reading.attends:
        return [Table(f"{name}: no attention, so nothing to show", [""], [])] if step in _PER_STEP else []
    if step == "score":
        row = [facts["formula"], facts["scorer"], f"{facts['parameters']:,}"]
        return [Table(name, ["score", "matrices", "parameters"], [row])]
    if step in _PER_STEP:
        tables = [Table(name, ["step", *(head for head, _, _ in _PER_STEP[step])], _rows(step, reading))]
        if step == "window" and reading.by_length:
            tables.append(_by_length(reading))
        return tables
    return []


_PER_STEP = {
    "question": [("word", "word", None), ("best score", "heaviest", None), ("score", "best", 2)],
    "softmax": [
        ("word", "word", None),
        ("heaviest", "heaviest", None),
        ("weight", "top", 3),
        ("sum", "sum", 3),
    ],
    "context": [
        ("word", "word", None),
        ("length of c", "norm", 2),
        ("heaviest", "heaviest", None),
        ("nearest", "nearest", None),
    ],
    "window": [
        ("word", "word", None),
        ("centre", "centre", 2),
        ("first", "first", None),
        ("last", "last", None),
        ("scored", "scored", None),
        ("entropy", "entropy", 2),
    ],
}


def _rows(step: str, reading: Reading) -> list[list[str]]:
    rows = []
    for tree in reading.steps:
        scores = [value for value in tree["e"] if value is not None]
        own = {**tree, "best": max(scores) if scores else None}
        cells = []
        for _, path, digits in _PER_STEP[step]:
            value = own[path]
            cells.append(
                "–" if value is None else str(value) if digits is None else filling.shown(value, digits)
            )
        rows.append([str(tree["t"]), *cells])
    return rows


def _by_length(reading: Reading) -> Table:
    """Of the run's own test set."""
    names = [f"{row['lo']}-{row['hi']}" if row["hi"] else f"from {row['lo']}" for row in reading.by_length]
    values = [filling.shown(row["entropy_normalised"], 3) for row in reading.by_length]
    caption = f"{reading.name}: entropy / log S of its test set, by words of the source"
    return Table(caption, ["words", *names], [["entropy / log S", *values]])


def _map(reading: Reading) -> list[str]:
    """The weights as shades, a row a word written; gold links in brackets."""
    if not reading.attends:
        return [f"  {reading.name}: no attention, so no map"]
    gold = set(reading.gold or ())
    wide = max(map(len, reading.target))
    names = [f"{j} {word}" for j, word in enumerate(reading.source, start=1)]
    lines = [f"  {reading.name}", *(f"    {line}" for line in wrapped(", ".join(names), 0))]
    lines.append(f"    {' ' * wide}  {''.join(f'{j + 1:^3}' for j in range(len(names)))}".rstrip())
    for i, (word, tree) in enumerate(zip(reading.target, reading.steps, strict=True)):
        cells = "".join(
            f"[{_shade(weight)}]" if (i, j) in gold else f" {_shade(weight)} "
            for j, weight in enumerate(tree["a"])
        )
        lines.append(f"    {word.rjust(wide)} |{cells}|")
    if gold:
        lines.append("    [ ]: a link of the gold alignment")
    return [*lines, *([f"    {reading.note}"] if reading.note else [])]


def _shade(weight: float) -> str:
    return SHADES[min(len(SHADES) - 1, round(weight * (len(SHADES) - 1)))]
