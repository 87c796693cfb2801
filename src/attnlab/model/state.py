"""Where the decoder stands between two steps, and how search moves it about."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class DecoderState(NamedTuple):
    """Where Q hypotheses of each sentence stand.

    Attributes:
        hidden: h (and c) of all layers, each [L, B, Q, H].
        fed: r_{t-1}, where the order feeds it back.
        step: how many steps are done.
    """

    hidden: tuple[Float[Tensor, "L B Q H"], ...]
    fed: Float[Tensor, "B Q R"] | None = None
    step: int = 0

    @property
    def top(self) -> Float[Tensor, "B Q H"]:
        """s, the top layer's h: the state that asks."""
        return self.hidden[0][-1]

    def expand(self, hypotheses: int) -> "DecoderState":
        """From one hypothesis a sentence to k copies."""
        hidden = tuple(part.expand(-1, -1, hypotheses, -1) for part in self.hidden)
        fed = None if self.fed is None else self.fed.expand(-1, hypotheses, -1)
        return DecoderState(hidden, fed, self.step)

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
        return DecoderState(hidden, None if self.fed is None else taken(self.fed), self.step)
