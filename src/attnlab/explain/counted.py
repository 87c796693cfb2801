"""How both walkthroughs count, and the sizes of the worked example, counted on the framework's classes."""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from attnlab.attention import Additive, Attention, Dot, General, LocalM
from attnlab.explain import example
from attnlab.model import Combine

LONG = 60
"""Words of a long sentence."""
RECALL = (10, 20, 2000)
"""The half width and the two source lengths of the last question."""


def parameters(module: nn.Module) -> int:
    """How many numbers a part learns."""
    return sum(value.numel() for value in module.parameters())


def shape(values: torch.Tensor) -> str:
    """Such as `4 × 8`."""
    return " × ".join(map(str, values.shape))


def entropy(weights: torch.Tensor) -> float:
    """Of weights divided by their sum, in nats; 0 where there are none."""
    shares = weights[weights > 0] / weights.sum()
    return float(-(shares * shares.log()).sum()) + 0.0  # a 0 without a sign


def refused(query_dim: int, key_dim: int, units: int) -> tuple[str, list[int]]:
    """What a dot product of two sizes is told, and the two ways out.

    Args:
        query_dim: H.
        key_dim: K.
        units: of the additive score.

    Returns:
        The framework's own message, empty where the sizes are equal; the parameters of `general` and of
        `additive`, which join the two.
    """
    try:
        Dot(query_dim, key_dim)
        refusal = ""
    except ValueError as error:
        refusal = str(error)
    with torch.device("meta"):
        ways = [
            parameters(made) for made in (General(query_dim, key_dim), Additive(query_dim, key_dim, units))
        ]
    return refusal, ways


def sizes() -> dict[str, Any]:
    """What words, pictures and questions say of sizes.

    Returns:
        `S`, `K`, `doors` (numbers behind all doorways), `long`, `long_doors`; `W`, `U` (shapes), `v`,
        `additive` (parameters); `W_c` (shape), `combine` (parameters); `recall`: entropies of equal scores
        in a window.
    """
    size, places = len(example.H[0]), len(example.H)
    units = len(example.V)
    funnel, readout = Additive(size, size, units), Combine(size, size, size)
    half, *lengths = RECALL
    attention = Attention(Dot(size, size), LocalM(size, half)).double()
    return {
        "S": places,
        "K": size,
        "doors": places * size,
        "long": LONG,
        "long_doors": LONG * size,
        "W": shape(funnel.W.weight),
        "U": shape(funnel.U.weight),
        "v": funnel.v.numel(),
        "parts": " + ".join(str(value.numel()) for value in (funnel.W.weight, funnel.U.weight, funnel.v)),
        "additive": parameters(funnel),
        "W_c": shape(readout.W_c.weight),
        "combine": parameters(readout),
        "recall": [_level(attention, size, length) for length in lengths],
    }


def _level(attention: Attention, size: int, length: int) -> float:
    """The entropy of equal scores in the middle of a source."""
    with torch.no_grad():
        memory = attention.prepare(torch.zeros(1, length, size).double(), torch.tensor([length]))
        found = attention(torch.zeros(1, 1, size).double(), memory, torch.tensor([length // 2]))
    return entropy(found.weights)
