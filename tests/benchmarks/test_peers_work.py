"""The work that a training is said to be, against products that PyTorch counted."""

import numpy as np
import pytest
import torch
from peers.ours import Ours
from peers.records import Setting
from peers.work import BATCHING, Lengths, flops, padding
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from attnlab.data.batches import BatchSampler

VOCABULARY = 11
PAIRS = [(3, 2), (5, 4), (1, 3)]  # source words; target words with the end mark


def counted(setting: Setting) -> int:
    """FLOPs of a forward and backward pass over `PAIRS`, each alone, as the formulas of the papers read."""
    h, e = setting.hidden, setting.embedding
    way = h // 2

    def matrix(rows: int, columns: int) -> Tensor:
        return torch.randn(rows, columns, requires_grad=True)

    def cell(x: Tensor, state: tuple[Tensor, Tensor], w: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        i, f, g, o = (x @ w + state[0] @ u).chunk(4, dim=-1)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    fed = h if setting.feeds else 0
    ways = [(matrix(e, 4 * way), matrix(way, 4 * way)) for _ in range(2)]
    bridge, (w, u) = [matrix(h, h), matrix(h, h)], (matrix(e + fed, 4 * h), matrix(h, 4 * h))
    keys_of, query_of, v = matrix(h, h), matrix(h, h), matrix(h, 1)
    readout_of, output = matrix(2 * h, h), matrix(h, VOCABULARY)
    with FlopCounterMode(display=False) as counter:
        for source, target in PAIRS:
            sides, finals = [], []
            words = [matrix(1, e) for _ in range(source)]
            for k, (into, across) in enumerate(ways):
                state, path = (matrix(1, way), torch.zeros(1, way)), []
                for word in words[:: -1 if k else 1]:
                    state = cell(word, state, into, across)
                    path.append(state[0])
                sides.append(torch.cat(path[:: -1 if k else 1]))
                finals.append(state)
            states = torch.cat(sides, dim=1)
            keys = states @ keys_of
            first, second = (
                torch.cat(part, dim=1) @ b for part, b in zip(zip(*finals, strict=True), bridge, strict=True)
            )
            state, readout = (first.tanh(), second.tanh()), matrix(1, h)
            losses = []
            for _ in range(target):
                x = torch.cat([matrix(1, e), readout], dim=1) if fed else matrix(1, e)
                state = cell(x, state, w, u)
                if setting.scorer == "additive":
                    scores = ((state[0] @ query_of + keys).tanh() @ v).T
                else:
                    scores = state[0] @ keys.T
                context = scores.softmax(-1) @ states
                readout = (torch.cat([state[0], context], dim=1) @ readout_of).tanh()
                losses.append((readout @ output).sum())
            torch.stack(losses).sum().backward()
    return counter.get_total_flops()


@pytest.mark.parametrize("name", ["post_combine_feeding/additive", "post_combine/general"])
def test_the_formula_is_what_a_counter_of_products_counts(name: str) -> None:
    setting = Setting(*name.split("/"), hidden=8, embedding=6)
    lengths = Lengths(*(np.array(side) for side in zip(*PAIRS, strict=True)))
    tokens = int(lengths.target.sum())
    assert flops(setting, lengths, VOCABULARY) * tokens == pytest.approx(counted(setting))


def test_ref_512_is_46_mflop_with_feeding_and_40_without() -> None:
    # Multi30k's means: 12.4 source words, 14 target words with the end mark.
    lengths = Lengths(np.array([12, 13, 12]), np.array([14, 14, 14]))
    with_feeding = flops(Setting(), lengths, 5921) / 1e6
    without = flops(Setting("post_combine"), lengths, 5921) / 1e6
    assert (round(with_feeding), round(without)) == (46, 40)


def test_padding_of_each_batching() -> None:
    lengths = Lengths(np.array([1, 9, 1, 9]), np.array([5, 5, 5, 5]))
    assert padding(lengths, "all pairs by source", 2) == (0.0, 0.0)
    assert padding(Lengths(lengths.target, lengths.source), "all pairs by target", 2) == (0.0, 0.0)
    # By hand: one batch of all four has 36 source positions, 20 of them words.
    assert padding(lengths, "at random", 4) == (pytest.approx(16 / 36), 0.0)
    assert set(BATCHING) >= {"at random", "4,096 pairs by source"}


def test_our_batches_are_padded_as_the_loader_pads_them() -> None:
    random = np.random.default_rng(1)
    lengths = Lengths(random.integers(1, 30, 500), random.integers(2, 30, 500))
    sampler = BatchSampler(lengths.source, lengths.target, tokens=None, sentences=16, seed=1)
    plan = sampler.plan(0)
    for side, share in zip(
        (lengths.source, lengths.target), padding(lengths, Ours.batching, 16), strict=True
    ):
        positions = sum(len(batch) * int(side[batch].max()) for batch in plan)
        assert share == pytest.approx(1 - side.sum() / positions, abs=0.005)  # ties are drawn
