"""Scorers and windows without fault, of as many styles as their users have."""

import torch
from torch import nn
from torch.nn.functional import cosine_similarity, normalize, pad, softplus
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from attnlab.attention import General, LocalM, LocalP, Positions, Scorer, Window


class Bilinear(Scorer):
    """(A s) . (B h_j), unscaled, with biases."""

    def __init__(self, query_dim, key_dim, units=32):
        super().__init__(query_dim, key_dim)
        self.left, self.right = nn.Linear(query_dim, units), nn.Linear(key_dim, units)

    def prepare(self, states):
        return self.right(states)

    def forward(self, query, keys):
        return self.left(query) @ keys.mT


class Scaled(Bilinear):
    def forward(self, query, keys):
        return super().forward(query, keys) / keys.shape[-1] ** 0.5


class FourTimes(Scorer):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        if query_dim != key_dim:
            raise ValueError("equal sizes")

    def forward(self, query, keys):
        return 4 * (query @ keys.mT)


class Asserts(FourTimes):
    """Says that it needs equal sizes by an assertion."""

    def __init__(self, query_dim, key_dim):
        assert query_dim == key_dim, "equal sizes"
        super().__init__(query_dim, key_dim)


class MLP(Scorer):
    """v' relu(A s + B h_j)."""

    activation = staticmethod(torch.relu)

    def __init__(self, query_dim, key_dim, units=32):
        super().__init__(query_dim, key_dim)
        self.left, self.right = nn.Linear(query_dim, units), nn.Linear(key_dim, units, bias=False)
        self.top = nn.Linear(units, 1)

    def prepare(self, states):
        return self.right(states)

    def hidden(self, query, keys):
        return self.activation(self.left(query).unsqueeze(-2) + keys.unsqueeze(-3))

    def forward(self, query, keys):
        return self.top(self.hidden(query, keys)).squeeze(-1)


class TwoLayer(MLP):
    activation = staticmethod(nn.functional.leaky_relu)

    def __init__(self, query_dim, key_dim, units=32):
        super().__init__(query_dim, key_dim, units)
        self.middle = nn.Sequential(nn.LayerNorm(units), nn.Linear(units, units), nn.GELU(), nn.Dropout(0.2))

    def hidden(self, query, keys):
        return self.middle(super().hidden(query, keys))


class Concatenated(Scorer):
    """v' tanh(W [s; h_j]) as tutorials write it."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.W, self.v = nn.Linear(query_dim + key_dim, 10), nn.Linear(10, 1, bias=False)

    def forward(self, query, keys):
        queries, places = query.shape[-2], keys.shape[-2]
        left = query.unsqueeze(-2).expand(*query.shape[:-1], places, -1)
        right = keys.unsqueeze(-3).expand(*keys.shape[:-2], queries, -1, -1)
        return self.v(self.W(torch.cat([left, right], -1)).tanh()).squeeze(-1)


class Cosine(General):
    """A temperature that is learnt by its logarithm."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.log_temperature = nn.Parameter(torch.tensor(-2.0))

    def forward(self, query, keys):
        return normalize(query, dim=-1) @ normalize(keys, dim=-1).mT / self.log_temperature.exp()


class CosineByTorch(General):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, query, keys):
        return cosine_similarity(query.unsqueeze(-2), keys.unsqueeze(-3), dim=-1) * self.scale


class LowRank(Scorer):
    def __init__(self, query_dim, key_dim, rank=2):
        super().__init__(query_dim, key_dim)
        self.A = nn.Parameter(torch.randn(query_dim, rank))
        self.B = nn.Parameter(torch.randn(rank, key_dim))

    def prepare(self, states):
        return torch.einsum("bsk,rk->bsr", states, self.B)

    def forward(self, query, keys):
        return torch.einsum("...qr,...nr->...qn", query @ self.A, keys)


class Heads(Scorer):
    """The mean score of some heads, whose number divides both sizes."""

    def __init__(self, query_dim, key_dim, heads=10):
        super().__init__(query_dim, key_dim)
        if query_dim % heads or key_dim % heads:
            raise ValueError("heads")
        self.heads = heads
        self.left, self.right = nn.Linear(query_dim, query_dim), nn.Linear(key_dim, query_dim)

    def prepare(self, states):
        return self.right(states)

    def forward(self, query, keys):
        left, right = (x.unflatten(-1, (self.heads, -1)).transpose(-2, -3) for x in (self.left(query), keys))
        return (left @ right.mT).mean(-3)


class Spectral(General):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.W = spectral_norm(nn.Linear(key_dim, query_dim))


class WeightNormed(General):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.W = weight_norm(nn.Linear(key_dim, query_dim))


class Recurrent(General):
    """Keys of the states so far: none depends on a position after it."""

    def __init__(self, query_dim, key_dim, kind="GRU", layers=1):
        super().__init__(query_dim, key_dim)
        self.W = getattr(nn, kind)(key_dim, query_dim, layers, batch_first=True)

    def prepare(self, states):
        return self.W(states)[0]


class RunningSum(General):
    def prepare(self, states):
        return self.W(states.cumsum(1))


class Aliases(General):
    """Second names in a list, a tuple and a dict; functions without weights; a table by length."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.more = nn.ModuleList([nn.Linear(query_dim, query_dim)])
        self.layers = [self.W, *self.more]
        self.pair = (self.more[0],)
        self.by_name = {"first": self.W, "of it": [self.W.weight]}
        self.functions = {"relu": nn.ReLU()}
        self.places = {}

    def prepare(self, states):
        for layer in self.layers:
            states = self.functions["relu"](layer(states)) + 0.1 * layer(states)
        length = states.shape[1]
        if length not in self.places:
            self.places[length] = torch.arange(length)
        return states + self.places[length].to(states).unsqueeze(-1).sin()


class Single(General):
    """Computes in float32 whatever it is given, and gives float32."""

    def forward(self, query, keys):
        return query.float() @ keys.float().mT


class SingleAndBack(Single):
    def forward(self, query, keys):
        return super().forward(query, keys).to(query.dtype) * 1.5


class Roots(General):
    """A square root and a logarithm of parameters that are positive, one of them by softplus."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.scale, self.width = nn.Parameter(torch.ones(query_dim)), nn.Parameter(torch.tensor(0.01))
        self.raw = nn.Parameter(torch.zeros(()))

    def forward(self, query, keys):
        scores = (query * self.scale.sqrt()) @ keys.mT
        return scores * softplus(self.raw).sqrt() - self.width.log() * scores.tanh()


class Distance(General):
    def forward(self, query, keys):
        return -(query.unsqueeze(-2) - keys.unsqueeze(-3)).abs().sum(-1)


class ByPlace(General):
    """A key of its own for each of the first 50 places, beside the state."""

    max_length = 50

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.places = nn.Parameter(torch.randn(self.max_length, query_dim))

    def prepare(self, states):
        places = self.places[: states.shape[1]]
        return self.W(states) + pad(places, (0, 0, 0, states.shape[1] - len(places)))


class Sigmoid(General):
    """Bounded scores, a gate, a norm and a frozen parameter."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.gate = nn.Sequential(nn.Linear(query_dim, query_dim), nn.Sigmoid(), nn.LayerNorm(query_dim))
        self.frozen = nn.Parameter(torch.ones(query_dim), requires_grad=False)

    def forward(self, query, keys):
        return 5 * torch.sigmoid((self.gate(query) * self.frozen) @ keys.mT)


# Windows


class Temperature(Window):
    def __init__(self, query_dim):
        super().__init__(query_dim)
        self.raw = nn.Parameter(torch.zeros(()))

    def on_scores(self, scores, where):
        return scores / softplus(self.raw)


class Sharpened(Window):
    """The squares of the weights, divided by their sum."""

    def on_weights(self, weights, where):
        weights = weights**2
        return weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)


class ThreeBest(Window):
    def on_weights(self, weights, where):
        least = weights.topk(min(3, weights.shape[-1]), -1).values[..., -1:]
        return weights * (weights >= least)


class Behind(Window):
    """The current place, the two before it and the one after: places made by hand, in float32."""

    local = True

    def positions(self, query, lengths, steps):
        middle = torch.minimum(steps, lengths.unsqueeze(-1))
        places = middle.unsqueeze(-1) + torch.arange(-2, 2, device=query.device)
        inside = (places >= 1) & (places <= lengths[:, None, None])
        return Positions(places[..., 0] - 1, places, inside, middle.float())

    def on_scores(self, scores, where):
        return scores - ((where.places - where.centre.unsqueeze(-1)) ** 2 / 4).to(scores.dtype)


class One(Behind):
    """The current place alone: its weight is 1 whatever the scores are."""

    def positions(self, query, lengths, steps):
        middle = torch.minimum(steps, lengths.unsqueeze(-1))
        places = middle.unsqueeze(-1)
        inside = (places >= 1) & (places <= lengths[:, None, None])
        return Positions(middle - 1, places, inside, middle.float())


class FirstFour(Behind):
    """The first four places at every step."""

    def positions(self, query, lengths, steps):
        first = torch.zeros(len(lengths), len(steps), dtype=torch.long, device=query.device)
        places = first.unsqueeze(-1) + torch.arange(1, 5, device=query.device)
        inside = places <= lengths[:, None, None]
        return Positions(first, places, inside, first + 1.0)


class EvenPlaces(LocalM):
    """Hides places by -inf."""

    def on_scores(self, scores, where):
        odd = where.places % 2 == 1
        alone = (where.inside & ~odd).any(-1, keepdim=True)
        return scores.masked_fill(odd & alone, -torch.inf)


class LearntWidth(LocalP):
    def __init__(self, query_dim, half_width=3):
        super().__init__(query_dim, half_width)
        self.raw = nn.Parameter(torch.ones(()))

    def gaussian(self, where):
        away = where.places - where.centre.unsqueeze(-1)
        return torch.exp(-(away**2) / (2 * softplus(self.raw) ** 2))


class SingleInside(LocalP):
    """The Gaussian in float32, whatever the query is in."""

    def gaussian(self, where):
        return super().gaussian(where._replace(centre=where.centre.float()))


class Gate(Window):
    """Takes a learnt share of all weights away."""

    def __init__(self, query_dim):
        super().__init__(query_dim)
        self.raw = nn.Parameter(torch.zeros(1))

    def on_weights(self, weights, where):
        return weights * torch.sigmoid(self.raw)
