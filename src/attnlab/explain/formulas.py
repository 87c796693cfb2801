"""The formulas of the scorers, as the papers write them."""

from __future__ import annotations

from attnlab.attention import Additive, Concat, Dot, General, Location, ScaledDot, Scorer

_FORMULAS: dict[type[Scorer], str] = {
    Dot: "e_j = s · h_j",
    ScaledDot: "e_j = s · h_j / √K",
    General: "e_j = s · W h_j",
    Additive: "e_j = v · tanh(W s + U h_j)",
    Concat: "e_j = v · tanh(W s + h_j)",
    Location: "e_j = row j of W, times s",
}


def formula(scorer: Scorer) -> str:
    """As the papers write it; of a class of one's own, also of one below ours, its name."""
    known = _FORMULAS.get(type(scorer))
    if known is None:
        return type(scorer).__name__
    bias = getattr(getattr(scorer, "U", None), "bias", None)
    return known if bias is None else known.replace("h_j)", "h_j + b)")
