"""Where the decoder stands between two steps, and how search moves it about."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

ENOUGH = 32
"""Hypotheses from which on siblings pay: a product with fewer rows waits for its weights in any case."""
MULTIPLE = 32
"""Half precision gets families in so many, or a multiple: oneDNN compiles a product for each new number."""


class Siblings(NamedTuple):
    """Hypotheses that go on from the same one have the same state: what is made of it is made once.

    Rows are the hypotheses of all sentences, [B * Q].

    Attributes:
        first: a row of every family; the first row again where the number was rounded up.
        family: of every row, its place in `first`.
    """

    first: Int[Tensor, " F"]
    family: Int[Tensor, " R"]

    @classmethod
    def of(cls, parents: Int[Tensor, " R"], kind: torch.dtype) -> "Siblings | None":
        """From each row's parent and the type of the states; None where it would not pay.

        A GPU's host would have to wait for their number.
        """
        rows = len(parents)
        if parents.device.type != "cpu" or rows < ENOUGH:
            return None
        distinct, family = torch.unique(parents, return_inverse=True)
        count = len(distinct)
        if kind.itemsize < 4:
            count += -count % MULTIPLE
        if count * 4 > rows * 3:  # the answers are copied to every row
            return None
        first = parents.new_zeros(count).scatter_(0, family, torch.arange(rows))
        return cls(first, family)

    def once(self, make: Callable[..., Tensor], *values: Float[Tensor, "R X"]) -> Float[Tensor, "R Y"]:
        """`make(*values)`, which answers row by row, made for one of each family."""
        return make(*(each.index_select(0, self.first) for each in values)).index_select(0, self.family)


class Words(NamedTuple):
    """Ids [B, Q] and what was embedded of them.

    Whoever gets another tensor for `embedded` than this one knows that it is not the words' alone any more.
    """

    ids: Int[Tensor, "B Q"]
    embedded: Float[Tensor, "B Q E"]


class DecoderState(NamedTuple):
    """Where Q hypotheses of each sentence stand.

    Attributes:
        hidden: h (and c) of all layers, each [L, B, Q, H].
        fed: r_{t-1}, where the order feeds it back.
        step: how many steps are done.
        siblings: which hypotheses share `hidden` and `fed`, where it is known and worth knowing.
        words: what each of them puts in at the step to come, where the embedding is the word's alone.
    """

    hidden: tuple[Float[Tensor, "L B Q H"], ...]
    fed: Float[Tensor, "B Q R"] | None = None
    step: int = 0
    siblings: Siblings | None = None
    words: Words | None = None

    @property
    def top(self) -> Float[Tensor, "B Q H"]:
        """s, the top layer's h: the state that asks."""
        return self.hidden[0][-1]

    def expand(self, hypotheses: int) -> "DecoderState":
        """From one hypothesis a sentence to k copies."""
        hidden = tuple(part.expand(-1, -1, hypotheses, -1) for part in self.hidden)
        fed = None if self.fed is None else self.fed.expand(-1, hypotheses, -1)
        sentences = torch.arange(self.top.shape[0], device=self.top.device)
        siblings = Siblings.of(sentences.repeat_interleave(hypotheses), self.top.dtype)
        return DecoderState(hidden, fed, self.step, siblings)

    def select(self, rows: Int[Tensor, " R"]) -> "DecoderState":
        """Some of the sentences, in the order of `rows`."""
        hidden = tuple(part.index_select(1, rows) for part in self.hidden)
        fed = None if self.fed is None else self.fed.index_select(0, rows)
        return DecoderState(hidden, fed, self.step)

    def reorder(self, index: Int[Tensor, "B Q"]) -> "DecoderState":
        """Within each sentence the hypotheses named by `index`."""
        held = self.top.shape[1]
        rows = (index + held * torch.arange(len(index), device=index.device).unsqueeze(-1)).flatten()

        def taken(part: Tensor) -> Tensor:  # [*, B, Q, X]: whole rows, one index for all parts
            return part.flatten(-3, -2).index_select(-2, rows).unflatten(-2, index.shape)

        hidden = tuple(taken(part) for part in self.hidden)
        fed = None if self.fed is None else taken(self.fed)
        return DecoderState(hidden, fed, self.step, Siblings.of(rows, self.top.dtype))
