"""A walkthrough in its three forms: text, pictures, a page."""

from __future__ import annotations

from typing import Protocol

from attnlab.explain.example_page import example_page
from attnlab.explain.numbers import numbers
from attnlab.explain.palette import light
from attnlab.explain.pictures.example import pictures
from attnlab.explain.tables import tables
from attnlab.explain.text import example_text


class Walk(Protocol):
    """What every walkthrough can become."""

    def text(self) -> str:
        """Plain text."""

    def svgs(self) -> dict[str, str]:
        """Pictures by their file names."""

    def page(self) -> str:
        """One HTML file."""


class WorkedExample:
    """The walkthrough of the worked example."""

    def __init__(self) -> None:
        self.tree = numbers()

    def text(self) -> str:
        """Plain text."""
        return example_text(self.tree, tables())

    def svgs(self) -> dict[str, str]:
        """Pictures by their file names."""
        colours = light()
        return {
            f"{number}_{picture.key}.svg": picture.svg(self.tree, colours)
            for number, (_, drawn) in enumerate(pictures().items(), start=1)
            for picture in drawn
        }

    def page(self) -> str:
        """One HTML file."""
        return example_page(self.tree, pictures(), tables())


def worked_example() -> Walk:
    """The walkthrough without a run."""
    return WorkedExample()
