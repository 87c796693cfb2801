"""A logger of attnlab that prints its speed as it is logged, for a benchmark that listens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger


class Speaking(Logger):
    """Prints `speed UPDATE TOKENS_PER_S`; takes what every logger is given."""

    def __init__(self, folder: Path, facts: Any) -> None:
        super().__init__()

    @property
    def name(self) -> str:
        """Of the logger."""
        return "speaking"

    @property
    def version(self) -> str:
        """None of its own."""
        return ""

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """The line, where there is a speed."""
        if "train/tokens_per_s" in metrics:
            print(f"speed {step} {metrics['train/tokens_per_s']:.2f}", flush=True)
