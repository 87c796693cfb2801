"""One sentence through a model, step after step as search does it, and the numbers of each step.

Scores, weights and contexts are those that the model computes: they are taken where the attention is called
and where it calls its scorer, so any decoder order and any scorer or window of one's own is read alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from attnlab.attention import Attention, LocalP, Memory, Positions, Window
from attnlab.attention.attention import masked_softmax
from attnlab.explain import probes
from attnlab.explain.counted import entropy
from attnlab.explain.leading import leaders
from attnlab.explain.units import units

if TYPE_CHECKING:
    from attnlab.loaded import Loaded

Tree = dict[str, Any]
TOP = 4
"""Weights whose slopes are shown."""


class Followed(NamedTuple):
    """What was found on the way.

    Attributes:
        steps: of each step its numbers.
        memory: what was asked.
        query: the decoder state that asked in the middle, [1, 1, H]; None where none asks.
    """

    steps: list[Tree]
    memory: Memory
    query: Tensor | None


def follow(run: Loaded, ids: list[int], written: list[int]) -> Followed:
    """Leads a model through a translation.

    Args:
        run: the loaded run.
        ids: of the source.
        written: what each step emits, the end mark among them.
    """
    model, device = run.model, run.device
    with torch.no_grad():
        memory, state = model.encode(
            torch.tensor([ids], device=device), torch.tensor([len(ids)], device=device)
        )
    attention: Attention | None = model.decoder.attention
    queries: list[Tensor] = []
    steps: list[Tree] = []
    token = model.start
    for emitted in written:
        with torch.no_grad(), _heard(attention) as heard:
            readout, attended, state = model.step(torch.tensor([[token]], device=device), state, memory)
            logits = model.logits(readout).flatten().double()
            chance = (logits[emitted] - logits.logsumexp(0)).exp()
        step: Tree = {"norm": float(attended.context.norm()), "chance": float(chance)}
        if attention is not None:
            weights = attended.dense(len(ids)).flatten().double().cpu()
            context = attended.context.flatten().double().cpu()
            query, _, at = heard["asked"]
            step |= _asked(attention, query, memory, at, heard["scores"].flatten(), weights)
            step |= _placed(weights, context, memory.states[0].double().cpu())
            queries.append(query)
        steps.append(step)
        token = emitted
    if not all(step.get("units") for step in steps):
        for step in steps:  # a picture has them at all steps or at none
            step["units"] = None
    return Followed(steps, memory, queries[len(queries) // 2] if queries else None)


@contextmanager
def _heard(attention: Attention | None) -> Iterator[Tree]:
    """The latest call while the block runs: `asked` (s, memory, t) and `scores`.

    A block is one step of the model: the probes, which ask the same attention, are not heard.
    """
    found: Tree = {}
    hooks = []
    if attention is not None:
        hooks = [
            attention.register_forward_pre_hook(lambda _, given: found.update(asked=given)),
            attention.scorer.register_forward_hook(lambda _, given, scores: found.update(scores=scores)),
        ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def _asked(
    attention: Attention, query: Tensor, memory: Memory, at: Tensor, raw: Tensor, weights: Tensor
) -> Tree:
    """Scores of the places inside, the window, the slopes, and the parts of the heaviest word's score."""
    window, size = attention.window, len(weights)
    with torch.no_grad():
        where = window.positions(query, memory.lengths, at)
        if where is None:
            places = torch.arange(1, size + 1, device=raw.device)
            inside = places <= memory.reachable
        else:
            places = where.places.flatten()
            inside = where.inside.flatten() & (places <= memory.reachable)
        entering = window.on_scores(raw[None, None], where)
        inside = inside & ~entering.flatten().isneginf()  # by -inf a window hides a place
        share = masked_softmax(entering, inside[None, None]).flatten()
        places = (places - 1).clamp(0, size - 1)
        own, e, a = (row[inside].tolist() for row in (raw, entering.flatten(), share))
        found = _scores(own, e, a, places[inside].tolist(), size)
        best = int(weights.argmax())
        score = found.pop("of").get(best, 0.0)
        found["units"] = units(attention.scorer, query.flatten(), memory.keys[0, best], score)
        found |= {"whole": score, "entering": found["e"][best], **leaders(found["e"])}
        found["centre"] = None if where is None else float(where.centre)
        if where is not None and isinstance(window, LocalP):
            found["gauss"] = _gauss(where, window.gaussian(where), size)
        found["corners"] = probes.corners(attention, query, memory, at, best)
    found["slopes"] = _slopes(window, raw[None, None], where, inside[None, None], places, weights)
    return found


def _scores(raw: list[float], entering: list[float], share: list[float], index: list[int], size: int) -> Tree:
    """A number a source position, None (or 0, where it is drawn) for those that have no score."""
    found: Tree = {"raw": [None] * size, "e": [None] * size, "share": [None] * size}
    found["bright"] = [0.0] * size
    best = max(entering, default=0.0)
    for place, own, score, part in zip(index, raw, entering, share, strict=True):
        found["raw"][place], found["e"][place], found["share"][place] = own, score, part
        found["bright"][place] = math.exp(score - best)
    return found | {
        "best": best if index else None,
        "total": sum(found["bright"]),
        "of": dict(zip(index, raw, strict=True)),
        "scored": len(index),
        "first": index[0] + 1 if index else 0,
        "last": index[-1] + 1 if index else 0,
    }


def _gauss(where: Positions, values: Tensor, size: int) -> list[float]:
    """The Gaussian at each source position, 0 outside the window."""
    row = [0.0] * size
    for place, value in zip(where.places.flatten().tolist(), values.flatten().tolist(), strict=True):
        if 1 <= place <= size:
            row[place - 1] = value
    return row


def _slopes(
    window: Window, raw: Tensor, where: Positions | None, inside: Tensor, places: Tensor, weights: Tensor
) -> Tree:
    """By how much the largest weights change with the scores of the same words, through the whole window."""
    order = sorted(range(len(weights)), key=lambda place: -float(weights[place]))[:TOP]
    at = {place: k for k, place in enumerate(places.tolist()) if bool(inside.flatten()[k])}
    rows: list[list[float | None]] = [[None] * TOP for _ in range(TOP)]
    with torch.enable_grad():
        scores = raw.detach().clone().requires_grad_()
        found = window.on_weights(masked_softmax(window.on_scores(scores, where), inside), where).flatten()
        for i, place in enumerate(order):
            if place not in at or not found.requires_grad:
                continue
            slope = torch.autograd.grad(found[at[place]], scores, retain_graph=True, allow_unused=True)[0]
            for j, other in enumerate(order):
                if other in at:
                    rows[i][j] = 0.0 if slope is None else float(slope.flatten()[at[other]])
    return {"of": [*order, *[None] * (TOP - len(order))], "rows": rows}


def _placed(weights: Tensor, context: Tensor, states: Tensor) -> Tree:
    """The weights, how they spread, and where the context lies."""
    return {
        "a": weights.tolist(),
        "sum": float(weights.sum()),
        "entropy": entropy(weights),
        "cosine": nn.functional.cosine_similarity(context, states, dim=-1).tolist(),
        "distance": (context - states).abs().mean(-1).tolist(),
    }
