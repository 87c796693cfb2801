"""More scorers and windows with one fault planted: those that leave most of a class right."""

import torch
from torch import nn

from attnlab.attention import General, Global, LocalM, LocalP, Positions, Scorer, Window


class FirstStateAlone(General):
    """Every position has the score of h_1."""

    def prepare(self, states):
        return self.W(states[:, :1]).expand(-1, states.shape[1], -1)


class OffByOne(General):
    """Position j has the score of h_(j-1)."""

    def prepare(self, states):
        return self.W(nn.functional.pad(states, (0, 0, 1, 0))[:, :-1])


class OneAhead(General):
    """Position j has the score of h_(j+1)."""

    def prepare(self, states):
        return self.W(nn.functional.pad(states, (0, 0, 0, 1))[:, 1:])


class BackToFront(General):
    def forward(self, query, keys):
        return (query @ keys.mT).flip(-1)


class LastStateIgnored(General):
    """All states but the last have a key of their own."""

    def prepare(self, states):
        keys = self.W(states)
        return torch.cat([keys[:, :-1], torch.zeros_like(keys[:, -1:])], 1)


class HalfDetached(Scorer):
    """Half of the rows of W are never learnt."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.W = nn.Parameter(torch.randn(query_dim, key_dim) / key_dim**0.5)

    def prepare(self, states):
        half = len(self.W) // 2
        return states @ torch.cat([self.W[:half].detach(), self.W[half:]]).mT

    def forward(self, query, keys):
        return query @ keys.mT


class HalfDetachedStates(General):
    def prepare(self, states):
        return (self.W(states) + self.W(states.detach())) / 2


class DetachedInAWindow(General):
    def forward(self, query, keys):
        return query @ (keys.detach() if query.ndim > 3 else keys).mT


class CosineWithoutQueryGradient(General):
    """|s| does not matter to the score, and s gets no gradient."""

    def forward(self, query, keys):
        return nn.functional.normalize(query.detach(), dim=-1) @ keys.mT


class QueryAdds(Scorer):
    """v'(W s + U h_j), the tanh forgotten: s adds the same everywhere."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.W, self.U = nn.Linear(query_dim, 6), nn.Linear(key_dim, 6)
        self.v = nn.Parameter(torch.randn(6))

    def prepare(self, states):
        return self.U(states)

    def forward(self, query, keys):
        return (self.W(query).unsqueeze(-2) + keys.unsqueeze(-3)) @ self.v


class PlaceAmongKeys(General):
    """The place within what it is handed, which a window shifts."""

    def forward(self, query, keys):
        return query @ keys.mT + torch.arange(keys.shape[-2], device=keys.device).to(query.dtype)


class ByCount(General):
    def forward(self, query, keys):
        return query @ keys.mT / keys.shape[-2]


class SoftmaxOfKeys(General):
    def prepare(self, states):
        return self.W(states).softmax(1)


class KeysOfUnitColumns(General):
    def prepare(self, states):
        return nn.functional.normalize(self.W(states), dim=-2)


class MeanInTraining(General):
    def prepare(self, states):
        return self.W(states - states.mean(0, keepdim=True) if self.training else states)


SEEN = []


class KeepsElsewhere(General):
    def forward(self, query, keys):
        SEEN.append(keys.detach())
        return query @ keys.mT


class CachedByShape(General):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.cache = {}

    def prepare(self, states):
        return self.cache.setdefault(states.shape, self.W(states))


class MadeInForward(General):
    def forward(self, query, keys):
        if not hasattr(self, "v"):
            self.v = nn.Parameter(torch.randn_like(query[..., 0, :].flatten()[: query.shape[-1]]))
        return (query * self.v) @ keys.mT


class SizeUnknown(General):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.W = nn.LazyLinear(query_dim)


class DeepInADict(General):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.parts = {"scale": [torch.ones(query_dim)]}


class LogOfAny(General):
    def forward(self, query, keys):
        return (query @ keys.mT).log()


class HalfByName(General):
    def forward(self, query, keys):
        return (query @ keys.mT).half()


class SingleOnly(General):
    def forward(self, query, keys):
        return query @ torch.eye(query.shape[-1]) @ keys.mT


class WholeScores(General):
    def forward(self, query, keys):
        return (query @ keys.mT).long()


class TooLarge(General):
    def forward(self, query, keys):
        return query @ keys.mT * 1e6


class OneTokenSqueezed(General):
    def prepare(self, states):
        keys = self.W(states)
        return keys.squeeze(1) if states.shape[1] == 1 else keys


class Raises(General):
    def forward(self, query, keys):
        raise KeyError("nothing here")


class Leaves(General):
    def forward(self, query, keys):
        raise SystemExit(0)


# Windows


class LengthsChanged(LocalM):
    def positions(self, query, lengths, steps):
        lengths.clamp_(min=1)
        return super().positions(query, lengths, steps)


class StepsChanged(LocalM):
    def positions(self, query, lengths, steps):
        return super().positions(query, lengths, steps.sub_(1).add_(2))


class ScoresChanged(Window):
    def on_scores(self, scores, where):
        return scores.mul_(2)


class RandomPlaces(LocalM):
    def positions(self, query, lengths, steps):
        return super().positions(query, lengths, torch.randint_like(steps, 1, 30))


class PlacesOnTheCPU(Window):
    local = True

    def positions(self, query, lengths, steps):
        middle = torch.minimum(steps, lengths.unsqueeze(-1))
        places = middle.unsqueeze(-1) + torch.arange(-2, 3)
        inside = (places >= 1) & (places <= lengths[:, None, None])
        return Positions(middle - 3, places, inside, middle.float())


class QueryDetached(LocalP):
    def positions(self, query, lengths, steps):
        return super().positions(query.detach(), lengths, steps)


class HalfOfTheWidth(LocalP):
    """Half of W_p is never learnt."""

    def positions(self, query, lengths, steps):
        half = query.shape[-1] // 2
        query = torch.cat([query[..., :half], query[..., half:].detach()], -1)
        return super().positions(query, lengths, steps)


class WeightsDetached(Global):
    def on_weights(self, weights, where):
        return weights.detach()


class ScoresIgnored(Global):
    def on_scores(self, scores, where):
        return scores * 0


class SoftmaxOfScores(Global):
    """Padding takes a share of a softmax of its own."""

    def on_scores(self, scores, where):
        return scores.softmax(-1)


class OverTheSteps(Global):
    def on_weights(self, weights, where):
        return weights / weights.sum(1, keepdim=True).clamp(min=1e-9)


class PlacesAsNumbers(LocalM):
    def positions(self, query, lengths, steps):
        where = super().positions(query, lengths, steps)
        return where._replace(first=where.first.to(query.dtype), places=where.places.to(query.dtype))


class HidesAll(Global):
    def on_scores(self, scores, where):
        return torch.full_like(scores, -torch.inf)


class LocalOfOne(LocalM):
    local = 1
