"""The encoders: from source tokens to the states h_1 .. h_S, always in the order of the source."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnlab.model.dropout import Dropout
from attnlab.model.moving import to_device
from attnlab.model.recurrence import Hidden, cell_of

SHUT = 1e4
"""What shuts a gate: the sigmoid of it is 1, of its negative 0, in every precision."""
MARKS = 32
"""Columns of the mark of padding. One would do, but bfloat16 products of odd widths take twice as long."""


class Encoder(nn.Module):
    """A recurrent encoder of L layers over packed sequences, so that padding is never read.

    Args:
        input_size: E, size of the embedding.
        hidden_size: K, size of a state, both directions together.
        cell: `lstm` or `gru`.
        layers: L.
        bidirectional: read both ways; each direction has K / 2 units (Bahdanau et al. 2015, section 3.2).
        reverse: read the source from its end (Sutskever et al. 2014); the states are given in source order.
        dropout: between the layers, in training.

    Raises:
        ValueError: an odd K for two directions.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        cell: str,
        layers: int = 1,
        bidirectional: bool = False,
        reverse: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        directions = 2 if bidirectional else 1
        if hidden_size % directions:
            raise ValueError(f"encoder.hidden_size={hidden_size}: two directions need an even size")
        self.hidden_size = hidden_size
        self.layers = layers
        self.reverse = reverse
        self.between = Dropout(dropout)
        rnn: Any = cell_of(cell)(  # its weights are attributes that torch does not declare
            input_size,
            hidden_size // directions,
            layers,
            batch_first=True,
            bidirectional=bidirectional,
            dropout=dropout if layers > 1 else 0.0,
        )
        self.rnn: Any = rnn
        # A column of input weights for a mark that padding alone has. It keeps the state 0 as it is, to the
        # last bit and with no gradient: it shuts an LSTM's input gate, and a GRU keeps its old state.
        size = hidden_size // directions
        shut = torch.zeros(rnn.weight_ih_l0.shape[0], MARKS)
        if isinstance(rnn, nn.LSTM):
            shut[:size, 0] = -SHUT
        else:
            shut[size : 2 * size, 0] = SHUT
        self.register_buffer("_shut", shut, persistent=False)

    def forward(
        self, embedded: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S K"], Hidden]:
        """States [B, S, K], zeros beyond each length, and the final states of each layer [L, B, K].

        The final state is the forward one at the last real token joined with the backward one at token 1 of
        the same layer; for LSTM h and c apart. A sentence of length 0 has zeros for both.

        On a CPU the padding is read first, see `_shut`; a library call over packed sequences would take four
        times as long there. On a GPU sequences are packed, for which the lengths are read on the host:
        lengths that lie there already save a wait for the device.
        """
        if embedded.device.type == "cpu":
            states, parts = self._padding_first(embedded, lengths)
        else:
            states, parts = self._packed(embedded, lengths)
        return states, tuple(self._join(part) for part in parts)

    def _packed(
        self, embedded: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S K"], tuple[Float[Tensor, "LD B M"], ...]]:
        """Sorting is ours: torch's copies the order back, which waits for the device."""
        counts, lengths = lengths.cpu(), lengths.to(embedded.device, non_blocking=True)
        if self.reverse:
            embedded = _flip(embedded, lengths)
        counts, order = counts.sort(descending=True)
        back = to_device(order.argsort(), embedded.device)
        embedded = embedded.index_select(0, to_device(order, embedded.device))
        packed = pack_padded_sequence(embedded, counts.clamp(min=1), batch_first=True)
        output, final = self.rnn(packed)
        states, _ = pad_packed_sequence(output, batch_first=True, total_length=embedded.shape[1])
        states = states.index_select(0, back)
        if self.reverse:
            states = _flip(states, lengths)
        parts = tuple(
            part.index_select(1, back) for part in (final if isinstance(final, tuple) else (final,))
        )
        if counts.min() == 0:  # packing wants one token at least; what it made of an empty sentence goes
            real = (lengths > 0).to(states.dtype)
            states = states * real[:, None, None]
            parts = tuple(part * real[None, :, None] for part in parts)
        return states, parts

    def _padding_first(
        self, embedded: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S K"], tuple[Float[Tensor, "LD B M"], ...]]:
        """Every direction of every layer as one library call over [padding, sentence].

        Turned round, a padded sentence has its padding first; for reading it forwards it is moved to the end.
        """
        batch, length = embedded.shape[:2]
        rows = length * torch.arange(batch).unsqueeze(-1)
        places = torch.arange(length)
        missing = (length - lengths).unsqueeze(-1)
        padding = (places >= lengths.unsqueeze(-1)).unsqueeze(-1)
        marks = nn.functional.pad(padding.flip(1).to(embedded.dtype), (0, MARKS - 1))
        uniform = not missing.any()
        late = (rows + (places - missing).clamp(min=0)).flatten()
        early = (rows + (places + missing).clamp(max=length - 1)).flatten()

        def moved(values: Tensor, index: Tensor) -> Tensor:
            return values if uniform else values.flatten(0, 1).index_select(0, index).view_as(values)

        states, finals = embedded, []
        suffixes = ["", "_reverse"] if self.rnn.bidirectional else [""]
        for layer in range(self.layers):
            if layer > 0:
                states = self.between(states)
            outputs = []
            for suffix in suffixes:
                backwards = self.reverse or bool(suffix)
                read = states.flip(1) if backwards else moved(states, late)
                if not uniform:
                    read = torch.cat((read, marks.to(read.dtype)), dim=-1)
                output, *final = self._read(read, f"_l{layer}{suffix}", uniform)
                outputs.append(output.flip(1) if backwards else moved(output, early))
                finals.append(final)
            states = torch.cat(outputs, dim=-1) if len(outputs) > 1 else outputs[0]
            if not uniform:
                states = states.masked_fill(padding, 0)
        return states, tuple(torch.cat(part) for part in zip(*finals, strict=True))

    def _read(self, values: Float[Tensor, "B S X"], name: str, uniform: bool) -> tuple[Tensor, ...]:
        """Outputs and final states of one direction of one layer from the state 0."""
        weights = [
            getattr(self.rnn, kind + name) for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        ]
        if not uniform:
            shut: Any = self._shut
            weights[0] = torch.cat((weights[0], shut), dim=-1)
        zero = values.new_zeros(1, len(values), weights[1].shape[1])
        run: Any = torch.lstm if isinstance(self.rnn, nn.LSTM) else torch.gru
        hidden = (zero, zero) if isinstance(self.rnn, nn.LSTM) else zero
        made: tuple[Tensor, ...] = run(values, hidden, weights, True, 1, 0.0, self.training, False, True)
        return made

    def _join(self, final: Float[Tensor, "LD B M"]) -> Float[Tensor, "L B K"]:
        """[L * directions, B, K / directions] -> [L, B, K], the directions of one layer side by side."""
        directions = self.hidden_size // final.shape[-1]
        by_layer = final.unflatten(0, (self.layers, directions))
        return torch.cat(by_layer.unbind(1), dim=-1)


def _flip(values: Float[Tensor, "B S X"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B S X"]:
    """The first `length` rows of each sentence in reverse; padding stays where it is."""
    places = torch.arange(values.shape[1], device=values.device)
    mirrored = lengths.unsqueeze(-1) - 1 - places
    index = torch.where(mirrored >= 0, mirrored, places)
    return values.gather(1, index.unsqueeze(-1).expand_as(values))
