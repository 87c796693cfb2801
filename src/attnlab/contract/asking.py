"""Sentences and queries to ask with: 0 to 30 tokens, with noise where a real encoder pads with zeros."""

import torch
from torch import Tensor

from attnlab.attention import Attention

LENGTHS = torch.tensor([0, *range(1, 31)])  # sources of 0 and of 1 to 30 tokens in one batch
PADDED = 32  # no sentence fills the batch
STEPS = 34  # beyond both ends of every source


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """N(0, 1), the same for a seed whatever the precision."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def batch(query_dim: int, key_dim: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Queries [B, T, H] and states [B, S, K] of the sentences of LENGTHS."""
    query = normal(len(LENGTHS), STEPS, query_dim, seed=1, dtype=dtype)
    return query, normal(len(LENGTHS), PADDED, key_dim, seed=2, dtype=dtype)


def ask(
    attention: Attention, query: Tensor, states: Tensor, lengths: Tensor, one_step: bool
) -> tuple[Tensor, Tensor]:
    """Contexts [B, T, K] and weights [B, T, S] of steps 1..T, asked all at once or one after the other."""
    memory = attention.prepare(states, lengths)
    steps = torch.arange(1, query.shape[1] + 1)
    if one_step:
        found = [attention(query[:, t : t + 1], memory, steps[t : t + 1]) for t in range(len(steps))]
    else:
        found = [attention(query, memory, steps)]
    length = states.shape[1]
    return torch.cat([f.context for f in found], 1), torch.cat([f.dense(length) for f in found], 1)


def sizes(attention: Attention) -> tuple[int, int]:
    """H and K."""
    return attention.scorer.query_dim, attention.scorer.key_dim
