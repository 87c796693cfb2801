"""A walkthrough in its three forms: text, pictures, a page."""

from __future__ import annotations

from typing import Protocol

from attnlab.explain.numbers import numbers
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
        return {}

    def page(self) -> str:
        """One HTML file."""
        raise NotImplementedError


def worked_example() -> Walk:
    """The walkthrough without a run."""
    return WorkedExample()
