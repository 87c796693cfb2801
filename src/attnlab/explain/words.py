"""The words of the walkthrough, from `words.yaml`, and their markup.

*emphasis*, **strong**, `code`, ~a word of the source's language~, and h_1 with its index.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from attnlab.explain import filling
from attnlab.explain.drawing import MINUS, SUBSCRIPT

_MARKS = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|~([^~]+)~")
FOREIGN = "de"
"""The language of the example's source."""


class Step(NamedTuple):
    """One step: templates of paragraphs, those of every walkthrough and those of each kind."""

    id: str
    title: str
    say: list[str]
    example: list[str]
    runs: list[str]


class Question(NamedTuple):
    """A question and what to answer."""

    ask: str
    answer: str


class Words(NamedTuple):
    """All words of the walkthrough."""

    title: str
    lead: str
    example: str
    runs: str
    steps: list[Step]
    questions: list[Question]


@cache
def words() -> Words:
    """As `words.yaml` has them."""
    raw: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))
    steps = [Step(**step) for step in raw.pop("steps")]
    questions = [Question(**question) for question in raw.pop("questions")]
    return Words(**raw, steps=steps, questions=questions)


def plain(template: str, tree: Mapping[str, Any]) -> str:
    """For a terminal: no marks."""
    if isinstance(template, filling.Verbatim):
        return str(template)
    return filling.fill(_MARKS.sub(lambda found: next(filter(None, found.groups())), template), tree)


def html(template: str, tree: Mapping[str, Any]) -> str:
    """For the page: marks as elements, and each number in one that the script can find."""
    if isinstance(template, filling.Verbatim):
        return escape(template)
    parts, end = [], 0
    for found in _MARKS.finditer(template):
        parts.append(_html(template[end : found.start()], tree))
        end = found.end()
        if found[1]:
            parts.append(f"<code>{escape(found[1])}</code>")
        else:
            tag, told = ("strong", "") if found[2] else ("em", f' lang="{FOREIGN}"' if found[4] else "")
            inner = _html(found[2] or found[3] or found[4], tree)
            parts.append(f"<{tag}{told}>{inner}</{tag}>")
    return "".join([*parts, _html(template[end:], tree)])


def _html(text: str, tree: Mapping[str, Any]) -> str:
    def marked(stretch: str) -> str:
        return SUBSCRIPT.sub(lambda found: f"{found[1]}<sub>{found[2] or found[3]}</sub>", escape(stretch))

    def place(found: re.Match[str]) -> str:
        said = escape(filling.one(found, tree, MINUS))
        kind = ' class="n"' if found[3] else ""
        return f'<span{kind} data-t="{escape(found[0])}">{said}</span>'

    return "".join(filling.pieces(text, marked, place))
