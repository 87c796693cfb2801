"""Every scorer and every window, slowly: loops over single numbers, straight from the papers' formulas.

The oracles take one decoder state s [H] and the states h [S, K] of one sentence without padding, and the
parameters by name. They use no matrix product, no mask and no batch; in float64 autograd gives their gradients.
"""

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

Parameters = Mapping[str, Tensor]


def _dot(a: Tensor, b: Tensor) -> Tensor:
    total = a.new_zeros(())
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return torch.stack([_dot(row, vector) for row in matrix])


# --- the scorers: e_1 .. e_S, None where a position cannot be scored ---------------------------------------


def dot(p: Parameters, s: Tensor, h: Tensor) -> list[Tensor | None]:
    """Luong et al. 2015, 3.1: e_j = s . h_j."""
    return [_dot(s, h_j) for h_j in h]


def scaled_dot(p: Parameters, s: Tensor, h: Tensor) -> list[Tensor | None]:
    """Vaswani et al. 2017, eq. 1: e_j = s . h_j / sqrt(K)."""
    return [_dot(s, h_j) / math.sqrt(len(h_j)) for h_j in h]


def general(p: Parameters, s: Tensor, h: Tensor) -> list[Tensor | None]:
    """Luong et al. 2015, 3.1: e_j = s' W h_j, W of H x K."""
    W = p["W.weight"]
    scores: list[Tensor | None] = []
    for h_j in h:
        total = s.new_zeros(())
        for i in range(len(s)):
            for k in range(len(h_j)):
                total = total + s[i] * W[i, k] * h_j[k]
        scores.append(total)
    return scores


def additive(p: Parameters, s: Tensor, h: Tensor) -> list[Tensor | None]:
    """Bahdanau et al. 2015, A.1.2: e_j = v' tanh(W s + U h_j [+ b])."""
    W, U, v, b = p["W.weight"], p["U.weight"], p["v"], p.get("U.bias")
    scores: list[Tensor | None] = []
    for h_j in h:
        total = s.new_zeros(())
        for u in range(len(v)):
            inside = _dot(W[u], s) + _dot(U[u], h_j)
            if b is not None:
                inside = inside + b[u]
            total = total + v[u] * torch.tanh(inside)
        scores.append(total)
    return scores


def concat(p: Parameters, s: Tensor, h: Tensor) -> list[Tensor | None]:
    """The code published with Luong et al. 2015: e_j = v' tanh(W s + h_j)."""
    W, v = p["W.weight"], p["v"]
    return [
        sum((v[k] * torch.tanh(_dot(W[k], s) + h_j[k]) for k in range(len(v))), s.new_zeros(())) for h_j in h
    ]


def location(p: Parameters, s: Tensor, h: Tensor) -> list[Tensor | None]:
    """Luong et al. 2015, 3.1: e_j = (W s)_j, for as many j as W has rows."""
    W = p["W"]
    return [_dot(W[j], s) if j < len(W) else None for j in range(len(h))]


# --- the windows: from e_1 .. e_S to a_1 .. a_S ------------------------------------------------------------


def softmax(scores: Mapping[int, Tensor]) -> dict[int, Tensor]:
    """exp(e_j) / sum_k exp(e_k) over the positions given."""
    if not scores:
        return {}
    exps = {j: torch.exp(e) for j, e in scores.items()}
    total = sum(exps.values())
    return {j: x / total for j, x in exps.items()}


def everywhere(p: Parameters, s: Tensor, e: dict[int, Tensor], t: int, S: int, D: int) -> dict[int, Tensor]:
    """Softmax over all positions of the sentence."""
    return softmax(e)


def local_m(p: Parameters, s: Tensor, e: dict[int, Tensor], t: int, S: int, D: int) -> dict[int, Tensor]:
    """Luong et al. 2015, 3.2: softmax over |j - m_t| <= D, m_t = min(t, S)."""
    m = min(t, S)
    return softmax({j: e_j for j, e_j in e.items() if abs(j - m) <= D})


def centre(p: Parameters, s: Tensor, S: int) -> Tensor:
    """Luong et al. 2015, 3.2: p_t = S sigmoid(v_p' tanh(W_p s))."""
    z = _dot(p["v_p"], torch.stack([torch.tanh(x) for x in _times(p["W_p.weight"], s)]))
    return S / (1 + torch.exp(-z))


def _around(p_t: Tensor, e: dict[int, Tensor], S: int, D: int) -> dict[int, Tensor]:
    m = max(1, min(S, math.floor(p_t.item())))
    return {j: e_j for j, e_j in e.items() if abs(j - m) <= D}


def _gaussian(j: int, p_t: Tensor, D: int) -> Tensor:
    sigma = D / 2
    return torch.exp(-((j - p_t) ** 2) / (2 * sigma**2))


def local_p(p: Parameters, s: Tensor, e: dict[int, Tensor], t: int, S: int, D: int) -> dict[int, Tensor]:
    """Luong et al. 2015, 3.2: a_j = softmax(e)_j exp(-(j - p_t)^2 / (2 sigma^2)), sigma = D / 2."""
    p_t = centre(p, s, S)
    return {j: a * _gaussian(j, p_t, D) for j, a in softmax(_around(p_t, e, S, D)).items()}


def local_p_renorm(
    p: Parameters, s: Tensor, e: dict[int, Tensor], t: int, S: int, D: int
) -> dict[int, Tensor]:
    """`local_p` divided by its sum."""
    weights = local_p(p, s, e, t, S, D)
    return {j: a / sum(weights.values()) for j, a in weights.items()}


def local_p_on_scores(
    p: Parameters, s: Tensor, e: dict[int, Tensor], t: int, S: int, D: int
) -> dict[int, Tensor]:
    """The Gaussian on the raw scores, then the softmax."""
    p_t = centre(p, s, S)
    return softmax({j: e_j * _gaussian(j, p_t, D) for j, e_j in _around(p_t, e, S, D).items()})


def attend(
    score: Callable[..., list[Tensor | None]],
    window: Callable[..., dict[int, Tensor]],
    scorer_parameters: Parameters,
    window_parameters: Parameters,
    s: Tensor,
    h: Tensor,
    t: int,
    D: int,
) -> tuple[Tensor, Tensor]:
    """Weights [S] and context [K] of one step t, counted from 1, for one sentence."""
    S = len(h)
    e = {j: e_j for j, e_j in enumerate(score(scorer_parameters, s, h), start=1) if e_j is not None}
    a = window(window_parameters, s, e, t, S, D)
    weights = torch.stack([a.get(j, s.new_zeros(())) for j in range(1, S + 1)]) if S else s.new_zeros(0)
    context = h.new_zeros(h.shape[1])
    for j, a_j in a.items():
        context = context + a_j * h[j - 1]
    return weights, context
