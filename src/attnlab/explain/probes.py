"""A run asked what no sentence asks: the corners of its attention, and its entropy as the source grows.

The run's own scorer scores and its own window weighs; only the scores in between are stretched or levelled.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attnlab.attention import Attention, LocalP, Memory, Scorer
from attnlab.explain.counted import entropy, refused

Tree = dict[str, Any]
LONGEST = 60
"""Source lengths of the entropy's picture: 1 to this many."""
SURE = 0.995
"""The share from which a word has all but everything."""
_TIMES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_LEVEL = 0.005
"""Bars that differ by less of their height are equal."""
_SAME = 5e-4
"""Two numbers that differ by less are the same on a picture."""
_NOTHING = "no word has a weight here"


class Stretched(Scorer):
    """A run's scorer whose scores of a query are moved away from their mean, or to it.

    Args:
        scorer: the run's.
        times: 0 makes all scores the mean, 1 changes nothing, more stretches the differences.
        level: the mean.
    """

    def __init__(self, scorer: Scorer, times: float, level: float) -> None:
        super().__init__(scorer.query_dim, scorer.key_dim)
        self.scorer, self.times, self.level = scorer, times, level
        self.max_length = scorer.max_length

    def prepare(self, states: Tensor) -> Tensor:
        """The run's own."""
        return self.scorer.prepare(states)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """level + times * (e - level)."""
        scores: Tensor = self.scorer(query, keys)
        return self.level + self.times * (scores - self.level)


@torch.no_grad()
def corners(attention: Attention, query: Tensor, memory: Memory, at: Tensor, best: int) -> Tree:
    """Weights in three corners, with the state that asks now.

    Args:
        attention: the run's.
        query: s, [1, 1, H].
        memory: of the sentence.
        at: t, [1].
        best: the place, from 0, of the word that is then left alone.

    Returns:
        `uniform`: S weights where all scores are their mean; `peaked`: where their differences are
        multiplied by `times`, the smallest of a few numbers that gives one word `SURE` of the weight of all;
        `single`: the weight of the word alone. With `uniform_sum`, `uniform_top`, `peaked_sum`, `peak` (the
        largest weight), `peak_at` (its place), and a note on each corner: `level`, `sharp`, `alone`.
    """
    size = memory.states.shape[1]
    reach = int(memory.reachable)
    level = float(attention.scorer(query, memory.keys)[0, 0, :reach].mean()) if reach else 0.0

    def weights(times: float) -> list[float]:
        stretched = Attention(Stretched(attention.scorer, times, level), attention.window)
        found: list[float] = stretched(query, memory, at).dense(size).flatten().double().tolist()
        return found

    uniform = weights(0.0)
    for times in _TIMES:
        peaked = weights(float(times))
        if max(peaked) >= SURE * sum(peaked):
            break
    alone = attention.prepare(memory.states[:, best : best + 1], torch.ones_like(memory.lengths))
    single = float(attention(query, alone, at).dense(1).flatten()[0])
    found = {
        "uniform": uniform,
        "uniform_top": max(uniform),
        "uniform_sum": sum(uniform),
        "peaked": peaked,
        "peaked_sum": sum(peaked),
        "peak": max(peaked),
        "peak_at": peaked.index(max(peaked)),
        "times": times,
        "single": single,
    }
    return found | _notes(found, "the Gaussian" if isinstance(attention.window, LocalP) else "the window")


def _notes(found: Tree, by: str) -> Tree:
    """What each corner shows here, told from its numbers; `by` is what acts on the weights."""
    inside = [value for value in found["uniform"] if value > 0]
    flat = bool(inside) and max(inside) - min(inside) < _LEVEL * max(inside)
    whole = abs(found["uniform_sum"] - 1) < _SAME
    if not inside:
        level = _NOTHING
    elif flat and whole:
        level = (
            f"equal shares; c is the mean of {'one state' if len(inside) == 1 else f'{len(inside)} states'}"
        )
    elif whole:
        level = f"unequal: {by} bends them; sum 1"
    else:
        level = f"{'not 1' if flat else 'unequal'}: {by}; not divided again"
    if not found["peak"]:
        sharp = _NOTHING
    elif found["peak"] >= SURE:
        sharp = "c is all but the state of that word"
    elif found["peak"] / found["peaked_sum"] >= SURE:
        sharp = f"all of it, but for {by}'s factor"
    else:
        sharp = "two scores are too close for a peak"
    alone = "c is its state, whatever its score"
    if not found["single"]:
        alone = _NOTHING
    elif abs(found["single"] - 1) >= _SAME:
        alone = f"not 1: {by}'s factor, not divided again"
    return {"level": level, "sharp": sharp, "alone": alone}


def sizes(scorer: Scorer) -> Tree:
    """What a dot product of unequal sizes is told, with the run's sizes where they are unequal.

    Returns:
        `H`, `K`; `own`: whether they are the run's, else the states are half as wide; `refusal`: the
        framework's own message; `general`, `additive`: parameters of the scores that join the two sizes,
        the second with as many `units` as the decoder state has numbers.
    """
    width, other = scorer.query_dim, scorer.key_dim
    own = width != other
    if not own:
        other = max(1, other // 2) if other > 1 else 2
    refusal, ways = refused(width, other, width)
    return {
        "H": width,
        "K": other,
        "own": own,
        "refusal": refusal,
        "general": ways[0],
        "additive": ways[1],
        "units": width,
    }


@torch.no_grad()
def growth(attention: Attention, query: Tensor) -> list[float]:
    """Entropy of equal scores under the run's window for 1 to `LONGEST` source words, at the middle step.

    Args:
        attention: the run's, of which the window is asked.
        query: s, [1, 1, H]; a window that predicts its place does so from this state.
    """
    scorer = Stretched(attention.scorer, 0.0, 0.0)
    scorer.max_length = None
    attention = Attention(scorer, attention.window)
    states = query.new_zeros(1, LONGEST, attention.scorer.key_dim)
    curve = []
    for size in range(1, LONGEST + 1):
        memory = attention.prepare(states[:, :size], torch.tensor([size], device=query.device))
        at = torch.tensor([(size + 1) // 2], device=query.device)
        curve.append(entropy(attention(query, memory, at).dense(size).double()))
    return curve


def ceiling(half_width: int | None, size: int) -> float:
    """The largest entropy that S words, or the 2 D + 1 of a window, can have, in nats."""
    return math.log(size if half_width is None else min(size, 2 * half_width + 1))
