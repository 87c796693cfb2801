"""A model made of a table, and small real ones of every decoder order."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from attnlab.attention import Additive, Attended, General, Global, LocalM, LocalP
from attnlab.model import (
    Combine,
    Encoder,
    FixedVector,
    InputFeeding,
    PostCombine,
    PostCombineFeeding,
    PostCombinePrevious,
    Seq2Seq,
)

PAD, START, END = 0, 1, 2
ORDERS = [InputFeeding, PostCombine, PostCombineFeeding, PostCombinePrevious, FixedVector]
WINDOWS = {
    "global": Global,
    "local_m": partial(LocalM, half_width=1),
    "local_p": partial(LocalP, half_width=2),
}


class Prefixes(NamedTuple):
    """The state of `Scripted`: what each hypothesis of each sentence was fed, the start mark included."""

    fed: list[list[tuple[int, ...]]]

    def expand(self, k: int) -> "Prefixes":
        assert all(len(row) == 1 for row in self.fed)
        return Prefixes([row * k for row in self.fed])

    def select(self, rows: Tensor) -> "Prefixes":
        return Prefixes([self.fed[i] for i in rows.tolist()])

    def reorder(self, index: Tensor) -> "Prefixes":
        return Prefixes([[row[i] for i in at] for row, at in zip(self.fed, index.tolist(), strict=True)])


class Sources(NamedTuple):
    """The memory of `Scripted`: the name of each sentence, and how many positions the batch has."""

    names: list[int]
    positions: int

    def select(self, rows: Tensor) -> "Sources":
        return Sources([self.names[i] for i in rows.tolist()], self.positions)


class Scripted(nn.Module):
    """Reads log-probabilities from `table(sentence, tokens so far)`; a sentence's name is its first token.

    Notes in `asked` the sentences and hypotheses of each step. Its logits are the log-probabilities plus 3, so
    that search has to normalise.
    """

    def __init__(
        self, table: Callable[[int, tuple[int, ...]], list[float]], pad: int = PAD, start: int = START
    ):
        super().__init__()
        self.table, self.pad, self.start = table, pad, start
        self.asked: list[tuple[int, int]] = []

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Sources, Prefixes]:
        assert (lengths > 0).all()
        return Sources(source[:, 0].tolist(), source.shape[1]), Prefixes([[()] for _ in source])

    def step(self, tokens: Tensor, state: Prefixes, memory: Sources) -> tuple[Tensor, Attended, Prefixes]:
        self.asked.append(tuple(tokens.shape))
        fed = [
            [(*before, token) for before, token in zip(row, new, strict=True)]
            for row, new in zip(state.fed, tokens.tolist(), strict=True)
        ]
        assert all(f[0] == self.start for row in fed for f in row)
        rows = list(zip(memory.names, fed, strict=True))
        table = torch.tensor([[self.table(name, f[1:]) for f in row] for name, row in rows])
        weights = torch.stack(
            [torch.stack([attention(name, f[1:], memory.positions) for f in row]) for name, row in rows]
        )
        return table, Attended(table.new_zeros(*tokens.shape, 0), weights), Prefixes(fed)

    def logits(self, readouts: Tensor) -> Tensor:
        return readouts + 3


def attention(name: int, before: tuple[int, ...], positions: int) -> Tensor:
    """Weights that no other sentence and no other prefix has."""
    generator = torch.Generator().manual_seed(hash((name, before)) % 2**31)
    return torch.rand(positions, generator=generator)


def random_table(
    seed: int, size: int, sharpness: float = 1.0
) -> Callable[[int, tuple[int, ...]], list[float]]:
    """Log-probabilities that are the same for the same sentence and prefix, each time they are asked for."""

    def table(name: int, before: tuple[int, ...]) -> list[float]:
        generator = torch.Generator().manual_seed(hash((seed, name, before)) % 2**31)
        return (sharpness * torch.randn(size, generator=generator)).log_softmax(-1).tolist()

    return table


def real_model(
    order: type, window: Callable = Global, *, sharp: float = 4.0, seed: int = 0, **given
) -> Seq2Seq:
    """A small untrained model; `sharp` scales its parameters, so that its choices differ in earnest.

    Its values are drawn here: no test of search depends on how models are initialised.
    """
    generator = torch.Generator().manual_seed(seed)
    asks = order is not FixedVector
    sizes = {"source_size": 17, "target_size": 14, "hidden_size": 8, "embedding_size": 6}
    model = Seq2Seq(
        encoder=partial(Encoder, hidden_size=8, cell="lstm", bidirectional=True),
        decoder=partial(order, hidden_size=8),
        readout=Combine,
        scorer=(partial(Additive, units=5) if window is Global else General) if asks else None,
        window=window if asks else None,
        target_pad=PAD,
        start=START,
        **{**sizes, **given},
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.3 * sharp, 0.3 * sharp, generator=generator)
        model.output.weight[END] *= 2  # it ends in some places, and surely not in others
    return model.eval()


def sources(lengths: list[int], size: int = 17, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Padded random sources."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, size, (len(lengths), max(lengths)), generator=generator)
    for row, length in zip(ids, lengths, strict=True):
        row[length:] = 0
    return ids, torch.tensor(lengths)


@pytest.fixture(scope="session")
def tools() -> SimpleNamespace:
    """What the tests of this folder share; they cannot import a sibling file."""
    return SimpleNamespace(
        orders=ORDERS,
        Scripted=Scripted,
        attention=attention,
        random_table=random_table,
        real_model=real_model,
        sources=sources,
        PAD=PAD,
        START=START,
        END=END,
    )


@pytest.fixture(params=ORDERS, ids=lambda order: order.__name__)
def order(request: pytest.FixtureRequest) -> type:
    return request.param


@pytest.fixture(params=list(WINDOWS))
def window(request: pytest.FixtureRequest) -> Callable:
    return WINDOWS[request.param]
