"""Small models, put together by the names of their axes."""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attnlab.model import (
    Combine,
    Encoder,
    FixedVector,
    InputFeeding,
    Maxout,
    Plain,
    PostCombine,
    PostCombineFeeding,
    PostCombinePrevious,
    Seq2Seq,
)

from ..attention.grid import SCORERS, WINDOWS

PAD, START, END = 0, 2, 3
SOURCE, TARGET = 11, 13  # words
SIZE, EMBEDDING = 4, 3  # H = K, E

ENCODERS: dict[str, dict[str, Any]] = {
    "bilstm": {"cell": "lstm", "bidirectional": True},
    "bigru": {"cell": "gru", "bidirectional": True},
    "lstm": {"cell": "lstm"},
    "gru": {"cell": "gru"},
    "lstm_reversed": {"cell": "lstm", "reverse": True},
}
ORDERS = {
    "input_feeding": InputFeeding,
    "post_combine": PostCombine,
    "post_combine_feeding": PostCombineFeeding,
    "post_combine_previous": PostCombinePrevious,
    "fixed_vector": FixedVector,
}
READOUTS = {"combine": Combine, "maxout": partial(Maxout, maxout_size=SIZE), "plain": Plain}
ATTENTIVE = [name for name in ORDERS if name != "fixed_vector"]


def build(
    *,
    encoder: str = "bilstm",
    scorer: str = "additive",
    order: str = "post_combine",
    window: str = "global",
    readout: str = "combine",
    cell: str = "lstm",
    layers: int = 1,
    size: int = SIZE,
    embedding: int = EMBEDDING,
    **options: Any,
) -> Seq2Seq:
    """The model of one cell of the grid, as it is before training."""
    asks = order != "fixed_vector"
    return Seq2Seq(
        SOURCE,
        TARGET,
        encoder=partial(Encoder, hidden_size=size, layers=layers, **ENCODERS[encoder]),
        decoder=partial(ORDERS[order], hidden_size=size, layers=layers, cell=cell),
        readout=READOUTS[readout],
        scorer=SCORERS[scorer][0] if asks else None,
        window=WINDOWS[window][0] if asks else None,
        hidden_size=size,
        embedding_size=embedding,
        start=START,
        **options,
    )


def spread(model: nn.Module, scale: float = 0.7, seed: int = 0) -> nn.Module:
    """Parameters N(0, scale^2) in float64: nothing is close to zero, linear or uniform."""
    model.double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, scale, generator=generator)
    return model


def pairs(
    source_lengths: list[int], target_lengths: list[int], seed: int = 0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """source [B,S], lengths [B], target [B,T] with end marks, lengths [B]; padded with PAD."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.full((len(source_lengths), max(source_lengths)), PAD)
    target = torch.full((len(target_lengths), max(target_lengths)), PAD)
    for row, (s, t) in enumerate(zip(source_lengths, target_lengths, strict=True)):
        source[row, :s] = torch.randint(4, SOURCE, (s,), generator=generator)
        target[row, :t] = torch.randint(4, TARGET, (t,), generator=generator)
        target[row, t - 1] = END
    return source, torch.tensor(source_lengths), target, torch.tensor(target_lengths)


def summed_loss(
    model: Seq2Seq, source: Tensor, lengths: Tensor, target: Tensor, target_lengths: Tensor
) -> Tensor:
    """Cross-entropy summed over the real target tokens."""
    logits = model.logits(model(source, lengths, target).readouts)
    nll = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")
    real = torch.arange(target.shape[1]) < target_lengths.unsqueeze(-1)
    return (nll.view_as(target) * real).sum()


def unroll(model: Seq2Seq, source: Tensor, lengths: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Readouts [B,T,R] and weights [B,T,S] of `step`, fed with the gold target."""
    memory, state = model.encode(source, lengths)
    tokens = torch.cat((target.new_full((len(target), 1), model.start), target[:, :-1]), dim=1)
    readouts, weights = [], []
    for t in range(tokens.shape[1]):
        readout, attended, state = model.step(tokens[:, t : t + 1], state, memory)
        readouts.append(readout)
        weights.append(attended.dense(source.shape[1]))
    return torch.cat(readouts, 1), torch.cat(weights, 1)
