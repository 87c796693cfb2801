"""Decodes a test set by search, and its references by force: each sentence once, by one rank.

Everything here runs in the parameters' own precision, without autocast, whatever the training ran in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from attnlab import ranks
from attnlab.search import Search, forced, ready


@dataclass(frozen=True)
class Sentence:
    """One decoded sentence of a test set.

    Attributes:
        index: its place in the set, from 0.
        source: ids of its source pieces.
        tokens: ids of the best hypothesis, without end mark.
        weights: float32 [rows, S]: a row an emitted piece, the end mark's last where it finished.
        finished: False where the hypothesis was cut at the length limit.
        reference: ids of the reference, without end mark.
        loss: -log p of the reference in nats, the end mark included.
        forced: float32 [T+1, S]: the weights while the reference was read, the end mark's last; None
            where the corpus has no gold links to compare them with.
    """

    index: int
    source: list[int]
    tokens: list[int]
    weights: np.ndarray
    finished: bool
    reference: list[int]
    loss: float
    forced: np.ndarray | None


def decode(
    model: Any,
    batches: Iterable[Any],
    search: Search,
    *,
    end: int,
    device: torch.device,
    gold: bool,
    tell: Callable[[int], None] = lambda more: None,
) -> list[Sentence] | None:
    """Decodes a test set, and its references by force.

    Args:
        model: the `Seq2Seq`.
        batches: this rank's share.
        search: how to decode.
        end: the target side's end mark.
        device: where the model is.
        gold: keep the forced weights, to compare them with gold links.
        tell: is told how many sentences a batch has added.

    Returns:
        All sentences in the set's order on rank 0, None on the other ranks.
    """
    found: list[Sentence] = []
    with torch.inference_mode(), ready(model):
        for batch in batches:
            there = batch.to(device)
            best = search(model, there.source, there.source_lengths, end=end)
            read = forced(model, there.source, there.source_lengths, there.target)
            losses = (-read.log_probs.double()).sum(1).tolist()
            weights = read.weights.float().cpu().numpy() if gold else None
            source, target = batch.source.tolist(), batch.target.tolist()
            sizes = zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
            for row, (s, t) in enumerate(sizes):
                first = best[row][0]
                found.append(
                    Sentence(
                        index=int(batch.index[row]),
                        source=source[row][:s],
                        tokens=list(first.tokens),
                        weights=first.weights.float().cpu().numpy(),
                        finished=first.finished,
                        reference=target[row][: t - 1],
                        loss=losses[row],
                        forced=None if weights is None else weights[row, :t, :s].copy(),
                    )
                )
            tell(len(source))
    everything = ranks.collected(found)
    if everything is None:
        return None
    everything.sort(key=lambda sentence: sentence.index)
    indices = [sentence.index for sentence in everything]
    if indices != list(
        range(len(indices))
    ):  # a sampler that repeats or drops is a wrong score, not a warning
        raise RuntimeError(
            f"the loaders of {ranks.world()} ranks gave {len(indices)} rows, not each one once"
        )
    return everything
