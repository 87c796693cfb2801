"""The encoders: from source tokens to the states h_1 .. h_S, always in the order of the source."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnlab.model.recurrence import Hidden, cell_of


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
        self.rnn = cell_of(cell)(
            input_size,
            hidden_size // directions,
            layers,
            batch_first=True,
            bidirectional=bidirectional,
            dropout=dropout if layers > 1 else 0.0,
        )

    def forward(
        self, embedded: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S K"], Hidden]:
        """States [B, S, K], zeros beyond each length, and the final states of each layer [L, B, K].

        The final state is the forward one at the last real token joined with the backward one at token 1 of
        the same layer; for LSTM h and c apart. A sentence of length 0 has zeros for both.

        Packing reads the lengths on the host. On a GPU, lengths that lie there already save a wait for the
        device; so does the sorting here, for torch's own copies the order back.
        """
        counts, lengths = lengths.cpu(), lengths.to(embedded.device, non_blocking=True)
        if self.reverse:
            embedded = _flip(embedded, lengths)
        counts, order = counts.sort(descending=True)
        back = _moved(order.argsort(), embedded.device)
        embedded = embedded.index_select(0, _moved(order, embedded.device))
        packed = pack_padded_sequence(embedded, counts.clamp(min=1), batch_first=True)
        output, final = self.rnn(packed)
        states, _ = pad_packed_sequence(output, batch_first=True, total_length=embedded.shape[1])
        states = states.index_select(0, back)
        if self.reverse:
            states = _flip(states, lengths)
        parts = final if isinstance(final, tuple) else (final,)
        joined = tuple(self._join(part.index_select(1, back)) for part in parts)
        if counts.min() == 0:  # packing wants one token at least; what it made of an empty sentence goes
            real = (lengths > 0).to(states.dtype)
            states = states * real[:, None, None]
            joined = tuple(part * real[None, :, None] for part in joined)
        return states, joined

    def _join(self, final: Float[Tensor, "LD B M"]) -> Float[Tensor, "L B K"]:
        """[L * directions, B, K / directions] -> [L, B, K], the directions of one layer side by side."""
        directions = self.hidden_size // final.shape[-1]
        by_layer = final.unflatten(0, (self.layers, directions))
        return torch.cat(by_layer.unbind(1), dim=-1)


def _moved(values: Tensor, device: torch.device) -> Tensor:
    """A host's tensor on a device, without a wait for what the device is at."""
    if device.type != "cuda":
        return values.to(device)
    return values.pin_memory().to(device, non_blocking=True)


def _flip(values: Float[Tensor, "B S X"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B S X"]:
    """The first `length` rows of each sentence in reverse; padding stays where it is."""
    places = torch.arange(values.shape[1], device=values.device)
    mirrored = lengths.unsqueeze(-1) - 1 - places
    index = torch.where(mirrored >= 0, mirrored, places)
    return values.gather(1, index.unsqueeze(-1).expand_as(values))
