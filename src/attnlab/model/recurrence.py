"""A stack of recurrent layers that can be run over a whole target at once or one step at a time.

Both ways use the parameters of one torch module and give the same states:

    LSTM   i, f, g, o = W_ih x + W_hh h + b     c = sig(f) c + sig(i) tanh(g)     h = sig(o) tanh(c)
    GRU    n = tanh(W_in x + b_in + sig(r) (W_hn h + b_hn))                      h = (1 - sig(z)) n + sig(z) h

What else joins the input (a context, a readout) has weights of its own, `feed`, so that those that meet the
embedding are the same in every decoder order: W_ih [y; c] = W_ih y + feed c. The embedding's share of the
gates is computed for all steps in one product.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

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
        gates = rnn.weight_ih_l0.shape[0]
        self.feed = nn.Linear(feed_size, gates, bias=False) if feed_size else None
        steps: dict[Any, Callable[..., Hidden]] = {nn.LSTM: _lstm, nn.GRU: _gru}
        self._cell = steps[CELLS[cell]]

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

    def project(self, embedded: Float[Tensor, "B T E"]) -> Float[Tensor, "B T G"]:
        """The embedding's share of the bottom layer's gates, for all steps."""
        return nn.functional.linear(embedded, self.rnn.weight_ih_l0, self.rnn.bias_ih_l0)

    def step(self, gates: Float[Tensor, "B G"], fed: Float[Tensor, "B F"] | None, hidden: Hidden) -> Hidden:
        """One step of all layers from the projected embedding and what is fed beside it."""
        if self.feed is not None and fed is not None:
            gates = gates + self.feed(fed)
        layers: list[Hidden] = []
        for layer in range(self.rnn.num_layers):
            if layer > 0:
                below = nn.functional.dropout(layers[-1][0], self.rnn.dropout, self.training)
                gates = nn.functional.linear(
                    below, getattr(self.rnn, f"weight_ih_l{layer}"), getattr(self.rnn, f"bias_ih_l{layer}")
                )
            recurrent = nn.functional.linear(
                hidden[0][layer],
                getattr(self.rnn, f"weight_hh_l{layer}"),
                getattr(self.rnn, f"bias_hh_l{layer}"),
            )
            layers.append(self._cell(gates, recurrent, *(part[layer] for part in hidden)))
        return tuple(torch.stack(part) for part in zip(*layers, strict=True))


def _lstm(gates: Tensor, recurrent: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g, o = (gates + recurrent).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def _gru(gates: Tensor, recurrent: Tensor, h: Tensor) -> tuple[Tensor]:
    gate_r, gate_z, gate_n = gates.chunk(3, -1)
    hidden_r, hidden_z, hidden_n = recurrent.chunk(3, -1)
    z = torch.sigmoid(gate_z + hidden_z)
    n = torch.tanh(gate_n + torch.sigmoid(gate_r + hidden_r) * hidden_n)
    return ((1 - z) * n + z * h,)
