"""What watches a training: when to stop, which checkpoint to keep, what a person sees meanwhile."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback, EarlyStopping, Timer, TQDMProgressBar

from attnlab import threads
from attnlab.checkpoints import Checkpoints
from attnlab.errors import UserError
from attnlab.optim import direction
from attnlab.progress import ProgressFile

log = logging.getLogger(__name__)

SHOWN = {"train/loss": "loss", "val/loss": "val/loss", "val/bleu": "val/bleu"}


class Bar(TQDMProgressBar):
    """Lightning's bar with target tokens a second; it shows what was last logged, so it never waits."""

    def get_metrics(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> dict[str, Any]:
        """Loss, validation metrics and speed, as they were last logged."""
        shown: Mapping[str, float] = getattr(pl_module, "shown", {})
        metrics: dict[str, Any] = {name: f"{shown[key]:.2f}" for key, name in SHOWN.items() if key in shown}
        if "train/tokens_per_s" in shown:
            metrics["tok/s"] = f"{shown['train/tokens_per_s']:,.0f}"
        return metrics


class Lines(Callback):
    """One line a validation for the log, and for a console that is no terminal."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Starts the clock."""
        self._start = time.monotonic()

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Writes the line."""
        if trainer.sanity_checking or not trainer.is_global_zero:
            return
        shown: Mapping[str, float] = getattr(pl_module, "shown", {})
        parts = [f"{key} {shown[key]:.3f}" for key in ("train/loss", "val/loss") if key in shown]
        if "val/bleu" in shown:
            parts.append(f"val/bleu {shown['val/bleu']:.2f}")
        if "train/tokens_per_s" in shown:
            parts.append(f"{shown['train/tokens_per_s']:,.0f} tok/s")
        seconds = time.monotonic() - self._start
        log.info(
            "epoch %d, update %d: %s, %.0f s",
            trainer.current_epoch + 1,
            trainer.global_step,
            ", ".join(parts),
            seconds,
        )


class LastValidation(Callback):
    """Asks for a validation after the last update when `max_steps` ends the training within an epoch.

    Without it the updates since the last validation would be in no checkpoint.
    """

    def on_train_batch_end(self, trainer: pl.Trainer, *args: Any, **kwargs: Any) -> None:
        """Sets `should_stop`, after which Lightning validates before it leaves the loop."""
        if 0 < trainer.max_steps <= trainer.global_step:
            trainer.should_stop = True


class Trim(Callback):
    """Gives memory that the C library holds free back to the system; where it has no `malloc_trim`, nothing.

    Batches of ever new sizes leave holes between the blocks that stay, and glibc keeps the holes.

    Args:
        every: updates between two times.
    """

    def __init__(self, every: int = 50):
        self.every = every
        self._trim = threads.of_c("malloc_trim")

    def on_train_batch_end(self, trainer: pl.Trainer, *args: Any, **kwargs: Any) -> None:
        """Trims, if it is time."""
        if self._trim is not None and trainer.global_step % self.every == 0:
            self._trim(0)

    def on_validation_end(self, *args: Any, **kwargs: Any) -> None:
        """Trims: a search leaves other holes than the training fills."""
        if self._trim is not None:
            self._trim(0)


class Progress(Callback):
    """Says in `progress.json` how far the training is; on rank 0."""

    def __init__(self, file: ProgressFile):
        self.file = file
        self._first, self._began = 0, time.monotonic()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Starts the clock by which the rest is guessed."""
        self._first, self._began = trainer.global_step, time.monotonic()
        self._write(trainer, pl_module)

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
        """Writes, if it is time."""
        self._write(trainer, pl_module)

    def on_validation_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
        """The same: a validation is no standstill."""
        self._write(trainer, pl_module)

    def _write(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.file.note(trainer.global_step, trainer.current_epoch)
        if not (trainer.is_global_zero and self.file.due()):
            return
        step, of = trainer.global_step, updates(trainer)
        shown: Mapping[str, float] = getattr(pl_module, "shown", {})
        left = []
        if of is not None and step > self._first:
            seconds = time.monotonic() - self._began
            left.append((of - step) * seconds / (step - self._first))
        left += [
            rest
            for callback in trainer.callbacks  # type: ignore[attr-defined]
            if isinstance(callback, Timer) and (rest := callback.time_remaining()) is not None
        ]
        self.file.write(
            of=of,
            tokens_per_s=shown.get("train/tokens_per_s"),
            left_s=max(0.0, min(left)) if left else None,
        )


def updates(trainer: pl.Trainer) -> int | None:
    """How many updates the training takes at most; None where only something else ends it."""
    limits = [trainer.max_steps] if trainer.max_steps > 0 else []
    batches = trainer.num_training_batches
    if trainer.max_epochs is not None and trainer.max_epochs > 0 and math.isfinite(batches):
        limits.append(trainer.max_epochs * math.ceil(batches / trainer.accumulate_grad_batches))
    return min(limits, default=None)


def standard(
    folder: Path,
    *,
    monitor: str,
    mode: str | None,
    patience: int | None,
    min_delta: float,
    save_every: int | None,
    progress: bool,
) -> list[Callback]:
    """The callbacks of every run.

    Args:
        folder: the run's.
        monitor: the validation metric that chooses `best.ckpt` and ends the training.
        mode: max or min; None takes it from `optim.DIRECTIONS`.
        patience: validations without improvement before the training stops; None never stops it.
        min_delta: how much better is an improvement, for stopping.
        save_every: updates between two writings of `last.ckpt`, besides validations; None is at validations.
        progress: show a bar, where there is a terminal to show it on.

    Raises:
        UserError: a metric without direction, or an impossible patience.
    """
    mode = direction(monitor, mode)
    if patience is not None and patience < 1:
        raise UserError(f"callbacks.patience={patience}: must be at least 1, or null to never stop early")
    chosen: list[Callback] = [
        LastValidation(),
        Checkpoints(folder / "checkpoints", monitor=monitor, mode=mode, every=save_every),
        Lines(),
        Trim(),
    ]
    if patience is not None:
        chosen.append(
            EarlyStopping(
                monitor, mode=mode, patience=patience, min_delta=min_delta, check_on_train_epoch_end=False
            )
        )
    if progress and sys.stderr.isatty():
        chosen.append(Bar())
    return chosen
