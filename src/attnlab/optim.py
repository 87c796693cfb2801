"""How the parameters move: a torch optimiser, and what the learning rate does over a run.

The published schedules are functions of a count (epochs or validations finished), so a resumed run computes
its rate afresh and nothing can be one epoch out. Only the plateau rule has a memory, and it is a few numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import torch

from attnlab.errors import UserError

DIRECTIONS = {"val/bleu": "max", "val/loss": "min"}
"""Which way each validation metric gets better: the one table for stopping, checkpoints and plateaus."""


def direction(monitor: str, mode: str | None = None) -> str:
    """`max` or `min` for a validation metric; `mode` overrides the table.

    Raises:
        UserError: the metric is in no table and `mode` is not given, or `mode` is neither `max` nor `min`.
    """
    if mode is None:
        if monitor not in DIRECTIONS:
            known = ", ".join(DIRECTIONS)
            raise UserError(
                f"monitor={monitor}: no direction is known for it; set mode to max or min, "
                f"or monitor one of {known}"
            )
        return DIRECTIONS[monitor]
    if mode not in ("max", "min"):
        raise UserError(f"mode={mode}: must be max or min")
    return mode


def _check_factor(factor: float) -> None:
    if not 0 < factor <= 1:
        raise UserError(f"optim.schedule.factor={factor}: must be greater than 0 and at most 1")


class Schedule(Protocol):
    """The factor on the first learning rate after so many finished epochs and validations."""

    def scale(self, epochs: int, validations: int) -> float:
        """The factor in force now."""

    def observe(self, metrics: Mapping[str, float]) -> None:
        """Looks at the metrics of a validation that has just ended."""

    def state(self) -> dict[str, float]:
        """What a resumed run must know: plain numbers."""

    def load(self, state: Mapping[str, float]) -> None:
        """Takes up a `state`."""


class Halving:
    """Constant for the first `after` epochs (or validations), then times `factor` after each.

    Luong et al. 2015, section 4.1: SGD from rate 1, "after 5 epochs, we begin to halve the learning rate
    every epoch"; with dropout they train longer and set `after` to 8. The n-th epoch, counted from 1, runs at
    `factor ** max(0, n - after)`.
    """

    def __init__(self, after: int, factor: float = 0.5, every: str = "epoch"):
        _check_factor(factor)
        if every not in ("epoch", "validation"):
            raise UserError(f"optim.schedule.every={every}: must be epoch or validation")
        self.after, self.factor, self.every = after, factor, every

    def scale(self, epochs: int, validations: int) -> float:
        """The factor in the running epoch, `epochs` being finished."""
        running = 1 + (epochs if self.every == "epoch" else validations)
        return self.factor ** max(0, running - self.after)

    def observe(self, metrics: Mapping[str, float]) -> None:
        """Nothing to see: the factor is a function of the count."""

    def state(self) -> dict[str, float]:
        """Nothing to keep."""
        return {}

    def load(self, state: Mapping[str, float]) -> None:
        """Nothing to take up."""


class Plateau:
    """Times `factor` whenever the monitored validation metric has not improved for `patience` validations."""

    def __init__(
        self, monitor: str = "val/loss", patience: int = 1, factor: float = 0.5, mode: str | None = None
    ):
        _check_factor(factor)
        self.monitor, self.patience, self.factor = monitor, patience, factor
        self.sign = 1.0 if direction(monitor, mode) == "max" else -1.0
        self.best, self.waited, self.cuts = float("-inf"), 0, 0

    def scale(self, epochs: int, validations: int) -> float:
        """The factor after the cuts made so far."""
        return self.factor**self.cuts

    def observe(self, metrics: Mapping[str, float]) -> None:
        """Counts validations without a new best; NaN is no improvement."""
        value = self.sign * metrics[self.monitor]
        if value > self.best:
            self.best, self.waited = value, 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            self.cuts, self.waited = self.cuts + 1, 0

    def state(self) -> dict[str, float]:
        """Best value (signed), validations waited, cuts made."""
        return {"best": self.best, "waited": self.waited, "cuts": self.cuts}

    def load(self, state: Mapping[str, float]) -> None:
        """Takes up a `state`."""
        self.best, self.waited, self.cuts = float(state["best"]), int(state["waited"]), int(state["cuts"])


class Recipe:
    """An optimiser, its first learning rate, its schedule, and the label smoothing of the objective.

    Args:
        lr: the first learning rate.
        optimizer: a partial of any torch optimiser, called with `(parameters, lr=lr)`.
        schedule: what the rate does over the run; None keeps it.
        label_smoothing: the share of the target distribution that is spread evenly over the vocabulary
            (Szegedy et al. 2016, section 7); training only, validation is always unsmoothed.
    """

    def __init__(
        self,
        lr: float,
        optimizer: Callable[..., torch.optim.Optimizer],
        schedule: Schedule | None = None,
        label_smoothing: float = 0.0,
    ):
        if not lr > 0:
            raise UserError(f"optim.lr={lr}: must be greater than 0")
        if not 0 <= label_smoothing < 1:
            raise UserError(f"optim.label_smoothing={label_smoothing}: must be at least 0 and below 1")
        self.lr, self.schedule, self.label_smoothing = float(lr), schedule, float(label_smoothing)
        self._optimizer = optimizer

    def optimizer(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """The torch optimiser over `parameters`."""
        return self._optimizer(parameters, lr=self.lr)

    def rate(self, epochs: int, validations: int) -> float:
        """The learning rate after so many finished epochs and validations."""
        return self.lr if self.schedule is None else self.lr * self.schedule.scale(epochs, validations)
