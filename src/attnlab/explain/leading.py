"""The few words of a step that a picture names: the best scores, and the largest weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attnlab.explain.drawing import MINUS
from attnlab.explain.filling import shown

BEST = 3
"""Beams that have their score written on them."""
SHOWN = 3
"""Words that have a lane of their own in the pipeline; the others share one."""
_LETTERS = 11


def leaders(scores: Sequence[float | None]) -> dict[str, Any]:
    """The best scores, and which words have none.

    Args:
        scores: e_j of each source word, None outside the window.

    Returns:
        `leaders`: `BEST` of `place` (from 0) and `score` (as text; empty where there are fewer), best first;
        `outside`: 1 for each word without a score, else 0.
    """
    there = [(value, k) for k, value in enumerate(scores) if value is not None]
    there = sorted(there, key=lambda one: (-one[0], one[1]))[:BEST]
    found = [{"place": k, "score": shown(value, 2, minus=MINUS)} for value, k in there]
    found += [{"place": 0, "score": ""} for _ in range(BEST - len(found))]
    return {"leaders": found, "outside": [float(value is None) for value in scores]}


def lanes_of(
    weights: Sequence[float], scores: Sequence[float | None], words: Sequence[str]
) -> dict[str, Any]:
    """The heaviest words and the rest.

    Args:
        weights: of each source word.
        scores: of each; None outside the window.
        words: the source, its repeated words with their places, `tofoka (11)`.

    Returns:
        `top`: `SHOWN` of `word`, `place` (from 1), `score` (as text) and `a`; empty words where the source
        has fewer. `others`: how many there are (`count`) and their weight (`a`).
    """
    order = sorted(range(len(weights)), key=lambda j: -weights[j])
    top = []
    for j in order[:SHOWN]:
        score = scores[j]
        text = "no score" if score is None else f"e {shown(score, 2, minus=MINUS)}"
        word = words[j].removesuffix(f" ({j + 1})")  # its place stands below it
        word = word if len(word) <= _LETTERS else word[: _LETTERS - 1] + "…"
        top.append({"word": word, "place": str(j + 1), "score": text, "a": weights[j]})
    top += [{"word": "", "place": "", "score": "", "a": 0.0} for _ in range(SHOWN - len(top))]
    left = order[SHOWN:]
    return {"top": top, "others": {"count": len(left), "a": sum(weights[j] for j in left)}}


def opening(entropies: Sequence[Sequence[float]]) -> int:
    """The step of the output, from 1, at which there is most to see: where the runs look most widely.

    A last step is not taken where there are others: at the end mark a decoder looks anywhere.

    Args:
        entropies: of each run with an attention, of each of its steps, in nats.
    """
    common = min((len(run) - 1 for run in entropies), default=0)
    return max(range(1, common + 1), key=lambda t: sum(run[t - 1] for run in entropies), default=1)
