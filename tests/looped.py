"""A stand-in for CUDA graphs, and what is compared of two loops: for the tests of compiled and captured ones."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from attnlab.captured import Captured
from attnlab.capturing import Recorder, Replay, Work
from attnlab.model import Seq2Seq

from .model.models import pairs


class Again(Recorder):
    """Takes the place of CUDA graphs: work is done again where a graph would be played, into the same places."""

    device = "cpu"

    def __init__(self) -> None:
        super().__init__()
        self.recorded = self.played = 0

    def aside(self, device: torch.device) -> AbstractContextManager[Any]:
        return nullcontext()

    def record(self, work: Work) -> tuple[Replay, tuple[Tensor | None, ...]]:
        self.recorded += 1
        kept = tuple(None if one is None else one.clone() for one in work())

        def play() -> None:
            self.played += 1
            for place, new in zip(kept, work(), strict=True):
                assert (place is None) == (new is None)
                if place is not None:
                    place.copy_(new)

        return play, kept


def captured(model: Seq2Seq, **options: Any) -> Captured:
    model.decoder.forward = loop = Captured(model.decoder, recorder=Again(), **options)
    return loop


def batch(lengths: list[int], targets: list[int], seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    return pairs(lengths, targets, seed)[:3]


def outcome(model: Seq2Seq, source: Tensor, lengths: Tensor, target: Tensor) -> tuple[list[Any], list[Any]]:
    """Readouts and attention, and the gradients of all parameters of a loss that reads all of them."""
    decoded = model(source, lengths, target)
    attended = decoded.attended
    found = [decoded.readouts, attended.context, attended.weights, attended.first]
    loss = sum(
        (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)).sum()
        for out in found[:3]
        if out.numel()
    )
    parameters = list(model.parameters())
    return found, list(torch.autograd.grad(loss, parameters, allow_unused=True))


def equal(one: list[Any], other: list[Any], **bounds: float) -> None:
    for mine, theirs in zip(one, other, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            torch.testing.assert_close(mine, theirs, **bounds)
