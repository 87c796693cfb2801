"""The best continuations of every beam, in as few passes over the [B, Q, V] logits as there can be.

A pass is what they cost: at B = 64, Q = 5, V = 6,000 in float32 each moves 8 MB. There are two on a CPU: the
norm, whose exponentials never leave the cache, and the maxima of the groups that `largest` explains.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad as fill_up

BLOCKS = 16
"""Columns of a group; measured on a CPU with 6,000, 10,000 and 30,000 tokens."""
CHUNK = 2**18
"""Exponentials alive at once on a CPU: 1 MB in float32, in place of memory as large as the logits."""
SAFE = 50.0
"""Logits up to this size are exponentiated as they are: e^50 times any vocabulary is far from overflow."""


def largest(x: Float[Tensor, "... V"], k: int) -> tuple[Float[Tensor, "... k"], Int[Tensor, "... k"]]:
    """`x.topk(k)`, 2 to 4 times as fast on a CPU for a large V.

    The k largest values lie in the k groups with the largest maxima, where group i holds the columns i,
    i + n, i + 2n, ...: so topk sees n maxima and then k * BLOCKS values instead of V. A maximum over such
    groups is a vectorised reduction, topk on a CPU is not.
    """
    size = x.shape[-1]
    n = size // BLOCKS
    if not _grouped(x, k):
        return x.topk(k)
    best = _maxima(x).topk(k).indices
    places = (best.unsqueeze(-2) + n * torch.arange(BLOCKS).unsqueeze(-1)).flatten(-2)
    rest = torch.arange(n * BLOCKS, size).expand(*places.shape[:-1], -1)
    places = torch.cat([places, rest], -1)
    values, which = x.gather(-1, places).topk(k)
    return values, places.gather(-1, which)


def candidates(
    logits: Float[Tensor, "B Q V"],
    total: Float[Tensor, "B Q"],
    count: int,
    banned: Sequence[int],
) -> tuple[Float[Tensor, "B M"], Int[Tensor, "B M"], Int[Tensor, "B M"]]:
    """The `count` best continuations of a sentence, over all of its Q hypotheses, best first.

    `banned` ids are never among them, but keep their share of the probability: the log-probabilities are the
    model's own, those that forced decoding gives. Overwrites `logits` (of float32 or float64).

    The norm of a hypothesis and what it has so far are one number a row, so they are added to the maxima of
    its groups and to the few values that are looked at, not to the row.

    Returns:
        log-probability (-inf where fewer than `count` exist), slot of the hypothesis extended, token.
    """
    queries, size = logits.shape[1:]
    kept = logits[..., list(banned)]
    for unwanted in banned:
        logits[..., unwanted] = -torch.inf
    if _grouped(logits, count):
        n = size // BLOCKS
        maxima = _maxima(logits)
        outside = torch.cat([kept, logits[..., n * BLOCKS :]], -1)
        offset = total - _log_norm(logits, kept, torch.cat([maxima, outside], -1).amax(-1))
        # As `largest`, but one list of groups a sentence, over all of its hypotheses.
        group = largest((maxima + offset.unsqueeze(-1)).flatten(1), count)[1]
        first = group + group // n * (size - n)  # the group's first column, in the sentence's Q * V
        places = (first.unsqueeze(-1) + n * torch.arange(BLOCKS)).flatten(1)
        rest = torch.arange(n * BLOCKS, size) + size * torch.arange(queries).unsqueeze(-1)
        places = torch.cat([places, rest.flatten().expand(len(places), -1)], 1)
        values = logits.flatten(1).gather(1, places) + offset.gather(1, places // size)
        score, which = values.topk(count)
        place = places.gather(1, which)
    else:
        norm = _log_norm(logits, kept, torch.cat([logits, kept], -1).amax(-1))
        scores = logits.add_((total - norm).unsqueeze(-1)).flatten(1)
        score, place = scores.topk(min(count, scores.shape[1]))
    short = (0, count - score.shape[1])
    return (
        fill_up(score, short, value=-torch.inf),
        fill_up(place // size, short),
        fill_up(place % size, short),
    )


def _grouped(x: Float[Tensor, "... V"], k: int) -> bool:
    """Whether groups pay: on a CPU, for k far below their number."""
    return x.device.type == "cpu" and x.shape[-1] // BLOCKS >= 4 * k


def _maxima(x: Float[Tensor, "... V"]) -> Float[Tensor, "... n"]:
    """The largest of each group; columns from n * BLOCKS on are in none."""
    n = x.shape[-1] // BLOCKS
    return x[..., : n * BLOCKS].unflatten(-1, (BLOCKS, n)).amax(-2)


def _log_norm(
    logits: Float[Tensor, "B Q V"], banned: Float[Tensor, "B Q X"], top: Float[Tensor, "B Q"]
) -> Float[Tensor, "B Q"]:
    """log of the sum of e^logits and e^banned; `top` is the largest of both."""
    if logits.device.type != "cpu":
        return torch.logaddexp(logits.logsumexp(-1), banned.logsumexp(-1))
    # A pass less where no logit is large, which costs a CPU nothing to ask.
    small = bool(top.abs().amax() < SAFE)
    shift = (torch.zeros_like(top) if small else top).unsqueeze(-1)
    rows = max(1, CHUNK // logits.shape[-1])
    part = logits.new_empty(rows, logits.shape[-1])
    sums = []
    for some, by in zip(logits.flatten(0, 1).split(rows), shift.flatten(0, 1).split(rows), strict=True):
        here = part[: len(some)]
        torch.exp(some if small else torch.sub(some, by, out=here), out=here)
        sums.append(here.sum(-1))
    total = torch.cat(sums).view_as(top) + torch.exp(banned - shift).sum(-1)
    return total.log_().add_(shift.squeeze(-1))
