"""The page of trained runs: a card a run at every step, and one slider for the steps of the output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from attnlab.explain.drawing import Picture
from attnlab.explain.example_page import table_parts
from attnlab.explain.filling import fill
from attnlab.explain.numbers import numbers
from attnlab.explain.page import fragment, marked, questions, render
from attnlab.explain.pictures.runs import pictures_of
from attnlab.explain.reading import Reading, opens_at
from attnlab.explain.run_tables import run_tables
from attnlab.explain.sentence import Sentence
from attnlab.explain.words import words

_SCRIPTS = ("fill", "steps", "main")
_DIGITS = 7
_TOLD = ("bottleneck", "whole")
"""Steps whose cards have the translation."""


def runs_page(sentence: Sentence, readings: Sequence[Reading]) -> str:
    """One HTML file."""
    said, tree = words(), numbers()
    drawn, start = [pictures_of(reading) for reading in readings], opens_at(readings)
    steps = []
    for step in said.steps:
        figures = [
            _card(
                number,
                reading,
                start,
                step.id in _TOLD,
                own.get(step.id, ()),
            )
            for number, (reading, own) in enumerate(zip(readings, drawn, strict=True))
        ]
        tables = [
            table_parts(table, reading.at(start))
            for reading in readings
            for table in run_tables(step.id, reading)
            if table.rows
        ]
        steps.append(
            {
                "id": step.id,
                "title": step.title,
                "say": marked(step.say, tree),
                "special": marked(step.runs, tree),
                "figures": Markup("\n").join(figures),
                "tables": tables,
                "runs": True,
            }
        )
    return render(
        _SCRIPTS,
        "runs_panel.html.j2",
        {"runs": [_rounded(reading.steps) for reading in readings]},
        title=said.title,
        lead=said.lead,
        about=[*marked([said.runs], tree), _source(sentence)],
        steps=steps,
        questions=questions(said.questions, tree),
        most=max(len(reading.steps) for reading in readings),
        start=start,
    )


def _source(sentence: Sentence) -> Markup:
    """The sentence, and the test set's translation of it."""
    line = Markup('<span class="muted">{}</span> <bdi class="sentence">{}</bdi>')
    text = line.format("source:", sentence.source)
    if sentence.reference:
        text += Markup("<br>") + line.format("reference:", sentence.reference)
    return text


def _card(number: int, reading: Reading, start: int, told: bool, drawn: Sequence[Picture]) -> Markup:
    tree = reading.at(start)
    pictures = [
        (fill(picture.title, tree), Markup(picture.svg(tree, prefix=f"run{number}-"))) for picture in drawn
    ]
    return fragment("card.html.j2", number=number, reading=reading, told=told, pictures=pictures)


def _rounded(value: Any) -> Any:
    """Numbers with as many digits as a picture shows."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value
