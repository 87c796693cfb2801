"""The type checks of the tests: on, and taking an int for a float as Python does."""

import hydra
import pytest
from jaxtyping import TypeCheckError

from attnlab.build import rehearse
from attnlab.model import FanIn
from attnlab.sweep import compose, identity

WHOLE = [
    *("encoder.dropout=0", "decoder.dropout=0", "model.dropout=0", "optim.lr=1", "optim.label_smoothing=0"),
    *("optim.optimizer.weight_decay=0", "search.length_penalty=0", "search.max_length_factor=2"),
    *("callbacks.min_delta=0", "trainer.gradient_clip_val=1", "data.unknown_limit=1"),
]


def rehearsed(*overrides: str) -> None:
    with compose.composing():
        config = identity.plain(hydra.compose("config", overrides=[*WHOLE, *overrides]))
    rehearse(config)


@pytest.mark.parametrize("first", ["fan_in", "uniform", "bahdanau"])
def test_whole_numbers_are_taken_for_fractions(first: str) -> None:
    options = {"fan_in": ["model.initialise.embedding_std=1"], "uniform": ["model.initialise.scale=1"]}
    rehearsed(f"model/initialise={first}", *options.get(first, []))


def test_what_is_no_number_is_refused_by_the_checks() -> None:
    with pytest.raises(TypeCheckError):
        FanIn(embedding_std="1")
