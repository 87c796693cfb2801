"""The pictures of a trained run on one sentence; what belongs to a step of the output moves with the step."""

from __future__ import annotations

from attnlab.explain.drawing import Picture
from attnlab.explain.pictures.lanes import lanes
from attnlab.explain.pictures.runs.bottleneck import doorways
from attnlab.explain.pictures.runs.context import context, plane
from attnlab.explain.pictures.runs.corners import corners
from attnlab.explain.pictures.runs.question import beams
from attnlab.explain.pictures.runs.score import score
from attnlab.explain.pictures.runs.softmax import shares, slopes
from attnlab.explain.pictures.runs.whole import heat, pipeline
from attnlab.explain.pictures.runs.window import entropy, window
from attnlab.explain.reading import Reading


def pictures_of(reading: Reading) -> dict[str, list[Picture]]:
    """Of each step its pictures; none where a model without attention has nothing to show."""
    made: dict[str, list[Picture]] = {
        "bottleneck": [doorways(reading)],
        "lanes": [lanes("lanes", reading.facts["factors"], reading.facts["W_c"], "{name}")],
    }
    if reading.attends:
        made |= {
            "question": [beams(reading)],
            "score": [score(reading)],
            "softmax": [shares(reading), slopes()],
            "context": [plane(reading), context(reading)],
            "corners": [corners(reading)],
            "window": [window(reading), entropy(reading)],
            "whole": [pipeline(reading), heat(reading)],
        }
    return made
