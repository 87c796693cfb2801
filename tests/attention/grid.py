"""All scorers and all windows, each beside its oracle, in sizes small enough for a test."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from attnlab.attention import (
    Additive,
    Attended,
    Attention,
    Concat,
    Dot,
    General,
    Global,
    LocalM,
    LocalP,
    LocalPOnScores,
    LocalPRenorm,
    Location,
    ScaledDot,
    Scorer,
)
from attnlab.contract.asking import ask, normal

from . import oracles

D = 2  # half width of the local windows here
REACH = 20  # positions that `location` can score here

#: name: (class with its options, oracle)
SCORERS: dict[str, tuple[Callable[..., Scorer], Any]] = {
    "dot": (Dot, oracles.dot),
    "scaled_dot": (ScaledDot, oracles.scaled_dot),
    "general": (General, oracles.general),
    "additive": (partial(Additive, units=5), oracles.additive),
    "additive_bias": (partial(Additive, units=5, bias=True), oracles.additive),
    "concat": (Concat, oracles.concat),
    "location": (partial(Location, max_length=REACH), oracles.location),
}
WINDOWS: dict[str, tuple[Callable[..., Any], Any]] = {
    "global": (Global, oracles.everywhere),
    "local_m": (partial(LocalM, half_width=D), oracles.local_m),
    "local_p": (partial(LocalP, half_width=D), oracles.local_p),
    "local_p_renorm": (partial(LocalPRenorm, half_width=D), oracles.local_p_renorm),
    "local_p_on_scores": (partial(LocalPOnScores, half_width=D), oracles.local_p_on_scores),
}
LOCAL = [name for name in WINDOWS if name != "global"]


def make(scorer: str, window: str, size: int = 4, seed: int = 0, spread: float = 1.0) -> Attention:
    """An attention with H = K = `size`, float64, its parameters N(0, spread^2): far from uniform weights."""
    generator = torch.Generator().manual_seed(seed)
    attention = Attention(SCORERS[scorer][0](size, size), WINDOWS[window][0](size)).double()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.normal_(0, spread, generator=generator)
    return attention


__all__ = ["LOCAL", "REACH", "SCORERS", "WINDOWS", "Attended", "D", "ask", "make", "normal"]
