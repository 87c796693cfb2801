"""Dropout off while a model is searched."""

from collections.abc import Iterator
from contextlib import contextmanager

from attnlab.search.hypothesis import Model


@contextmanager
def evaluating(model: Model) -> Iterator[None]:
    """Puts the model into evaluation mode, and back into training mode if it was in it."""
    training = model.training
    if training:
        model.eval()
    try:
        yield
    finally:
        if training:
            model.train()
