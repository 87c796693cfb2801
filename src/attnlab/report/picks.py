"""Where the numbers of a run are found, and how their means are written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from attnlab.report.rows import Run

Pick = Callable[[Run], "float | None"]


class Number(NamedTuple):
    """A number that every run may have.

    Attributes:
        title: of its column.
        name: in the CSV.
        pick: finds it; None as soon as a part is absent or null.
        write: how the mean is written.
        better: 1 where higher is better, -1 where lower is, 0 where neither.
    """

    title: str
    name: str
    pick: Pick
    write: Callable[[float], str]
    better: int = 0


def path(*keys: str, within: str = "test") -> Pick:
    """Looks a number up in a run's scores of the test set, or in a part of its record."""

    def pick(run: Run) -> float | None:
        value: Any = run.test if within == "test" else run.record.get(within)
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    return pick


def short(value: float) -> str:
    """`842`, `12.3k`, `4.5M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:.0f}"


def clock(value: float) -> str:
    """Seconds as `0:12:34`."""
    return str(timedelta(seconds=round(value)))


BLEU = path("bleu", "score")
AER = Number("AER", "aer_predicted", path("alignment", "predicted", "aer"), "{:.3f}".format, -1)
AER_INPUT = Number("AER input", "aer_input", path("alignment", "input", "aer"), "{:.3f}".format, -1)
ENTROPY = Number("entropy", "entropy", path("attention", "entropy_normalised"), "{:.3f}".format)
MAX_WEIGHT = Number("largest weight", "max_weight", path("attention", "max_weight"), "{:.3f}".format)
SCORES = (
    Number("TER", "ter", path("ter", "score"), "{:.1f}".format, -1),
    Number("perplexity", "perplexity", path("perplexity"), "{:.3g}".format, -1),
    Number("length ratio", "length_ratio", path("length_ratio"), "{:.3f}".format),
)
ATTENTION = Number("of them attention", "parameters_attention", path("attention", within="parameters"), short)
COSTS = (
    Number("parameters", "parameters", path("total", within="parameters"), short, -1),
    ATTENTION,
    Number("tokens/s", "tokens_per_s", path("tokens_per_s", within="train"), short, 1),
    Number("wall time", "wall_s", path("wall_s", within="train"), clock, -1),
)
UPDATES = Number("updates", "updates", path("updates", within="train"), short)
MEMORY = Number("peak memory", "peak_memory", path("peak_memory", within="train"), short, -1)
EVERY = (*SCORES, AER, AER_INPUT, ENTROPY, MAX_WEIGHT, *COSTS, UPDATES, MEMORY)
"""All of them, as the CSV has them."""
