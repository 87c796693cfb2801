"""Loggers that write files of the run folder: one JSON line a row, a CSV table, TensorBoard's events."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import CSVLogger, Logger, TensorBoardLogger
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from attnlab.loggers.base import Facts


class MetricsFile(Logger):
    """`metrics.jsonl`: a line `{"step": ..., name: value, ...}` for everything logged, written at once.

    `step` is the number of finished updates. A value that is no finite number is written as null, because
    JSON has no other word for it. With `fresh=False` lines are added to those that are there.
    """

    def __init__(self, path: Path, fresh: bool = True):
        super().__init__()
        self.path = Path(path)
        if fresh:
            self._begin()

    @rank_zero_only
    def _begin(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("", encoding="utf-8")

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def version(self) -> str:
        """None of its own."""
        return ""

    @rank_zero_only
    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: the settings are in config.yaml."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Appends one line."""
        row = {"step": step, **{k: v if math.isfinite(v) else None for k, v in metrics.items()}}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


class _Csv(CSVLogger):
    """Lightning's CSV logger, told to write at each row, so that a run that dies keeps its rows."""

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, Any], step: int | None = None) -> None:
        super().log_metrics(dict(metrics), step)
        self.save()


@rank_zero_only
def _forget(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


def csv(folder: Path, facts: Facts) -> Logger:
    """`csv/metrics.csv`, one column a metric; a table left by an earlier attempt is replaced."""
    _forget(folder / "csv")
    return _Csv(save_dir=folder, name="csv", version="")


def tensorboard(folder: Path, facts: Facts) -> Logger:
    """`tensorboard/` for `tensorboard --logdir`; what an earlier attempt left is replaced.

    TensorBoard's own way, `purge_step`, hides the points that are repeated, but what a killed process had not
    yet written stays lost; the run replays `metrics.jsonl` instead.
    """
    _forget(folder / "tensorboard")
    return TensorBoardLogger(save_dir=folder, name="tensorboard", version="", default_hp_metric=False)
