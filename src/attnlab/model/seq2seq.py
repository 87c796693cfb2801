"""The whole model: embed, encode, decode, predict. It knows no variant by name."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnlab.attention import Attended, Attention, Memory, Scorer, Window
from attnlab.model.decoder import Decoder
from attnlab.model.dropout import Dropout
from attnlab.model.encoder import Encoder
from attnlab.model.initialise import FanIn, Initialiser
from attnlab.model.readout import Readout
from attnlab.model.state import DecoderState, Words
from attnlab.model.vocabulary import summed_cross_entropy


class Decoded(NamedTuple):
    """A whole target, decoded under the gold words.

    Attributes:
        readouts: r_t; row t predicts target[:, t].
        attended: the attention of each step, credited to the token that the step predicts.
    """

    readouts: Float[Tensor, "B T R"]
    attended: Attended


class Seq2Seq(nn.Module):
    """A recurrent encoder-decoder with attention, put together from its axes.

    Args:
        source_size: words in the source vocabulary.
        target_size: V, words in the target vocabulary.
        encoder: takes `input_size`.
        decoder: takes `embedding_size, context_size, attention, readout`; brings H as its `hidden_size`.
        readout: takes `hidden_size, context_size, embedding_size`.
        scorer: takes `query_dim, key_dim`; None for an order that asks nobody.
        window: takes `query_dim`; None likewise.
        hidden_size: H, the decoder's.
        embedding_size: E, of both sides.
        dropout: on embeddings and on readouts, in training.
        tie_embeddings: W_o is the target embedding; needs the readout's size = E.
        initialise: fills the parameters.
        source_pad: id of padding in the source vocabulary.
        target_pad: the same in the target's.
        start: id of the start mark in the target vocabulary.

    Raises:
        ValueError: sizes or parts that do not fit each other.
    """

    def __init__(
        self,
        source_size: int,
        target_size: int,
        *,
        encoder: Callable[..., Encoder],
        decoder: Callable[..., Decoder],
        readout: Callable[..., Readout],
        scorer: Callable[..., Scorer] | None,
        window: Callable[..., Window] | None,
        hidden_size: int,
        embedding_size: int,
        dropout: float = 0.0,
        tie_embeddings: bool = False,
        initialise: Initialiser | None = None,
        source_pad: int = 0,
        target_pad: int = 0,
        start: int = 2,
    ) -> None:
        super().__init__()
        self.start = start
        self.pad = target_pad
        self.dropout = Dropout(dropout)
        self.source_embedding = nn.Embedding(source_size, embedding_size, padding_idx=source_pad)
        self.target_embedding = nn.Embedding(target_size, embedding_size, padding_idx=target_pad)
        self.encoder = encoder(input_size=embedding_size)
        width = self.encoder.hidden_size
        if (scorer is None) != (window is None):
            raise ValueError("a scorer and a window come together: give both, or neither")
        attention = None
        if scorer is not None and window is not None:
            attention = Attention(scorer(query_dim=hidden_size, key_dim=width), window(query_dim=hidden_size))
        made = readout(hidden_size=hidden_size, context_size=width, embedding_size=embedding_size)
        self.decoder = decoder(
            embedding_size=embedding_size, context_size=width, attention=attention, readout=made
        )
        self._check(hidden_size)
        self.output = nn.Linear(made.size, target_size, bias=False)
        if tie_embeddings:
            if made.size != embedding_size:
                raise ValueError(
                    f"model.tie_embeddings needs equal sizes: readout {made.size}, "
                    f"model.embedding_size={embedding_size}; set them equal, or tie_embeddings=false"
                )
            self.output.weight = self.target_embedding.weight
        (initialise or FanIn())(self)

    def _check(self, hidden_size: int) -> None:
        """Sizes that two parts were told apart and that must be one."""
        size, layers = self.decoder.recurrence.hidden_size, self.decoder.layers
        if size != hidden_size:
            raise ValueError(f"decoder.hidden_size={size}, model.hidden_size={hidden_size}; set them equal")
        if layers != self.encoder.layers:
            raise ValueError(f"decoder.layers={layers}, encoder.layers={self.encoder.layers}; set them equal")

    def encode(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, " B"]) -> tuple[Memory, DecoderState]:
        """The memory to ask and the state before the first target token, one hypothesis a sentence.

        The lengths may lie on the host, wherever the source is: the encoder reads them there.
        """
        states, final = self.encoder(self.dropout(self.source_embedding(source)), lengths)
        return self.decoder.prepare(states, final, lengths.to(source.device, non_blocking=True))

    def forward(
        self, source: Int[Tensor, "B S"], lengths: Int[Tensor, " B"], target: Int[Tensor, "B T"]
    ) -> Decoded:
        """Decodes under the gold target, which ends with the end mark and has no start mark."""
        memory, state = self.encode(source, lengths)
        first = target.new_full((len(target), 1), self.start)
        inputs = torch.cat((first, target[:, :-1]), dim=1)
        readouts, attended = self.decoder(self.dropout(self.target_embedding(inputs)), memory, state)
        return Decoded(self.dropout(readouts), attended)

    def logits(self, readouts: Float[Tensor, "*G R"]) -> Float[Tensor, "*G V"]:
        """W_o r_t."""
        return self.output(readouts)

    def cross_entropy(
        self, readouts: Float[Tensor, "N R"], target: Int[Tensor, " N"], label_smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """-log softmax(W_o r)[y] in nats, summed over N tokens; with smoothing, see `vocabulary.py`."""
        return summed_cross_entropy(readouts, self.output.weight, target, label_smoothing)

    def step(
        self, tokens: Int[Tensor, "B Q"], state: DecoderState, memory: Memory
    ) -> tuple[Float[Tensor, "B Q R"], Attended, DecoderState]:
        """One step of Q hypotheses a sentence after `tokens`: readout, attention, new state."""
        looked_up = self.target_embedding(tokens)
        embedded = self.dropout(looked_up)
        if embedded is looked_up and self._embeds_words_alone() and isinstance(state, DecoderState):
            state = state._replace(words=Words(tokens, embedded))
        readout, attended, state = self.decoder.step(embedded, state, memory)
        return self.dropout(readout), attended, state

    def _embeds_words_alone(self) -> bool:
        """Whether equal words have equal embeddings: no hook and no class of somebody's own has a say."""
        embedding = self.target_embedding
        return type(embedding) is nn.Embedding and not (
            embedding._forward_hooks or embedding._forward_pre_hooks
        )

    def beyond_reach(self, lengths: Int[Tensor, " B"]) -> int:
        """How many source positions the scorer cannot reach (`scorer.max_length`); they get weight 0."""
        limit = None if self.decoder.attention is None else self.decoder.attention.scorer.max_length
        return 0 if limit is None else int((lengths - limit).clamp(min=0).sum())

    def parameter_counts(self) -> dict[str, int]:
        """Parameters in all, and those of the attention (scorer and window)."""
        attention = self.decoder.attention
        inside = 0 if attention is None else sum(p.numel() for p in attention.parameters())
        return {"total": sum(p.numel() for p in self.parameters()), "attention": inside}
