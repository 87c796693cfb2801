"""The contract of a scorer and of a window, and what breaks it.

`attnlab check mymodule:MyScorer` puts a class of one's own through it; the tests of the framework's own run
the same functions. Where a clause of one stage fails, the stages after it are left out: they would fail of
the same cause.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlab.contract.clauses import NAMES, SCORER, WINDOW, Broken, Outcome, Subject, check, told

__all__ = ["NAMES", "SCORER", "WINDOW", "Broken", "Outcome", "Subject", "check", "told"]


def __getattr__(name: str) -> Any:
    # Lazy: `attnlab check --help` needs no torch.
    if name in __all__:
        return getattr(import_module("attnlab.contract.clauses"), name)
    raise AttributeError(f"module 'attnlab.contract' has no attribute {name!r}")
