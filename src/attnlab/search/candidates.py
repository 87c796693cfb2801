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
    model's own, those that forced decoding gives. Overwrites `logits`, which may be of any type and layout;
    what is made of them is in float32 at least.

    The norm of a hypothesis and what it has so far are one number a row, so they are added to the maxima of
    its groups and to the few values that are looked at, not to the row.

    Returns:
        log-probability (-inf where fewer than `count` exist), slot of the hypothesis extended, token.
    """
    batch, _queries, size = logits.shape
    kind = torch.promote_types(logits.dtype, torch.float32)
    # One at a time: an index that is a list is copied to a GPU, and the host waits.
    each = [logits[..., unwanted] for unwanted in banned]
    kept = (torch.stack(each, -1) if each else logits[..., :0]).to(kind)
    for unwanted in banned:
        logits[..., unwanted] = -torch.inf
    if _grouped(logits, count):
        n = size // BLOCKS
        maxima, rest = _maxima(logits).to(kind), logits[..., n * BLOCKS :].to(kind)
        offset = total - _log_norm(logits, kept, torch.cat([maxima, rest, kept], -1).amax(-1))
        # As `largest`, but one list of groups a sentence, over all of its hypotheses.
        group = largest((maxima + offset.unsqueeze(-1)).flatten(1), count)[1]
        slots, first = (group // n).unsqueeze(-1), (group % n).unsqueeze(-1)
        columns = first + n * torch.arange(BLOCKS)
        # The dearest reads of all: each from another page of the logits.
        values = logits[torch.arange(batch)[:, None, None], slots, columns].to(kind)
        values += offset.gather(1, slots.flatten(1)).unsqueeze(-1)
        rest += offset.unsqueeze(-1)
        score, which = torch.cat([values.flatten(1), rest.flatten(1)], 1).topk(count)
        inside, beyond = which.clamp(max=count * BLOCKS - 1), which - count * BLOCKS
        slot = slots.flatten(1).gather(1, inside // BLOCKS)
        token = columns.flatten(1).gather(1, inside)
        over = size - n * BLOCKS
        if over:
            slot = torch.where(beyond < 0, slot, beyond // over)
            token = torch.where(beyond < 0, token, n * BLOCKS + beyond % over)
        return score, slot, token
    values = logits.to(kind)
    norm = _log_norm(values, kept, torch.cat([values, kept], -1).amax(-1))
    values = (values + (total - norm).unsqueeze(-1)).flatten(1)
    score, place = values.topk(min(count, values.shape[1]))
    short = (0, count - score.shape[1])
    slot, token = fill_up(place // size, short), fill_up(place % size, short)
    return fill_up(score, short, value=-torch.inf), slot, token


def _grouped(x: Float[Tensor, "... V"], k: int) -> bool:
    """Whether groups pay: on a CPU, for k far below their number."""
    return x.device.type == "cpu" and x.shape[-1] // BLOCKS >= 4 * k


def _maxima(x: Float[Tensor, "... V"]) -> Float[Tensor, "... n"]:
    """The largest of each group; columns from n * BLOCKS on are in none."""
    n = x.shape[-1] // BLOCKS
    if x.stride(-1) == 1:
        return x[..., : n * BLOCKS].unflatten(-1, (BLOCKS, n)).amax(-2)
    turned = x.flatten(0, -2).T  # the layout of a `Ready` product: reduced in the order of its memory
    best = turned[: n * BLOCKS].unflatten(0, (BLOCKS, n)).amax(0)
    return best.T.contiguous().unflatten(0, x.shape[:-1])


def _log_norm(
    logits: Float[Tensor, "B Q V"], banned: Float[Tensor, "B Q X"], top: Float[Tensor, "B Q"]
) -> Float[Tensor, "B Q"]:
    """log of the sum of e^logits and e^banned; `top` is the largest of both."""
    if logits.device.type != "cpu":
        return torch.logaddexp(logits.logsumexp(-1), banned.logsumexp(-1))
    # A pass less where no logit is large, which costs a CPU nothing to ask.
    small = bool(top.abs().amax() < SAFE)
    shift = (torch.zeros_like(top) if small else top).unsqueeze(-1)
    total = torch.exp(banned - shift).sum(-1).flatten()
    rows, by = logits.flatten(0, 1), shift.flatten(0, 1)
    axis = 0 if rows.stride(1) == 1 else 1  # along which a part is one piece of memory
    start = 0
    for part in rows.split(max(1, CHUNK // rows.shape[1 - axis]), axis):
        place = slice(start, start := start + len(part)) if axis == 0 else slice(None)
        part = part.to(by.dtype) if small else part - by[place]
        total[place] += torch.exp(part).sum(-1)
    return total.log_().view_as(top).add_(shift.squeeze(-1))
