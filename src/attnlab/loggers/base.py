"""What every logger is told of a run, and how nested settings and scores become flat names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class Facts:
    """Who a run is.

    Attributes:
        cell: the chosen option of each axis: encoder, scorer, decoder, window.
        cell_id: the name shared by the runs of a cell that differ in the seed only.
        study: the study it belongs to, if any.
        seed: the run's seed.
        config: the run's plain settings.
    """

    cell: Mapping[str, str | None]
    cell_id: str
    seed: int
    study: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


class Example(NamedTuple):
    """One translated sentence with its attention, in pieces.

    Attributes:
        source: S source pieces.
        hypothesis: the emitted pieces and the end mark, one a row of `weights`.
        weights: [T+1, S].
    """

    source: list[str]
    hypothesis: list[str]
    weights: np.ndarray


class Sample(NamedTuple):
    """One sentence of a validation, as text."""

    sentence: int
    """Its place in the set, from 0."""
    source: str
    hypothesis: str
    reference: str


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as `group/option: value`; lists stay lists, so that one option is one column.

    The separator is not a dot: W&B reads dots in a filter as a path into nested settings.
    """
    result: dict[str, Any] = {}
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            result.update(flat(value, f"{name}/"))
        else:
            result[name] = value
    return result


def scalars(name: str, result: Mapping[str, Any]) -> dict[str, float]:
    """The scores of one test set under `test/<set>/...`: bleu, chrf, ter, perplexity, AER and the rest.

    Every number outside the length tables and the settings of the search; `{score, signature}` pairs under
    the metric's own name.
    """
    return _numbers(f"test/{name}", {key: value for key, value in result.items() if key != "search"})


def _numbers(prefix: str, result: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, value in result.items():
        if isinstance(value, Mapping) and "signature" in value:
            value = value.get("score")
        if isinstance(value, Mapping):
            found.update(_numbers(f"{prefix}/{key}", value))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[f"{prefix}/{key}"] = float(value)
    return found
