"""`val/bleu`: what a validation decodes and how it is scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attnlab import ranks
from attnlab.loggers.base import Sample
from attnlab.samples import chosen

if TYPE_CHECKING:
    from attnlab.data import Batch


class Validation:
    """`val/bleu`: a fixed sample of the validation set, decoded and scored with the final scorer's BLEU.

    Args:
        search: called as `search(model, source, lengths, end=id)`.
        tokenizer: the target side's.
        references: the raw target text of the whole set, in its order.
        bleu: `(hypotheses, references) -> score` on the scale 0 to 100.
        sentences: how many are decoded, spread evenly over the set; None is all of them.
        sources: the raw source text of the whole set, where its sentences may be shown.
    """

    def __init__(
        self,
        search: Callable[..., list[list[Any]]],
        tokenizer: Any,
        references: Sequence[str],
        bleu: Callable[[list[str], list[str]], float],
        sentences: int | None = None,
        sources: Sequence[str] | None = None,
    ):
        n = len(references)
        k = n if sentences is None else min(sentences, n)
        self.sample = frozenset(i * n // k for i in range(k)) if k else frozenset()
        self.total, self.references = n, references
        self._search, self._tokenizer, self._bleu = search, tokenizer, bleu
        self._hypotheses: list[tuple[int, str]] = []
        self._sources, self._found = sources, dict[int, str]()

    def start(self) -> None:
        """Forgets the hypotheses of the last validation."""
        self._hypotheses = []

    def add(self, model: Any, batch: Batch) -> None:
        """Decodes the batch's rows that are in the sample."""
        rows = [row for row, index in enumerate(batch.index.tolist()) if index in self.sample]
        if not rows:
            return
        lengths = batch.source_lengths[rows]
        source = batch.source[rows, : int(lengths.max())]
        found = self._search(model, source, lengths, end=self._tokenizer.end)
        for row, best in zip(rows, found, strict=True):
            text = self._tokenizer.decode(best[0].tokens)
            self._hypotheses.append((int(batch.index[row]), text))

    def finish(self) -> float:
        """BLEU over the ranks' hypotheses, each sentence once, in the set's order; the same on all ranks."""
        self._found = found = dict(ranks.gathered(self._hypotheses))
        order = sorted(found)
        return self._bleu([found[i] for i in order], [self.references[i] for i in order])

    def shown(self, count: int) -> list[Sample]:
        """At most `count` translations of the last validation; none where the text may not be shown.

        Which sentences they are depends on the sources alone: the same in every validation and every run.
        """
        if self._sources is None:
            return []
        order = sorted(self._found)
        places = [order[i] for i in chosen([self._sources[i] for i in order], count)]
        return [Sample(i, self._sources[i], self._found[i], self.references[i]) for i in places]
