"""The useful work of a training, without padding, and how much padding each way of batching adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from peers.records import Setting


@dataclass(frozen=True)
class Lengths:
    """Of the pairs of a text: source words, and target words with the end mark; [n] each."""

    source: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> Lengths:
        """Counted in lines of words."""
        return cls(np.array([len(line) for line in source]), np.array([len(line) + 1 for line in target]))


FORMULA = """FLOPs a target token = 6 x the sum of the terms. A term is a number of multiply-adds of the
forward pass, two FLOPs each; the backward pass takes each product twice more, for its input and its weights.
With s source words, p (query, key) pairs and b sentences a target token, none of them padding. Activations,
softmax, dropout, loss and optimiser are not counted.

    encoder      s x 2 x 4 (K/2) (E + K/2)         two directions, four gates
    bridge       b x 2 x K H                       first h and c of the decoder
    decoder      4 H (E + H [+ H with feeding])    K for H where the context is fed
    keys         s x K A                           once a source word; A = U for additive, H for general
    query        H U                               additive alone
    scores       p x A
    context      p x K
    readout      (H + K) H
    vocabulary   H V"""


BUCKET = 4096
BATCHING: dict[str, Callable[[Lengths], tuple[int, list[np.ndarray]]]] = {
    "at random": lambda lengths: (0, []),
    "4,096 pairs by source": lambda lengths: (BUCKET, [lengths.target, lengths.source]),
    "all pairs by source": lambda lengths: (len(lengths.source), [lengths.target, lengths.source]),
    "all pairs by target": lambda lengths: (len(lengths.source), [lengths.source, lengths.target]),
}
"""How pairs meet in a batch: within how many they are sorted, and by what, the last key first."""


def products(setting: Setting, lengths: Lengths, vocabulary: int) -> dict[str, float]:
    """The terms of `FORMULA`: products of the forward pass, a target token.

    Args:
        setting: the model; K = H = A = U = `hidden`.
        lengths: of the training pairs.
        vocabulary: V, target words with the marks.
    """
    tokens = float(lengths.target.sum())
    s = float(lengths.source.sum()) / tokens
    p = float((lengths.source * lengths.target).sum()) / tokens
    b = len(lengths.target) / tokens
    hidden, embedding = setting.hidden, setting.embedding
    way = hidden / 2
    found = {
        "encoder": s * 2 * 4 * way * (embedding + way),
        "bridge": b * 2 * hidden * hidden,
        "decoder": 4 * hidden * (embedding + hidden + (hidden if setting.feeds else 0)),
        "keys": s * hidden * hidden,
        "query": float(hidden * hidden) if setting.scorer == "additive" else 0.0,
        "scores": p * hidden,
        "context": p * hidden,
        "readout": 2 * hidden * hidden,
        "vocabulary": hidden * vocabulary,
    }
    return {name: float(value) for name, value in found.items()}


def flops(setting: Setting, lengths: Lengths, vocabulary: int) -> float:
    """FLOPs a target token, forward and backward."""
    return 6 * sum(products(setting, lengths, vocabulary).values())


def padding(lengths: Lengths, batching: str, sentences: int, seed: int = 1) -> tuple[float, float]:
    """Shares of source and of target positions that are padding.

    Args:
        lengths: of the pairs.
        batching: one of `BATCHING`.
        sentences: pairs a batch.
        seed: of the order.

    Raises:
        KeyError: another batching.
    """
    within, keys = BATCHING[batching](lengths)
    n = len(lengths.source)
    order = np.random.default_rng(seed).permutation(n)
    parts = np.split(order, range(within, n, within)) if within else []
    order = (
        np.concatenate([part[np.lexsort([key[part] for key in keys])] for part in parts]) if keys else order
    )
    batches = np.split(order, range(sentences, n, sentences))
    source, target = (
        1 - float(each.sum()) / sum(len(batch) * int(each[batch].max()) for batch in batches)
        for each in (lengths.source, lengths.target)
    )
    return source, target
