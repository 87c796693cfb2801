"""A scorer under windows, and a window under scorers: the whole of `joined`."""

from collections.abc import Callable
from typing import Any

import torch

from attnlab.attention import (
    Additive,
    Attention,
    General,
    Global,
    LocalM,
    LocalP,
    LocalPOnScores,
    LocalPRenorm,
    Location,
)
from attnlab.contract import joined
from attnlab.contract.broken import Broken, Subject, failing

REACH = 20  # positions of the position score: fewer than the longest sentence has
NARROW = {"half_width": 2}


def under_every_window(subject: Subject) -> None:
    """A scorer joined with every window there is."""
    query_dim, _ = subject.sizes
    for window in (Global, LocalM, LocalP, LocalPRenorm, LocalPOnScores):
        options = NARROW if window.local else {}

        def made(window: Any = window, options: dict[str, int] = options) -> Attention:
            where = _seeded(lambda: window(query_dim, **options))
            return Attention(subject.again(*subject.sizes).eval(), where)

        _everything(f"{subject.title} under {window.__name__}", made, at_most_one=window is LocalP)


def under_every_scorer(subject: Subject) -> None:
    """A window joined with a product, a funnel and a score of places alone."""
    for scorer, options in ((General, {}), (Additive, {"units": 5}), (Location, {"max_length": REACH})):

        def made(scorer: Any = scorer, options: dict[str, int] = options) -> Attention:
            scores = _seeded(lambda: scorer(*subject.sizes, **options))
            return Attention(scores, subject.again(subject.sizes[0]).eval())

        _everything(f"{subject.title} with {scorer.__name__}", made, at_most_one=True)


def _seeded(make: Callable[[], Any]) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return make().double()


def _everything(where: str, made: Callable[[], Attention], at_most_one: bool) -> None:
    """All clauses, each on a new attention."""
    with failing("error", where, "sentences of 0 to 30 tokens in one batch", "see what raised it"):
        try:
            for one_step in (True, False):
                for word in ("float32",) if one_step else joined.PRECISIONS:
                    joined.masks_hold(made(), word, one_step, at_most_one)
                joined.half_agrees_with_single(made(), one_step, by_size=True)
                joined.a_sentence_is_as_if_alone(made(), one_step)
                joined.an_empty_sentence_leaves_the_gradients_of_the_others(made(), one_step)
            joined.one_step_gives_what_all_steps_give(made())
            joined.nothing_of_a_batch_is_kept(made())
            joined.sentences_can_be_selected(made())
        except Broken as broken:
            place = f"{where}: {broken.where}"
            raise Broken(broken.name, place, broken.what, broken.remedy) from broken
