"""attnlab: an experiment framework for attention in recurrent encoder-decoders."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["__version__", "load", "train"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnlab.evaluation import load

    def train(overrides: Sequence[str] = ()) -> dict[str, Any]:
        """Train the cell that these overrides describe, in this process, and return its record."""


def __getattr__(name: str) -> Any:
    # Lazy: `attnlab --help` and everything else that needs no torch stays quick.
    if name == "train":
        return import_module("attnlab.train")  # a module that can be called; see there
    if name == "load":
        return import_module("attnlab.evaluation").load
    raise AttributeError(f"module 'attnlab' has no attribute {name!r}")
