"""The models and batches that are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from attnlab.attention import Additive, General, Global
from attnlab.data.batches import Batch
from attnlab.model import Combine, Encoder, InputFeeding, PostCombine, PostCombineFeeding, Seq2Seq

PAD, START, END = 0, 2, 3

SCORERS: dict[str, Callable[[int], Any]] = {
    "additive": lambda units: partial(Additive, units=units),
    "general": lambda units: General,
}
ORDERS = {
    "post_combine_feeding": PostCombineFeeding,
    "input_feeding": InputFeeding,
    "post_combine": PostCombine,
}


@dataclass(frozen=True)
class Size:
    """A model, and text like that which it is for."""

    name: str
    layers: int
    hidden: int
    embedding: int
    source_words: int
    target_words: int
    batch: int
    mean: float  # tokens of a sentence, the target's end mark not counted
    spread: float
    longest: int
    search_batch: int
    search_length: int
    batches: int = 24

    def model(self, scorer: str, order: str, device: torch.device, dropout: float = 0.2) -> Seq2Seq:
        """The cell of that scorer and order, its parameters always the same."""
        torch.manual_seed(1)
        made = Seq2Seq(
            self.source_words,
            self.target_words,
            encoder=partial(
                Encoder,
                hidden_size=self.hidden,
                cell="lstm",
                bidirectional=True,
                layers=self.layers,
                dropout=dropout,
            ),
            decoder=partial(ORDERS[order], hidden_size=self.hidden, layers=self.layers, dropout=dropout),
            readout=Combine,
            scorer=SCORERS[scorer](self.hidden),
            window=Global,
            hidden_size=self.hidden,
            embedding_size=self.embedding,
            dropout=dropout,
            start=START,
        )
        return made.to(device)

    def text(self, pinned: bool, seed: int = 1) -> list[Batch]:
        """Batches of pairs of like length, as the loader makes them, in random order."""
        random = np.random.default_rng(seed)
        count = self.batch * self.batches
        target = np.clip(random.normal(self.mean, self.spread, count).round(), 3, self.longest).astype(int)
        source = np.clip((target * random.normal(1, 0.15, count)).round(), 3, self.longest).astype(int)
        order = np.lexsort((source, target))
        made = []
        for rows in np.split(order, self.batches):
            batch = _batch(random, source[rows], target[rows] + 1, self.source_words, self.target_words)
            made.append(Batch(*(part.pin_memory() for part in batch)) if pinned else batch)
        return [made[place] for place in random.permutation(len(made))]


def _batch(
    random: np.random.Generator, source: np.ndarray, target: np.ndarray, words: int, target_words: int
) -> Batch:
    def padded(lengths: np.ndarray, size: int) -> torch.Tensor:
        ids = random.integers(4, size, (len(lengths), lengths.max()))
        return torch.from_numpy(np.where(np.arange(ids.shape[1]) < lengths[:, None], ids, PAD))

    ends = padded(target, target_words)
    ends[torch.arange(len(ends)), torch.from_numpy(target) - 1] = END
    return Batch(
        torch.arange(len(source)),
        padded(source, words),
        torch.from_numpy(source),
        ends,
        torch.from_numpy(target),
    )


REF = Size("ref-512", 1, 512, 256, 7855, 5917, 64, 12.5, 4.0, 40, 64, 25)
"""Multi30k's vocabularies and lengths; the configuration that the peers are measured in."""
GNMT = Size("4 x 1024", 4, 1024, 1024, 32000, 32000, 128, 27.0, 11.0, 50, 512, 30, batches=12)
"""The scale of GNMT: WMT's subword vocabulary and lengths of 50 at most."""
TINY = Size("tiny", 1, 8, 6, 20, 20, 4, 4.0, 1.0, 6, 3, 4, batches=2)


def tiny(size: Size) -> Size:
    """The same in name and layers, in the smallest sizes."""
    return replace(TINY, name=size.name, layers=min(2, size.layers))
