"""positions -> scores -> weights -> context: the one path that every scorer and every window goes through.

where = window.positions(s, lengths, t)      which j are scored
e     = window.on_scores(scorer(s, keys))    e_j = score(s, h_j)
a     = window.on_weights(softmax(e))        the only softmax over the source
c     = sum_j a_j h_j
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnlab.attention.gathering import Gathered
from attnlab.attention.picking import Rows
from attnlab.attention.scorers import Scorer
from attnlab.attention.tampering import Override
from attnlab.attention.windows import Window


class Memory(NamedTuple):
    """A batch of encoded sources, made ready once and asked many times.

    Attributes:
        states: h_j, the source states.
        keys: what the scorer prepared of them.
        lengths: S of each sentence; 0 is legal.
        reachable: how many positions can have a weight: S, or less where the scorer cannot reach so far.
        picks: the rows of keys and states for a local window.
    """

    states: Float[Tensor, "B S K"]
    keys: Float[Tensor, "B S A"]
    lengths: Int[Tensor, " B"]
    reachable: Int[Tensor, " B"]
    picks: tuple[Rows, Rows] | None = None

    def gathered(self) -> "Memory":
        """The same for a loop over steps, which ask one after another: see `gathering.py`."""
        return self._replace(states=Gathered.of(self.states), keys=Gathered.of(self.keys))

    def select(self, rows: Int[Tensor, " R"]) -> "Memory":
        """The memory of some of the sentences, in the order of `rows`.

        A window reads its picks alone, which are not copied: leaving costs no more in a long source. States
        and keys beside them have no positions left.
        """
        picks, states, keys = None, self.states, self.keys
        if self.picks is not None:
            picks = (self.picks[0].select(rows), self.picks[1].select(rows))
            states, keys = states[:, :0], keys[:, :0]
        states, keys = states.index_select(0, rows), keys.index_select(0, rows)
        return Memory(states, keys, self.lengths[rows], self.reachable[rows], picks)


class Attended(NamedTuple):
    """What one call of the attention found.

    Attributes:
        context: c, one a query.
        weights: a over the N positions that were scored; in float32 at least.
        first: 0-based source index of weights[..., 0], which may be negative; None: the source's first.
    """

    context: Float[Tensor, "B Q K"]
    weights: Float[Tensor, "B Q N"]
    first: Int[Tensor, "B Q"] | None = None

    def dense(self, length: int) -> Float[Tensor, "B Q S"]:
        """The weights over all `length` source positions, 0 where none was scored."""
        if self.first is None:
            return nn.functional.pad(self.weights, (0, length - self.weights.shape[-1]))
        batch, queries, width = self.weights.shape
        places = self.first.unsqueeze(-1) + torch.arange(width, device=self.first.device)
        dense = self.weights.new_zeros(batch, queries, length)
        return dense.scatter_add(-1, places.clamp(0, length - 1), self.weights)  # outside ones weigh 0


class Attention(nn.Module):
    """A scorer and a window joined: owns the mask, the softmax and the sum.

    Args:
        scorer: how well a state answers.
        window: which states are asked.

    Attributes:
        override: what is done to the weights of a trained model, by whoever tests it (`tampering.py`); None
            in training. No part of a checkpoint.
    """

    def __init__(self, scorer: Scorer, window: Window) -> None:
        super().__init__()
        self.scorer = scorer
        self.window = window
        self.override: Override | None = None

    def prepare(self, states: Float[Tensor, "B S K"], lengths: Int[Tensor, " B"]) -> Memory:
        """All that depends on the source alone, once a batch."""
        keys = self.scorer.prepare(states)
        limit = self.scorer.max_length
        reachable = lengths if limit is None else lengths.clamp(max=limit)
        picks = (Rows(keys), Rows(states)) if self.window.local else None
        return Memory(states, keys, lengths, reachable, picks)

    def forward(self, query: Float[Tensor, "B Q H"], memory: Memory, steps: Int[Tensor, " Q"]) -> Attended:
        """Contexts and weights for Q queries a sentence.

        Args:
            query: the decoder states that ask.
            memory: what `prepare` gave.
            steps: t of each query, counted from 1.
        """
        where = self.window.positions(query, memory.lengths, steps)
        if where is None:
            keys, states = memory.keys, memory.states
            places = torch.arange(keys.shape[1], device=keys.device)
            inside = (places < memory.reachable.unsqueeze(-1)).unsqueeze(1)
            scores = self.scorer(query, keys)
        else:
            assert memory.picks is not None
            width = where.places.shape[-1]
            keys, states = (rows.pick(where.first, width) for rows in memory.picks)
            inside = where.inside & (where.places <= memory.reachable[:, None, None])
            scores = self.scorer(query.unsqueeze(-2), keys).squeeze(-2)

        scores = self.window.on_scores(scores, where)
        weights = masked_softmax(scores, inside)
        weights = self.window.on_weights(weights, where)
        if self.override is not None:
            weights = self.override(weights, inside, steps)

        shares = weights.to(states.dtype)
        if where is None:
            return Attended(shares @ states, weights)
        return Attended((shares.unsqueeze(-2) @ states).squeeze(-2), weights, where.first)


def masked_softmax(scores: Float[Tensor, "B Q N"], inside: Bool[Tensor, "B #Q N"]) -> Float[Tensor, "B Q N"]:
    """Softmax over the positions that are inside; exactly 0 elsewhere, in every precision.

    In float32 at least: 30 equal shares rounded to bfloat16 sum to 1.0034. A row with nothing inside gives
    zeros: its scores are left alone, so that no 0/0 arises for the gradient to carry into the other rows.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    outside = ~inside
    hidden = outside & inside.any(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), -1).masked_fill(outside, 0)
