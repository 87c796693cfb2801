"""Numbers in sentences: `{a.1:4}` in a template is the number at that path of a tree, with four digits.

`{path}` alone is a word or a whole number, `{path:+2}` a number with its sign. `page/js/fill.js` does the
same.
"""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

LABEL = 13
"""Letters of the longest label."""


class Verbatim(str):
    """Text that is not ours, such as a word of a sentence: it has no places and no marks."""

    __slots__ = ()


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
PLACE = re.compile(r"\{([\w.]+)(?::([+]?)(\d+))?\}")


def lookup(tree: Mapping[str, Any], path: str) -> Any:
    """What lies at a path of names and places from 0, such as `additive.tanh.0.2`.

    Raises:
        KeyError: nothing lies there.
    """
    node: Any = tree
    for part in path.split("."):
        try:
            node = node[int(part)] if isinstance(node, list | tuple) else node[part]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise KeyError(path) from error
    return node


def shown(value: float, digits: int, signed: bool = False, minus: str = "-") -> str:
    """A number with so many digits behind the point; nothing that rounds to zero has a sign."""
    if not math.isfinite(value):
        return "–"
    text = f"{abs(value):.{digits}f}"
    if not float(text):
        return text
    return (minus if value < 0 else "+" if signed else "") + text


def fill(template: str, tree: Mapping[str, Any], minus: str = "-") -> str:
    """The template with its numbers."""
    if isinstance(template, Verbatim):
        return str(template)
    return PLACE.sub(lambda found: one(found, tree, minus), template)


def one(found: re.Match[str], tree: Mapping[str, Any], minus: str = "-") -> str:
    """The number or the word of one place."""
    path, sign, digits = found.groups()
    value = lookup(tree, path)
    if value is None:
        return "–"
    return str(value) if digits is None else shown(float(value), int(digits), bool(sign), minus)


def short(word: str) -> Verbatim:
    """A word that is not ours, as a label."""
    return Verbatim(word if len(word) <= LABEL else word[: LABEL - 1] + "…")


def printable(text: str) -> str:
    """The text with U+FFFD for each character that XML does not allow or that moves a terminal's cursor."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def pieces(template: str, plain: Callable[[str], Any], place: Callable[[re.Match[str]], Any]) -> list[Any]:
    """The template cut at its places: `plain` of each stretch between, `place` of each place."""
    if isinstance(template, Verbatim):
        return [plain(template)] if template else []
    parts: list[Any] = []
    end = 0
    for found in PLACE.finditer(template):
        if found.start() > end:
            parts.append(plain(template[end : found.start()]))
        parts.append(place(found))
        end = found.end()
    if end < len(template):
        parts.append(plain(template[end:]))
    return parts
