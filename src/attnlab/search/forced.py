"""Forced decoding: what the model thinks of a given target, and where it looks while it reads it."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnlab.model import Seq2Seq
from attnlab.search.modes import evaluating

ROWS = 256
"""Tokens whose logits are alive at once: those of a whole batch would be [B, T, V], padding included."""


class Forced(NamedTuple):
    """A row a target token, the end mark included; zeros at padding.

    Attributes:
        log_probs: natural log-probability of each token, given those before it.
        weights: the attention of the step that predicts it, over all source positions.
    """

    log_probs: Float[Tensor, "B T"]
    weights: Float[Tensor, "B T S"]


def forced(
    model: Seq2Seq, source: Int[Tensor, "B S"], lengths: Int[Tensor, " B"], target: Int[Tensor, "B T"]
) -> Forced:
    """Scores a target in one pass of the model's `forward`.

    The numbers are those that search works with: a hypothesis's `log_prob` is the sum of its row here.

    Args:
        model: the model; dropout is off meanwhile.
        source: padded ids.
        lengths: real tokens of each source; 0 is legal.
        target: padded ids, with the end mark where it is to count, without the start mark.
    """
    with evaluating(model), torch.no_grad():
        decoded = model(source, lengths, target)
        real = target != model.pad
        parts = []
        for readouts, tokens in zip(
            decoded.readouts[real].split(ROWS), target[real].split(ROWS), strict=True
        ):
            logits = model.logits(readouts)
            logits = logits if logits.dtype == torch.float64 else logits.float()
            parts.append(logits.gather(-1, tokens.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1))
        found = torch.cat(parts)
        log_probs = found.new_zeros(target.shape).masked_scatter(real, found)
        weights = decoded.attended.dense(source.shape[1])
        return Forced(log_probs, weights.float().masked_fill(~real.unsqueeze(-1), 0))
