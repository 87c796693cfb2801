"""Scorers, windows and words that are not ours: shown for what they are, or not at all."""

import re
from html import unescape

import pytest
import torch

import attnlab
from attnlab.attention import Dot, LocalM, Positions, Scorer, Window
from attnlab.explain import probes
from attnlab.explain.filling import printable
from attnlab.explain.following import follow
from attnlab.explain.pictures.runs import pictures_of
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


def hidden(scores, places):
    """Every odd place but the first at -inf."""
    return scores.masked_fill((places % 2 == 1) & (places > 1), -torch.inf)


class Even(LocalM):
    """Hides places of its window by -inf."""

    def on_scores(self, scores, where):
        return hidden(scores, where.places)


class EvenOfAll(Window):
    """The same without a window around it."""

    def on_scores(self, scores, where):
        return hidden(scores, torch.arange(1, scores.shape[-1] + 1))


class Halved(Window):
    """Takes half of every weight away."""

    def on_weights(self, weights, where):
        return weights / 2


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


@pytest.mark.parametrize("window", [Even, EvenOfAll])
def test_a_place_that_a_window_hides_by_minus_infinity_has_no_score(runs, sentence, window):
    run = attnlab.load(runs("scorer=general decoder=post_combine window=local_m"), device="cpu")
    attention = run.model.decoder.attention
    attention.window = window(8, 2) if window is Even else window(8)
    found = read(run, "it", sentence.source, sentence.target)
    _, _, weights = run.attend(sentence.source, sentence.target)
    for step, row in zip(found.steps, weights, strict=True):
        assert step["a"] == pytest.approx(row.tolist(), abs=1e-5)
        scored = [k for k, score in enumerate(step["e"]) if score is not None]
        assert scored == [k for k, weight in enumerate(row.tolist()) if weight > 0]
        assert step["scored"] == len(scored) and all((k + 1) % 2 == 0 or k == 0 for k in scored)
        assert all(abs(step["e"][k]) < 100 for k in scored)
    _, text = check_all(found, sentence)
    assert not re.search(r"\binf\b", text)


def test_a_window_of_ones_own_that_acts_on_weights_is_called_no_gaussian(runs, sentence):
    run = attnlab.load(runs("scorer=general decoder=post_combine window=local_m"), device="cpu")
    run.model.decoder.attention.window = Halved(8)
    found = read(run, "it", sentence.source, sentence.target)
    for step in found.steps:
        notes = {name: step["corners"][name] for name in ("level", "sharp", "alone")}
        assert notes["level"] == "not 1: the window; not divided again"
        assert notes["alone"] == "not 1: the window's factor, not divided again"
        assert "Gaussian" not in notes["sharp"]
    (picture,) = [one for one in pictures_of(found)["whole"] if one.key == "pipeline"]
    assert ", then the window" in picture.svg(found.steps[0]) and "Gauss" not in picture.svg(found.steps[0])
    check_all(found, sentence)


def test_what_a_probe_asks_the_attention_is_no_step(runs, sentence, monkeypatch):
    run = attnlab.load(runs("scorer=general decoder=post_combine window=local_p"), device="cpu")
    ids, written = run.source_tokenizer.encode([sentence.source])[0], [run.target_tokenizer.end] * 3
    corners = probes.corners

    def asking(attention, query, memory, at, best):
        attention(-query, memory, at)
        return corners(attention, query, memory, at, best)

    quiet = follow(run, ids, written)
    monkeypatch.setattr(probes, "corners", asking)
    loud = follow(run, ids, written)
    assert torch.equal(loud.query, quiet.query)
    assert loud.steps == quiet.steps


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
