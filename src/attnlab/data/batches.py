"""Which sentences go into which batch on which rank, and the batch itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler


class Batch(NamedTuple):
    """Padded sentence pairs, int64.

    Attributes:
        index: [B] the pair's row in its split.
        source: [B, S].
        source_lengths: [B]; 0 for a blank line of a test set.
        target: [B, T], each row closed by the end mark; no start mark.
        target_lengths: [B], the end mark counted.
    """

    index: Tensor  # type: ignore[assignment]  # of the field's name tuple has a method
    source: Tensor
    source_lengths: Tensor
    target: Tensor
    target_lengths: Tensor

    def to(self, device: torch.device | str) -> Batch:
        """The batch where a model is; rows and lengths stay on the host, which reads them.

        Lightning asks for this. From pinned memory, which the loader gives for a GPU, nothing waits.
        """
        place = torch.device(device)
        moved = {
            name: getattr(self, name).to(place, non_blocking=place.type == "cuda")
            for name in ("source", "target")
        }
        return self._replace(**moved)


class Joined(NamedTuple):
    """Pairs with the ids of each side in one array, one sentence after the other.

    Attributes:
        index: [B] the pair's row in its split.
        source, target: [sum of the lengths] ids, the target's with the end mark.
        source_lengths, target_lengths: [B].
    """

    index: np.ndarray  # type: ignore[assignment]  # as in `Batch`
    source: np.ndarray
    source_lengths: np.ndarray
    target: np.ndarray
    target_lengths: np.ndarray


class Collate:
    """Pads pairs of id arrays into a `Batch`; picklable, for workers of any start method."""

    def __init__(self, source_pad: int, target_pad: int) -> None:
        self.source_pad, self.target_pad = source_pad, target_pad

    def __call__(self, pairs: Joined | Sequence[tuple[int, np.ndarray, np.ndarray]]) -> Batch:
        """The batch of joined pairs, or of a list of `(row, source ids, target ids with end mark)`."""
        if not isinstance(pairs, Joined):
            index, source, target = zip(*pairs, strict=True)
            pairs = Joined(np.array(index), *_joined(source), *_joined(target))
        return Batch(
            torch.from_numpy(pairs.index),
            *_padded(pairs.source, pairs.source_lengths, self.source_pad),
            *_padded(pairs.target, pairs.target_lengths, self.target_pad),
        )


def _joined(rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate(rows), np.array([len(row) for row in rows])


def _padded(ids: np.ndarray, lengths: np.ndarray, pad: int) -> tuple[Tensor, Tensor]:
    """[B, longest] and [B]; at least one column, so that a batch of blank lines has a shape."""
    padded = np.full((len(lengths), max(1, int(lengths.max()))), pad, dtype=np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = ids
    return torch.from_numpy(padded), torch.from_numpy(lengths)


def in_order(source: np.ndarray, target: np.ndarray, seed: list[int] | None) -> np.ndarray:
    """The pairs from short to long, so that neighbours pad each other little.

    Training goes by the target first, since the decoder is most of the work, and by the source among targets
    of one length; search waits for the source, so evaluation goes by the source first. Pairs of equal lengths
    come in random order where there is a seed.
    """
    if seed is None:
        return np.lexsort((target, source))
    order = np.random.default_rng(seed).permutation(len(source))
    return order[np.lexsort((source[order], target[order]))]


def cut(sides: np.ndarray, tokens: int | None, sentences: int | None) -> list[np.ndarray]:
    """Places 0..n-1 in their order, cut into batches.

    Args:
        sides: [n] the longer side of each pair, end mark included.
        tokens: most pairs x longest side of a batch. A pair that is longer by itself is a batch of its own.
        sentences: most pairs of a batch.
    """
    batches: list[np.ndarray] = []
    first = longest = 0
    for place, side in enumerate(sides.tolist()):
        count, longest = place - first + 1, max(longest, side)
        if count > 1 and ((tokens and count * longest > tokens) or (sentences and count > sentences)):
            batches.append(np.arange(first, place))
            first, longest = place, side
    if len(sides):
        batches.append(np.arange(first, len(sides)))
    return batches


def level(batches: list[np.ndarray], ranks: int) -> list[np.ndarray]:
    """As many batches as `ranks` divides, by halving the largest: nothing is repeated, nothing left out.

    Where every batch holds one pair already, what is too much remains; `BatchSampler` deals with it.
    """
    batches = list(batches)
    for _ in range(-len(batches) % ranks):
        largest = max(range(len(batches)), key=lambda i: len(batches[i]), default=None)
        if largest is None or len(batches[largest]) < 2:
            break
        half = len(batches[largest]) // 2
        batches[largest : largest + 1] = [batches[largest][:half], batches[largest][half:]]
    return batches


class BatchSampler(Sampler[list[int]]):
    """One rank's batches of places in a split.

    All ranks compute the same plan, from the lengths, the seed and the epoch alone, and take every
    `ranks`-th batch of it, so that the batches of one step are of about one length. Where batches are cut
    depends on the lengths alone: each epoch has the same number. Training orders pairs of equal length and
    the batches anew each epoch; evaluation goes from the longest to the shortest, each pair once.

    Args:
        source, target: [n] lengths of the pairs as they are fed.
        tokens, sentences: see `cut`; on each rank.
        ranks, rank: the processes, and which of them this is.
        seed: of the order; None is evaluation.
    """

    def __init__(
        self,
        source: np.ndarray,
        target: np.ndarray,
        *,
        tokens: int | None,
        sentences: int | None,
        ranks: int = 1,
        rank: int = 0,
        seed: int | None = None,
    ) -> None:
        self.source, self.target = source, target
        self.sides = np.maximum(source, target)
        self.ranks, self.rank, self.seed = ranks, rank, seed
        self.tokens = tokens
        self.epoch = 0
        self.skip = 0  # batches of the next epoch that are done already: where a resumed run goes on
        self.sampler = self  # Lightning calls set_epoch on `batch_sampler.sampler`
        order = in_order(source, target, None if seed is None else [seed])
        batches = level(cut(self.sides[order], tokens, sentences), ranks)
        extra = len(batches) % ranks if seed is not None else 0
        # Training must give each rank the same number of steps. What remains are single pairs.
        self.dropped = sum(len(batch) for batch in batches[:extra])
        self.batches = batches[extra:]

    @property
    def oversized(self) -> int:
        """Pairs longer than the budget, each a batch of its own."""
        return int((self.sides > self.tokens).sum()) if self.tokens else 0

    def plan(self, epoch: int) -> list[list[int]]:
        """The batches of all ranks in the epoch; batch b belongs to rank b modulo `ranks`."""
        if self.seed is None:
            order = in_order(self.source, self.target, None)
            return [order[batch].tolist() for batch in reversed(self.batches)]
        order = in_order(self.source, self.target, [self.seed, epoch])
        random = np.random.default_rng([self.seed, epoch, 1])
        steps = random.permutation(len(self.batches) // self.ranks)
        chosen = [self.batches[step * self.ranks + rank] for step in steps for rank in range(self.ranks)]
        return [order[batch].tolist() for batch in chosen]

    def __iter__(self) -> Iterator[list[int]]:
        skip, self.skip = self.skip, 0
        yield from self.plan(self.epoch)[self.rank :: self.ranks][skip:]

    def __len__(self) -> int:
        return len(range(self.rank, len(self.batches), self.ranks))

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning before each epoch."""
        self.epoch = epoch
