"""The walkthrough of trained runs as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from attnlab.explain import filling
from attnlab.explain.numbers import numbers
from attnlab.explain.reading import Reading, opens_at
from attnlab.explain.run_tables import full_tables, run_tables
from attnlab.explain.sentence import Sentence
from attnlab.explain.text import heading, paragraph, recall, wrapped, written
from attnlab.explain.words import words

SHADES = " .:-=+*#%@"
"""Weights from 0 to 1, a sign a tenth."""


def runs_text(sentence: Sentence, readings: Sequence[Reading]) -> str:
    """All nine steps, of every run."""
    said, tree, start = words(), numbers(), opens_at(readings)
    lines = [*heading(said.title, "="), *paragraph(said.lead, tree), *paragraph(said.runs, tree)]
    lines += wrapped(f"source: {filling.printable(sentence.source)}", 2)
    if sentence.reference:
        lines += wrapped(f"reference: {filling.printable(sentence.reference)}", 2)
    lines.append("")
    for number, step in enumerate(said.steps, start=1):
        lines += heading(f"{number}. {step.title}", "-")
        for template in [*step.say, *step.runs]:
            lines += paragraph(template, tree)
        for reading in readings:
            lines += _of(step.id, reading, start)
    return "\n".join([*lines, *recall(tree)]).rstrip("\n") + "\n"


def _of(step: str, reading: Reading, start: int) -> list[str]:
    """What one run has to show at one step of the walkthrough."""
    lines = []
    if step == "bottleneck":
        lines += [f"  {reading.name}"]
        told = [f"translation: {filling.printable(reading.text)}", reading.cut]
        lines += [f"    {line}" for part in told if part for line in wrapped(part, 2)]
    for table in [*full_tables(step, reading), *run_tables(step, reading)]:
        lines += [*written(table, reading.at(start)), ""]
    if step == "whole":
        lines += [*_map(reading), ""]
    return lines


def _map(reading: Reading) -> list[str]:
    """The weights as shades, a row a word written; gold links in brackets."""
    if not reading.attends:
        return [f"  {reading.name}: no attention, so no map"]
    gold = set(reading.gold or ())
    target = list(map(filling.short, reading.target))
    wide = max(map(len, target))
    names = [f"{j} {filling.short(word)}" for j, word in enumerate(reading.source, start=1)]
    lines = [f"  {reading.name}", *(f"    {line}" for line in wrapped(", ".join(names), 0))]
    lines.append(f"    {' ' * wide}  {''.join(f'{j + 1:^3}' for j in range(len(names)))}".rstrip())
    for i, (word, tree) in enumerate(zip(target, reading.steps, strict=True)):
        cells = "".join(
            f"[{_shade(weight)}]" if (i, j) in gold else f" {_shade(weight)} "
            for j, weight in enumerate(tree["a"])
        )
        lines.append(f"    {word.rjust(wide)} |{cells}|")
    lines.append(f"    from 0 to 1: '{SHADES}'" + ("; [ ]: a link of the gold alignment" if gold else ""))
    return [*lines, *([f"    {reading.note}"] if reading.note else [])]


def _shade(weight: float) -> str:
    return SHADES[min(len(SHADES) - 1, round(weight * (len(SHADES) - 1)))]
