"""A stack of recurrent layers that can be run over a whole target at once or one step at a time.

Both ways use the parameters of one torch module and give the same states; `cells.py` has the equations.
What else joins the input (a context, a readout) has weights of its own, `feed`, so that those that meet the
embedding are the same in every decoder order: W_ih [y; c] = W_ih y + feed c. The embedding's share of the
gates is computed for all steps in one product.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnlab.attention.gathering import Gathered
from attnlab.model.cells import gru, lstm
from attnlab.model.dropout import Dropout
from attnlab.model.per_word import PerWord
from attnlab.model.state import Siblings, Words

CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}
Hidden = tuple[Float[Tensor, "L B H"], ...]


def cell_of(name: str) -> type[nn.LSTM] | type[nn.GRU]:
    """The torch module of a cell.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in CELLS:
        raise ValueError(f"cell={name}: encoder.cell and decoder.cell take {', '.join(CELLS)}")
    return CELLS[name]


class Recurrence(nn.Module):
    """L layers of LSTM or GRU.

    Args:
        cell: `lstm` (state h and c) or `gru` (state h).
        input_size: E, size of the embedding.
        hidden_size: H.
        layers: L.
        feed_size: size of what joins the bottom layer's input at each step; 0 for nothing.
        dropout: between the layers, in training.
    """

    def __init__(
        self, cell: str, input_size: int, hidden_size: int, layers: int, feed_size: int, dropout: float
    ) -> None:
        super().__init__()
        rnn: Any = cell_of(cell)(  # its weights are attributes that torch does not declare
            input_size, hidden_size, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0
        )
        self.rnn: Any = rnn
        self.hidden_size = hidden_size
        self.between = Dropout(dropout)
        self._joined: Tensor | None = None
        self._per_word: PerWord | None = None
        gates = rnn.weight_ih_l0.shape[0]
        self.feed = nn.Linear(feed_size, gates, bias=False) if feed_size else None

    @property
    def state_parts(self) -> int:
        """How many tensors make a state: 2 for LSTM (h, c), 1 for GRU (h)."""
        return 2 if isinstance(self.rnn, nn.LSTM) else 1

    def run(self, embedded: Float[Tensor, "B T E"], hidden: Hidden) -> tuple[Float[Tensor, "B T H"], Hidden]:
        """All steps in one library call; only where nothing is fed."""
        if len(hidden) == 1:
            states, h = self.rnn(embedded, hidden[0].contiguous())
            return states, (h,)
        return self.rnn(embedded, (hidden[0].contiguous(), hidden[1].contiguous()))

    def project(self, embedded: Float[Tensor, "B T E"], words: Words | None = None) -> Float[Tensor, "B T G"]:
        """The embedding's share of the bottom layer's gates, for all steps.

        `words` says of which words it is: within a loop that keeps them, a product is made for new ones
        alone. Not where a gradient is wanted.
        """
        below = partial(self._below, layer=0)
        known = words is not None and words.embedded is embedded and not torch.is_grad_enabled()
        if self._per_word is None or words is None or not known:
            return below(embedded)
        return self._per_word(words.ids, embedded, below)

    def step(
        self,
        gates: Float[Tensor, "B G"],
        fed: Float[Tensor, "B F"] | None,
        hidden: Hidden,
        siblings: Siblings | None = None,
    ) -> Hidden:
        """One step of all layers from the projected embedding and what is fed beside it.

        `siblings` have equal states and are fed alike: their recurrent products are made once.
        """
        layers: list[Hidden] = []
        for layer in range(self.rnn.num_layers):
            if layer > 0:
                below = self.between(layers[-1][0])
                gates = self._below(below, layer)
            h, *c = (part[layer] for part in hidden)
            recurrent, *parts = self._recurrent(h, fed if layer == 0 else None, layer, siblings)
            if c:
                layers.append(lstm(*c, gates, *parts, recurrent))
            else:
                layers.append((gru(h, recurrent, gates, *parts),))
        # a view where there is one layer: stacking copies
        return tuple(
            torch.stack(part) if len(part) > 1 else part[0].unsqueeze(0) for part in zip(*layers, strict=True)
        )

    def _recurrent(
        self,
        h: Float[Tensor, "B H"],
        fed: Float[Tensor, "B F"] | None,
        layer: int,
        siblings: Siblings | None,
    ) -> tuple[Float[Tensor, "B G"], ...]:
        """W_hh h, for a GRU with its bias, and feed fed where something is fed; or the sum of the two."""
        once: Callable[..., Tensor] = siblings.once if siblings else lambda make, *values: make(*values)
        weight = getattr(self.rnn, f"weight_hh_l{layer}")
        bias = getattr(self.rnn, f"bias_hh_l{layer}") if self.state_parts == 1 else None
        joined: Any = self._joined

        def state(h: Tensor) -> Tensor:
            return nn.functional.linear(h, weight, bias)

        def both(h: Tensor, fed: Tensor) -> Tensor:
            return nn.functional.linear(torch.cat((h, fed), dim=-1), joined)

        if fed is None or self.feed is None:
            return (once(state, h),)
        if joined is None:
            return once(state, h), once(self.feed, fed)
        return (once(both, h, fed),)

    @contextmanager
    def looping(
        self, keep: Callable[[Tensor], Tensor] = Gathered.of, per_word: PerWord | None = None
    ) -> Iterator[None]:
        """Within it the state and what is fed meet one matrix: [W_hh, feed] [h; r] = W_hh h + feed r.

        A step outside a loop would join the matrices anew. A GRU's reset gate keeps the two apart.
        `keep` makes of the matrix what serves many products, `per_word` keeps what `project` makes of a word.
        A loop within a loop uses the outer one's.
        """
        before = self._joined, self._per_word
        try:
            self._per_word = self._per_word or per_word
            if self._joined is None and self.feed is not None and isinstance(self.rnn, nn.LSTM):
                both: list[Any] = [self.rnn.weight_hh_l0, self.feed.weight]
                self._joined = keep(torch.cat(both, dim=-1))
            yield
        finally:
            self._joined, self._per_word = before

    def _below(self, values: Float[Tensor, "*G X"], layer: int) -> Float[Tensor, "*G Y"]:
        """The share of a layer's gates that comes from below, with what is added to the gates as it is."""
        weight, bias = (getattr(self.rnn, f"{kind}_ih_l{layer}") for kind in ("weight", "bias"))
        if isinstance(self.rnn, nn.LSTM):  # a GRU's other bias stands within its reset gate
            bias = bias + getattr(self.rnn, f"bias_hh_l{layer}")
        return nn.functional.linear(values, weight, bias)
