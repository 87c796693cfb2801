"""Scorers and windows as a user may write them, each with one fault planted; and some without."""

import torch
from torch import nn

from attnlab.attention import Dot, General, LocalM, LocalP, Scorer, Window


class Cosine(Dot):
    """No fault: e_j = s . h_j / (|s| |h_j|)."""

    def prepare(self, states):
        return nn.functional.normalize(states, dim=-1)

    def forward(self, query, keys):
        return nn.functional.normalize(query, dim=-1) @ keys.mT


class Bilinear(Scorer):
    """No fault, an argument of its own, and a dropout that eval() turns off."""

    def __init__(self, query_dim, key_dim, units, dropout=0.1):
        super().__init__(query_dim, key_dim)
        self.left, self.right = nn.Linear(query_dim, units), nn.Linear(key_dim, units)
        self.dropout = nn.Dropout(dropout)

    def prepare(self, states):
        return self.dropout(self.right(states))

    def forward(self, query, keys):
        return self.left(query) @ keys.mT


class OwnSoftmax(General):
    def forward(self, query, keys):
        return torch.softmax(query @ keys.mT, dim=-1)


class SoftmaxOverQueries(General):
    def forward(self, query, keys):
        return torch.softmax(query @ keys.mT, dim=-2)


class SoftmaxOverSentences(General):
    def forward(self, query, keys):
        return torch.softmax(query @ keys.mT, dim=0)


class Centred(General):
    """Reads padding: the mean is over all positions of the padded batch."""

    def prepare(self, states):
        return self.W(states - states.mean(1, keepdim=True))


class CentredInForward(General):
    def forward(self, query, keys):
        return query @ (keys - keys.mean(-2, keepdim=True)).mT


class Standardised(General):
    """Keys of a sentence that depend on the other sentences."""

    def prepare(self, states):
        return self.W(states - states.mean(0, keepdim=True))


class BatchNormed(General):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.norm = nn.BatchNorm1d(query_dim)

    def prepare(self, states):
        return self.norm(self.W(states).mT).mT


class QueriesMixed(General):
    def forward(self, query, keys):
        return (query - query.mean(-2, keepdim=True)) @ keys.mT


class StatesIgnored(General):
    def prepare(self, states):
        return self.W(torch.ones_like(states))


class PlacesUndeclared(Scorer):
    """A score by position whose max_length is not set."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.W = nn.Parameter(torch.randn(500, query_dim))

    def prepare(self, states):
        return self.W[: states.shape[1]].expand(len(states), -1, -1)

    def forward(self, query, keys):
        return query @ keys.mT


class PlacesTooFew(PlacesUndeclared):
    """It has 40 rows, and says nothing of what comes after them."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.W = nn.Parameter(torch.randn(40, query_dim))
        self.key = nn.Linear(key_dim, query_dim)

    def prepare(self, states):
        return self.key(states) + self.W[: states.shape[1]]


class LimitOfWords(General):
    max_length = "40"


class QueryIgnored(General):
    def forward(self, query, keys):
        return keys.sum(-1).unsqueeze(-2).expand(*query.shape[:-1], keys.shape[-2])


class Transposed(General):
    def forward(self, query, keys):
        return keys @ query.mT


class KeysTransposed(General):
    def prepare(self, states):
        return self.W(states).transpose(0, 1)


class ExtraAxis(General):
    def forward(self, query, keys):
        return (query @ keys.mT).unsqueeze(-1)


class GlobalOnly(General):
    """Names its axes, so that a window's queries have one too many."""

    def forward(self, query, keys):
        return torch.einsum("bqh,bsh->bqs", query, keys)


class EqualSizesUnsaid(Scorer):
    def forward(self, query, keys):
        return query @ keys.mT


class Detached(General):
    def prepare(self, states):
        return self.W(states.detach())


class NoGradient(General):
    def forward(self, query, keys):
        with torch.no_grad():
            return query @ keys.mT


class UnusedParameter(General):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.bias = nn.Parameter(torch.zeros(key_dim))


class PlainTensor(Scorer):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.W = torch.randn(key_dim, query_dim, dtype=torch.float64, requires_grad=True)

    def prepare(self, states):
        return states @ self.W

    def forward(self, query, keys):
        return query @ keys.mT


class _Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores):
        return scores * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class WrongGradient(General):
    def forward(self, query, keys):
        return _Wrong.apply(query @ keys.mT)


class ZeroDivided(Cosine):
    """NaN on an empty sentence, whose states are zeros."""

    def prepare(self, states):
        return states / states.norm(dim=-1, keepdim=True)


class RootOfZero(General):
    """Finite scores, but a gradient of 0/0 where a state is 0."""

    def prepare(self, states):
        return self.W(states) * states.square().sum(-1, keepdim=True).sqrt()


class SinglePrecision(General):
    def prepare(self, states):
        return self.W(states) + torch.zeros(states.shape[1], self.query_dim, dtype=torch.float32)

    def forward(self, query, keys):
        return query @ keys.mT


class Coarse(General):
    """A number that bfloat16 cannot tell from its neighbours decides the score."""

    def forward(self, query, keys):
        return ((query @ keys.mT + 300) - 300) * 8


class OnTheCPU(General):
    def prepare(self, states):
        return self.W(states) * torch.ones(states.shape[1], 1, dtype=states.dtype)


class InPlace(General):
    def forward(self, query, keys):
        keys *= 2
        return query @ keys.mT


class Remembers(General):
    """`prepare` does work that depends on the query of the batch before."""

    last = None

    def prepare(self, states):
        keys = self.W(states)
        return keys if self.last is None else keys + self.last.mean()

    def forward(self, query, keys):
        self.__dict__["last"] = query.detach()
        return query @ keys.mT


class Keeps(General):
    """What it keeps changes no score, but holds the batch in memory."""

    def prepare(self, states):
        object.__setattr__(self, "seen", states)
        return self.W(states)


class EveryStep(General):
    """Projects the source at every step of the decoder."""

    def prepare(self, states):
        return states

    def forward(self, query, keys):
        return query @ self.W(keys).mT


class NoForward(Scorer):
    pass


class NoScorer:
    def __init__(self, query_dim, key_dim):
        pass


class OwnSizes(Scorer):
    def __init__(self, size):
        super().__init__(size, size)


class NoSuper(Scorer):
    def __init__(self, query_dim, key_dim):
        self.W = nn.Linear(key_dim, query_dim)


# Windows


class NoMask(LocalM):
    def positions(self, query, lengths, steps):
        where = super().positions(query, lengths, steps)
        return where._replace(inside=torch.ones_like(where.inside))


class Spread(Window):
    """Weights that padding gets too, by a sum to 1 that knows no mask."""

    def on_weights(self, weights, where):
        return (weights + 0.1) / (weights + 0.1).sum(-1, keepdim=True)


class BeyondTheEnd(LocalM):
    """p_t = t, although the source has ended."""

    def positions(self, query, lengths, steps):
        middle = steps.expand(len(lengths), -1)
        return self._around(middle, middle.to(query.dtype), lengths)


class FromOne(LocalM):
    """first counts from 1, where indices count from 0."""

    def positions(self, query, lengths, steps):
        where = super().positions(query, lengths, steps)
        return where._replace(first=where.first + 1)


class AsWideAsTheSource(LocalM):
    def positions(self, query, lengths, steps):
        return LocalM(self.query_dim, int(lengths.max())).positions(query, lengths, steps)


class Unannounced(LocalM):
    local = False


class CentreDetached(LocalP):
    def gaussian(self, where):
        return super().gaussian(where._replace(centre=where.centre.detach()))


class DividesByZero(LocalP):
    def on_weights(self, weights, where):
        weights = super().on_weights(weights, where)
        return weights / weights.sum(-1, keepdim=True)


class Doubled(Window):
    def on_weights(self, weights, where):
        return weights * 2


class MeanOfSteps(LocalP):
    def positions(self, query, lengths, steps):
        return super().positions(query.mean(1, keepdim=True).expand_as(query), lengths, steps)


class LongestSentence(LocalP):
    """S is that of the batch, not the sentence's own."""

    def positions(self, query, lengths, steps):
        where = super().positions(query, lengths.max().expand_as(lengths), steps)
        first = torch.minimum(where.first, lengths[:, None] - self.half_width)
        places = first.unsqueeze(-1) + 1 + torch.arange(where.places.shape[-1])
        inside = (places >= 1) & (places <= lengths[:, None, None])
        return where._replace(first=first, places=places, inside=inside)


class Squeezed(LocalM):
    def positions(self, query, lengths, steps):
        where = super().positions(query, lengths, steps)
        return where._replace(centre=where.centre.unsqueeze(-1))
