"""Scorers, windows and words that are not ours: shown for what they are, or not at all."""

import re
from html import unescape

import pytest
import torch

import attnlab
from attnlab.attention import Dot, Positions, Scorer, Window
from attnlab.explain.filling import printable
from attnlab.explain.reading import read
from attnlab.explain.sentence import Sentence

from .alone import check_all


class Odd(Scorer):
    """A scorer of somebody else's."""

    def forward(self, query, keys):
        return -((query.unsqueeze(-2) - keys.unsqueeze(-3)) ** 2).sum(-1)


class Cosine(Dot):
    """One of somebody else's below ours: the products of its slots are not the parts of its score."""

    def forward(self, query, keys):
        score = super().forward(query, keys)
        return score / query.norm(dim=-1, keepdim=True) / keys.norm(dim=-1).unsqueeze(-2)


class Nearby(Window):
    """A local window of somebody else's, without a half width: the word before the step's own, and that."""

    local = True

    def positions(self, query, lengths, steps):
        middle = torch.minimum(steps, lengths.unsqueeze(-1))
        places = middle.unsqueeze(-1) + torch.tensor([-1, 0])
        inside = (places >= 1) & (places <= lengths[:, None, None])
        return Positions(middle - 2, places, inside, middle.float())


@pytest.mark.parametrize("scorer", [Odd, Cosine])
def test_a_scorer_of_ones_own_has_scores_and_no_parts(runs, sentence, scorer):
    run = attnlab.load(runs("scorer=dot decoder=post_combine window=local_p"), device="cpu")
    run.model.decoder.attention.scorer = scorer(8, 8)
    found = read(run, "it", sentence.source, sentence.target)
    assert found.facts["formula"] == scorer.__name__
    assert [step["units"] for step in found.steps] == [None] * len(found.steps)
    scores = [score for step in found.steps for score in step["e"] if score is not None]
    assert max(scores) < (0 if scorer is Odd else 1.001) and min(scores) < max(scores)
    check_all(found, sentence)


def test_a_window_of_ones_own_needs_no_half_width(runs, sentence):
    run = attnlab.load(runs("scorer=general decoder=post_combine window=local_m"), device="cpu")
    run.model.decoder.attention.window = Nearby(8)
    found = read(run, "it", sentence.source, sentence.target)
    assert [step["scored"] for step in found.steps][:3] == [1, 2, 2]
    assert found.facts["D"] is None
    check_all(found, sentence)


ODD_TEXTS = ["{x}", "*hi* `b`", "a_b {t:2}", "<b>&amp;", "\x1b[2J \x00"]


@pytest.mark.parametrize("odd", ODD_TEXTS)
def test_words_that_look_like_templates_and_marks_stand_as_they_are(runs, sentence, odd):
    """The tokeniser of these runs reads words it does not know, so the odd words are put behind it."""
    run = attnlab.load(runs("scorer=dot decoder=post_combine window=local_p_on_scores"), device="cpu")
    pieces = run.source_tokenizer.pieces
    run.source_tokenizer.pieces = lambda ids: [odd, *pieces(ids)[1:]]
    run.target_tokenizer.pieces = lambda ids: [odd] * len(ids)
    found = read(run, f"{odd}, global", sentence.source, odd)
    page, text = check_all(found, Sentence(odd, odd), odd)
    plain = printable(odd)
    assert plain in text and plain in unescape(re.sub(r"<[^>]+>", "", page))
    assert "<em>hi" not in page and '<tspan dy="3" font-size="75%">b' not in page
