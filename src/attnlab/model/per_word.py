"""What a search makes of a word alone, made when the word is first met."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnlab.attention.kind import product_kind
from attnlab.model.state import MULTIPLE

MOST = 1 << 26
"""Bytes kept, at most: 8,192 words of 4 x 512 gates in float32. A word too many, and all are forgotten."""


class PerWord:
    """Rows by word, kept from step to step and from batch to batch.

    Each hypothesis brings a word to each step, and nearly all came before: their rows are looked up and not
    multiplied. For weights that do not change meanwhile.

    Args:
        words: V, how many there are.
        most: bytes kept; what one call asks for is kept in any case.

    Attributes:
        count: how many words are known.
    """

    def __init__(self, words: int, most: int = MOST) -> None:
        self.count = 0
        self._most = most
        self._rows: Tensor | None = None
        self._kind: torch.dtype | None = None
        with torch.inference_mode(False):  # what is made in inference mode can be changed nowhere else
            self._place = torch.full((words,), -1)

    @classmethod
    def of(cls, embedding: Float[Tensor, "V E"]) -> "PerWord | None":
        """For the words of an embedding; None on a GPU, whose host would wait for which are new."""
        return cls(len(embedding)) if embedding.device.type == "cpu" else None

    @torch.no_grad()
    def __call__(
        self,
        words: Int[Tensor, "B Q"],
        values: Float[Tensor, "B Q X"],
        make: Callable[[Float[Tensor, "N X"]], Float[Tensor, "N Y"]],
    ) -> Float[Tensor, "B Q Y"]:
        """`make(values)`, for which `make` sees those of new words.

        Args:
            words: which words.
            values: what belongs to them; equal for equal words.
            make: answers row by row.
        """
        kind, ids = product_kind(values), words.flatten()
        if not len(ids):
            return make(values)
        if kind != self._kind:
            self._forget(kind)
        places = self._place.index_select(0, ids)
        new = (places < 0).nonzero().squeeze(1)
        if len(new):
            self._meet(ids, new, values.flatten(0, 1), make)
            places = self._place.index_select(0, ids)
        assert self._rows is not None
        return self._rows.index_select(0, places).unflatten(0, words.shape)

    def _meet(
        self,
        ids: Int[Tensor, " R"],
        new: Int[Tensor, " N"],
        values: Float[Tensor, "R X"],
        make: Callable[[Tensor], Tensor],
    ) -> None:
        """Makes the rows of the words `ids[new]`, each once."""
        distinct, which = torch.unique(ids[new], return_inverse=True)
        end = self.count + len(distinct)
        if self._rows is not None and end * self._rows[0].nbytes > self._most:
            self._forget(self._kind)
            self._meet(ids, torch.arange(len(ids)), values, make)
            return
        first = new.new_zeros(len(distinct)).scatter_(0, which, new)
        if product_kind(values).itemsize < 4:
            first = torch.cat((first, first[:1].expand(-len(first) % MULTIPLE)))
        made = make(values.index_select(0, first))[: len(distinct)]
        if self._rows is None or end > len(self._rows):
            self._make_room(end, made)
        assert self._rows is not None
        self._rows[self.count : end] = made
        self._place[distinct] = torch.arange(self.count, end)
        self.count = end

    def _make_room(self, needed: int, like: Tensor) -> None:
        """Room for twice as many rows as are needed, or for what may be kept."""
        size = max(needed, min(2 * needed, self._most // like[0].nbytes))
        with torch.inference_mode(False):
            rows = torch.empty(size, like.shape[1], dtype=like.dtype)
        if self._rows is not None:
            rows[: self.count] = self._rows[: self.count]
        self._rows = rows

    def _forget(self, kind: torch.dtype | None) -> None:
        """Back to no words, for products of `kind`."""
        self._place.fill_(-1)
        self._rows, self.count, self._kind = None, 0, kind
