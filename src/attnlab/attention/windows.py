"""The windows: which source positions a step looks at, and how the place of a position bears on its weight.

Let m be the middle of the window, D its half width and S the sentence's own length:

    global          j in 1..S
    local_m         j in W = {j : |j - m| <= D, 1 <= j <= S},  m = min(t, S)
    local_p         the same with m = floor(p) kept within 1..S,  p = S sigmoid(v' tanh(W s)),
                    and a_j = softmax(e)_j exp(-(j - p)^2 / (2 sigma^2)),  sigma = D / 2

A local window names W = 2D + 1 places a step, whatever S is; only those are scored, forward and backward.
To add one: a class here, a YAML file in conf/window/, an oracle in tests/attention/oracles.py.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


class Positions(NamedTuple):
    """The places a local window looks at.

    Attributes:
        first: 0-based index of the first place; it may lie before the sentence.
        places: the places as positions j, counted from 1 as in the formulas.
        inside: whether a place is in the window and in the sentence.
        centre: p_t, around which the Gaussian stands; m_t where there is none.
    """

    first: Int[Tensor, "B Q"]
    places: Int[Tensor, "B Q W"]
    inside: Bool[Tensor, "B Q W"]
    centre: Float[Tensor, "B Q"]


class Window(nn.Module):
    """What every window offers; as it stands it changes nothing.

    Args:
        query_dim: H, size of the decoder state that asks.
    """

    #: Whether `positions` names a few places a step, so that only those are picked and scored.
    local = False

    def __init__(self, query_dim: int) -> None:
        super().__init__()
        self.query_dim = query_dim

    def positions(
        self, query: Float[Tensor, "B Q H"], lengths: Int[Tensor, " B"], steps: Int[Tensor, " Q"]
    ) -> Positions | None:
        """The places to score, or None for all of the sentence. `steps` holds t, counted from 1."""
        return None

    def on_scores(self, scores: Float[Tensor, "B Q N"], where: Positions | None) -> Float[Tensor, "B Q N"]:
        """Acts on the scores before the softmax."""
        return scores

    def on_weights(self, weights: Float[Tensor, "B Q N"], where: Positions | None) -> Float[Tensor, "B Q N"]:
        """Acts on the weights after the softmax."""
        return weights


class Global(Window):
    """Every position of the source (Bahdanau et al. 2015; Luong et al. 2015, section 3.1)."""


class LocalM(Window):
    """Monotonic: m_t = min(t, S), no Gaussian (Luong et al. 2015, section 3.2, local-m).

    The paper sets p_t = t; beyond the end of the source the window stays at the last token, in training and
    in search alike.

    Args:
        query_dim: H.
        half_width: D, in tokens.

    Raises:
        ValueError: a half width below 1.
    """

    local = True
    reach: Tensor

    def __init__(self, query_dim: int, half_width: int = 10) -> None:
        super().__init__(query_dim)
        if half_width < 1:
            raise ValueError(f"window.half_width={half_width}: a window needs a half width of at least 1")
        self.half_width = half_width
        reach = torch.arange(-half_width, half_width + 1)
        self.register_buffer("reach", reach, persistent=False)  # on the parameters' device, in no checkpoint

    def positions(
        self, query: Float[Tensor, "B Q H"], lengths: Int[Tensor, " B"], steps: Int[Tensor, " Q"]
    ) -> Positions:
        """The window around min(t, S)."""
        middle = torch.minimum(steps, lengths.unsqueeze(-1))
        # Half precision does not have every whole number beyond 256 (bfloat16) or 2048 (float16).
        return self._around(middle, middle.to(torch.promote_types(query.dtype, torch.float32)), lengths)

    def _around(
        self, middle: Int[Tensor, "B Q"], centre: Float[Tensor, "B Q"], lengths: Int[Tensor, " B"]
    ) -> Positions:
        places = middle.unsqueeze(-1) + self.reach
        inside = (places >= 1) & (places <= lengths[:, None, None])
        return Positions(middle - (1 + self.half_width), places, inside, centre)


class LocalP(LocalM):
    """Predictive: p_t = S sigmoid(v_p' tanh(W_p s)), and a Gaussian on the weights.

    Luong et al. 2015, section 3.2, local-p. m_t = floor(p_t) kept within 1..S. The weights are not
    renormalised, so their sum is at most 1. S is the sentence's own length. The published code centres on
    (S - 1) sigmoid + 1 instead.

    Args:
        query_dim: H.
        half_width: D, in tokens; sigma = D / 2.
    """

    def __init__(self, query_dim: int, half_width: int = 10) -> None:
        super().__init__(query_dim, half_width)
        self.W_p = nn.Linear(query_dim, query_dim, bias=False)
        self.v_p = nn.Parameter(torch.empty(query_dim).uniform_(-(query_dim**-0.5), query_dim**-0.5))

    def positions(
        self, query: Float[Tensor, "B Q H"], lengths: Int[Tensor, " B"], steps: Int[Tensor, " Q"]
    ) -> Positions:
        """The window around floor(p_t)."""
        guess = torch.tanh(self.W_p(query)) @ self.v_p
        # Half precision has too few digits for a place among 60: the sigmoid and all after it are float32.
        guess = guess.to(torch.promote_types(guess.dtype, torch.float32))
        centre = lengths.unsqueeze(-1) * torch.sigmoid(guess)
        middle = centre.detach().long().clamp(min=1).minimum(lengths.unsqueeze(-1))
        return self._around(middle, centre, lengths)

    def gaussian(self, where: Positions) -> Float[Tensor, "B Q W"]:
        """exp(-(j - p_t)^2 / (2 sigma^2)), sigma = D / 2."""
        sigma = self.half_width / 2
        return torch.exp(-((where.places - where.centre.unsqueeze(-1)) ** 2) / (2 * sigma**2))

    def on_weights(self, weights: Float[Tensor, "B Q N"], where: Positions | None) -> Float[Tensor, "B Q N"]:
        """a_j exp(-(j - p_t)^2 / (2 sigma^2))."""
        assert where is not None
        return (weights * self.gaussian(where)).to(weights.dtype)


class LocalPRenorm(LocalP):
    """`LocalP`, its weights divided by their sum: a reading found in circulation, not the paper's."""

    def on_weights(self, weights: Float[Tensor, "B Q N"], where: Positions | None) -> Float[Tensor, "B Q N"]:
        """a_j g_j / sum_k a_k g_k."""
        weights = super().on_weights(weights, where)
        total = weights.sum(-1, keepdim=True)
        return weights / total.masked_fill(total == 0, 1)  # a row with nothing inside stays zero


class LocalPOnScores(LocalP):
    """`LocalP` with the Gaussian on the raw scores: e_j exp(-(j - p_t)^2 / (2 sigma^2)), then the softmax.

    The option `normLocalAttn` of the code published with Luong et al. 2015; off in the paper's results.
    """

    def on_scores(self, scores: Float[Tensor, "B Q N"], where: Positions | None) -> Float[Tensor, "B Q N"]:
        """e_j g_j."""
        assert where is not None
        return (scores * self.gaussian(where)).to(scores.dtype)

    def on_weights(self, weights: Float[Tensor, "B Q N"], where: Positions | None) -> Float[Tensor, "B Q N"]:
        """The softmax's own."""
        return weights
