"""The pictures of the worked example, by the step they belong to."""

from __future__ import annotations

from attnlab.explain.drawing import Picture
from attnlab.explain.pictures.example.bottleneck import bottleneck
from attnlab.explain.pictures.example.context import chain, near
from attnlab.explain.pictures.example.corners import corners
from attnlab.explain.pictures.example.question import beam
from attnlab.explain.pictures.example.score import funnel, shadow, slots
from attnlab.explain.pictures.example.softmax import jacobian, softmax
from attnlab.explain.pictures.example.whole import pipeline
from attnlab.explain.pictures.example.window import growth, window
from attnlab.explain.pictures.lanes import ORDERS, lanes


def pictures() -> dict[str, list[Picture]]:
    """All of them; those of one step whose keys end in a number or an order are alternatives."""
    return {
        "bottleneck": [bottleneck()],
        "question": [beam()],
        "score": [slots(), shadow(), *(funnel(j) for j in range(3))],
        "softmax": [softmax(), jacobian()],
        "context": [chain(), near()],
        "lanes": [lanes(f"lanes_{name}", factors, "{sizes.W_c}", name) for name, factors in ORDERS.items()],
        "corners": [corners()],
        "window": [window(), growth()],
        "whole": [pipeline()],
    }
