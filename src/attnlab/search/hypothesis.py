"""What search returns, and what it asks of a model."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One translation of one sentence.

    Attributes:
        tokens: ids without start and end mark.
        score: log_prob divided by the length penalty; what hypotheses are ranked by.
        log_prob: natural log-probability of all that was emitted, the end mark included where there is one.
        finished: it ended by itself; False: cut at the limit (or `missing`).
        weights: float32 on the CPU, a row an emitted token (the end mark's is the last, where finished), a
            column a source position of this sentence; all zeros where the model does not attend.
    """

    tokens: list[int]
    score: float
    log_prob: float
    finished: bool
    weights: Tensor

    @property
    def missing(self) -> bool:
        """Marks a place in an n-best list for which no hypothesis exists; its score is -inf."""
        return self.score == -torch.inf

    @classmethod
    def nothing(cls, positions: int) -> "Hypothesis":
        """The marker: no tokens, score -inf, not finished."""
        return cls([], -torch.inf, -torch.inf, False, torch.zeros(0, positions, dtype=torch.float32))

    @classmethod
    def empty(cls) -> "Hypothesis":
        """The translation of an empty source: the end mark, for certain, without asking the model."""
        return cls([], 0.0, 0.0, True, torch.zeros(1, 0, dtype=torch.float32))


@runtime_checkable
class Model(Protocol):
    """The part of `Seq2Seq` that search uses; docs/architecture.md describes it."""

    pad: int
    start: int
    training: bool

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Any, Any]: ...  # noqa: D102

    def step(self, tokens: Tensor, state: Any, memory: Any) -> tuple[Tensor, Any, Any]: ...  # noqa: D102

    def logits(self, readouts: Tensor) -> Tensor: ...  # noqa: D102

    def eval(self) -> Any: ...  # noqa: D102

    def train(self, mode: bool = True) -> Any: ...  # noqa: D102
