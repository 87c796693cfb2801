"""Every number of the worked example at one point, from the framework's own scorers, windows and attention.

The page computes the same tree of numbers in `page/js/numbers.js` where a slider moves; a test holds the two
equal. Paths into the tree (`a.1`, `additive.tanh.0.2`) are what words, tables and pictures refer to.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from attnlab.attention import Additive, Attention, Dot, Global, LocalM, LocalP, Positions
from attnlab.attention.attention import masked_softmax
from attnlab.explain import example
from attnlab.explain.counted import entropy, refused, sizes
from attnlab.explain.example import Point, Vector

Tree = dict[str, Any]
_SIZE = 4
_UNITS = 3


def numbers(point: Point | None = None) -> Tree:
    """All numbers of the worked example.

    Args:
        point: where the sliders stand; by default where the walkthrough opens.

    Returns:
        Plain containers: floats, lists of them, and a few words. `a` are the shares, `c` the context, each of
        `e, exp, a, divided, cosine, distance` one a source state.
    """
    point = point or Point()
    s, states = _tensor(point.state), _tensor(example.H)
    scorers = {"dot": _dot(s, states), "additive": _additive(s, states)}
    chosen = scorers["additive" if point.additive else "dot"]
    scorer = additive() if point.additive else Dot(_SIZE, _SIZE)
    window, growth = _windows(point)
    return {
        "s": _list(s),
        "h": _list(states),
        "output": point.output,
        "target": example.TARGET[point.output - 1],
        **scorers,
        "scorer": "additive" if point.additive else "dot product",
        **_softmax(_tensor(chosen["score"])),
        **_context(Attention(scorer, Global(_SIZE)), s, states, point.slots),
        "elsewhere": _elsewhere(states),
        "start": _start(states),
        "corners": _corners(states),
        "sizes": sizes(),
        "window": window,
        "growth": growth,
    }


def additive() -> Additive:
    """The example's scorer."""
    made = Additive(query_dim=_SIZE, key_dim=_SIZE, units=_UNITS).double()
    with torch.no_grad():
        made.W.weight.copy_(_tensor(example.W))
        made.U.weight.copy_(_tensor(example.U))
        made.v.copy_(_tensor(example.V))
    return made


def _dot(s: Tensor, states: Tensor) -> Tree:
    """The slots' products, and the same score as the length of a shadow times a length."""
    score = Dot(_SIZE, _SIZE)(s.view(1, 1, -1), states.unsqueeze(0)).flatten()
    norms, norm = states.norm(dim=-1), s.norm()
    shadow = score / norms
    return {
        "products": _list(s * states),
        "score": _list(score),
        "norm": _list(norms),
        "cosine": _list(shadow / norm.clamp(min=1e-12)),
        "shadow": _list(shadow),
        "rise": _list((norm**2 - shadow**2).clamp(min=0).sqrt()),
    }


def _additive(s: Tensor, states: Tensor) -> Tree:
    """v' tanh(W s + U h_j), each part of it."""
    scorer = additive()
    with torch.no_grad():
        keys = scorer.prepare(states.unsqueeze(0))
        asked = scorer.W(s)
        inside = asked + keys[0]
        tanh = torch.tanh(inside)
        score = scorer(s.view(1, 1, -1), keys).flatten()
        return {
            "Ws": _list(asked),
            "Uh": _list(keys[0]),
            "inside": _list(inside),
            "tanh": _list(tanh),
            "terms": _list(tanh * scorer.v),
            "score": _list(score),
        }


def _softmax(scores: Tensor) -> Tree:
    """From scores to shares, what a division by the sum would give instead, and the slope of each share."""
    here = torch.ones(1, 1, len(scores), dtype=torch.bool)

    def shares(e: Tensor) -> Tensor:
        return masked_softmax(e[None, None], here).flatten()

    slope = torch.autograd.functional.jacobian(shares, scores)
    total = scores.sum()
    return {
        "e": _list(scores),
        "sum_e": float(total),
        "bright": _list((scores - scores.max()).exp()),
        "exp": _list(scores.exp()),
        "total": float(scores.exp().sum()),
        "divided": _list(scores / total),
        "divided_shown": _list((scores / total).nan_to_num(0, 1.8, -1.8).clamp(-1.8, 1.8)),
        "jacobian": _list(slope),
    }


def _context(attention: Attention, s: Tensor, states: Tensor, slots: tuple[int, int]) -> Tree:
    """The context, how it is put together, and what it is near to."""
    with torch.no_grad():
        memory = attention.prepare(states.unsqueeze(0), torch.tensor([len(states)]))
        attended = attention(s.view(1, 1, -1), memory, torch.tensor([1]))
    a, c = attended.dense(len(states)).flatten(), attended.context.flatten()
    scaled = a.unsqueeze(-1) * states
    chain = torch.cat((torch.zeros(1, _SIZE, dtype=states.dtype), scaled.cumsum(0)))
    cosine = nn.functional.cosine_similarity(c, states, dim=-1)
    distance = (c - states).abs().mean(-1)
    heaviest, nearest = int(a.argmax()), int(distance.argmin())
    hard = states[heaviest]
    names = example.SOURCE
    pair = list(slots)
    return {
        "a": _list(a),
        "sum_a": float(a.sum()),
        "scaled": _list(scaled),
        "c": _list(c),
        "cosine": _list(cosine),
        "distance": _list(distance),
        "hard": _list(hard),
        "gap": float((c - hard).abs().mean()),
        "heaviest": names[heaviest],
        "nearest": names[nearest],
        "verdict": "the same state" if heaviest == nearest else "another state",
        "plane": {
            "slots": [slot + 1 for slot in pair],
            "states": _list(states[:, pair]),
            "chain": _list(chain[:, pair]),
            "hard": _list(hard[pair]),
        },
    }


def _elsewhere(states: Tensor) -> Tree:
    """Shares and distances where the heaviest state is not the nearest."""
    s = _tensor(example.ELSEWHERE)
    found = _context(Attention(additive(), Global(_SIZE)), s, states, (0, 1))
    straight = (_tensor(found["c"]) - states).norm(dim=-1)
    return {"s": _list(s), "straight": _list(straight)} | {k: found[k] for k in ("a", "cosine", "distance")}


def _start(states: Tensor) -> Tree:
    """The additive scores where the example starts, and what a division by their sum would give."""
    score = _tensor(_additive(_tensor(example.STEPS[example.STEP - 1]), states)["score"])
    return {"e": _list(score), "sum_e": float(score.sum()), "divided": _list(score / score.sum())}


def _corners(states: Tensor) -> Tree:
    """Equal scores, a score that dominates, one word, and sizes that do not fit."""
    attention = Attention(Dot(_SIZE, _SIZE), Global(_SIZE))

    def attend(query: Tensor, among: Tensor) -> Vector:
        memory = attention.prepare(among.unsqueeze(0), torch.tensor([len(among)]))
        found = attention(query.view(1, 1, -1), memory, torch.tensor([1]))
        return _vector(found.dense(len(among)).flatten())

    s = _tensor(example.STEPS[example.STEP - 1])
    refusal, ways = refused(_SIZE, 6, _UNITS)
    return {
        "uniform": attend(torch.zeros_like(s), states),
        "peaked": attend(example.PEAK * s, states),
        "single": attend(s, states[:1]),
        "refusal": refusal,
        "ways": ways,
    }


def _windows(point: Point) -> tuple[Tree, Tree]:
    """Three windows over a longer source of equal scores; their entropy as it grows, at the middle step."""
    s = _tensor(point.state)
    windows = {
        "global": Global(_SIZE),
        "local_m": LocalM(_SIZE, point.half_width),
        "local_p": _local_p(point.half_width),
    }
    shown: Tree = {"S": point.places, "D": point.half_width, "t": point.step, "sigma": point.half_width / 2}
    shown["bound"] = math.log(2 * point.half_width + 1)
    shown["there"] = [float(place < point.places) for place in range(example.LONGEST)]
    growth: Tree = {}
    for name, window in windows.items():
        attention = Attention(Dot(_SIZE, _SIZE), window).double()

        def weights(size: int, step: int, among: Attention = attention) -> Tensor:
            memory = among.prepare(torch.zeros(1, size, _SIZE, dtype=torch.float64), torch.tensor([size]))
            found = among(s.view(1, 1, -1), memory, torch.tensor([step]))
            return found.dense(size).flatten()

        with torch.no_grad():
            where = window.positions(
                s.view(1, 1, -1), torch.tensor([point.places]), torch.tensor([point.step])
            )
            row = weights(point.places, point.step)
            growth[name] = [entropy(weights(size, (size + 1) // 2)) for size in range(1, example.GROWTH + 1)]
        places = torch.arange(1, point.places + 1) if where is None else where.places[where.inside]
        shown[name] = {
            "weights": [*_list(row), *[0.0] * (example.LONGEST - point.places)],
            "sum": float(row.sum()),
            "scored": len(places),
            "first": int(places[0]),
            "last": int(places[-1]),
            "entropy": entropy(row),
            **({} if where is None else {"centre": float(where.centre)}),
        }
    # As high as the weights of equal scores, so that the bars inside stand on the line.
    gauss = _gauss(windows["local_p"], shown["local_p"]["centre"], point.places) / shown["local_p"]["scored"]
    shown["gauss"] = [*_list(gauss), *[0.0] * (example.LONGEST - point.places)]
    return shown, growth


def _gauss(window: Any, centre: float, size: int) -> Tensor:
    """The window's Gaussian at all positions of a source, also outside of it."""
    places = torch.arange(1, size + 1).view(1, 1, -1)
    inside = torch.ones_like(places, dtype=torch.bool)
    where = Positions(torch.zeros(1, 1, dtype=torch.long), places, inside, _tensor([[centre]]))
    found: Tensor = window.gaussian(where)
    return found.flatten()


def _local_p(half_width: int) -> LocalP:
    made = LocalP(_SIZE, half_width).double()
    with torch.no_grad():
        made.W_p.weight.copy_(_tensor(example.W_P))
        made.v_p.copy_(_tensor(example.V_P))
    return made


def _tensor(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _vector(values: Tensor) -> Vector:
    return [float(value) for value in values]


def _list(values: Tensor) -> Any:
    return values.detach().tolist()
