"""The pictures of the worked example, by the step they belong to."""

from __future__ import annotations

from attnlab.explain.drawing import Picture
from attnlab.explain.pictures.bottleneck import beam, bottleneck
from attnlab.explain.pictures.context import chain, near
from attnlab.explain.pictures.lanes import ORDERS, lanes
from attnlab.explain.pictures.scores import funnel, shadow, slots
from attnlab.explain.pictures.softmax import corners, jacobian, softmax
from attnlab.explain.pictures.whole import pipeline
from attnlab.explain.pictures.window import growth, window


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
