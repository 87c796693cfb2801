"""The slow oracles of tests/, for the checks: the checkout is needed."""

import sys
import types
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]

if (
    "tests" not in sys.modules
):  # a folder without __init__.py, which a package of that name elsewhere would hide
    package = types.ModuleType("tests")
    package.__path__ = [str(CHECKOUT / "tests")]
    sys.modules["tests"] = package

from tests.attention.grid import SCORERS, WINDOWS, D  # noqa: E402
from tests.model import models, oracles  # noqa: E402

__all__ = ["SCORERS", "WINDOWS", "D", "models", "oracles"]
