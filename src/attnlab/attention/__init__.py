"""Attention between a decoder state and the source: one equation, and the parts it is made of.

At target step t a decoder state s asks every source state h_1 .. h_S (or those in a window)

    e_j = score(s, h_j)              scorers.py    how well does position j answer?
    a   = softmax(e)                 attention.py  shares of one
    c   = sum_j a_j h_j              attention.py  the context, a weighted average of the states

and a window (windows.py) says which j take part and may act on e or on a. When a trained model is tested, the
weights may be tampered with (tampering.py).

Letters of the shapes, here and in every annotation of the project:

    B batch           T target steps     Q queries asked at once (T in training, the beam in search)
    S source tokens   N positions scored (S, or W = 2D + 1 in a window of half width D)
    H decoder state   K encoder state    A key (what a scorer prepares)    U alignment units

Positions are 1..S in formulas and in `steps`; indices of tensors count from 0.
"""

from attnlab.attention.attention import Attended, Attention, Memory
from attnlab.attention.scorers import Additive, Concat, Dot, General, Location, ScaledDot, Scorer
from attnlab.attention.tampering import OVERRIDES, Override
from attnlab.attention.windows import (
    Global,
    LocalM,
    LocalP,
    LocalPOnScores,
    LocalPRenorm,
    Positions,
    Window,
)

__all__ = [
    "OVERRIDES",
    "Additive",
    "Attended",
    "Attention",
    "Concat",
    "Dot",
    "General",
    "Global",
    "LocalM",
    "LocalP",
    "LocalPOnScores",
    "LocalPRenorm",
    "Location",
    "Memory",
    "Override",
    "Positions",
    "ScaledDot",
    "Scorer",
    "Window",
]
