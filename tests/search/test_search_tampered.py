"""Search with tampered weights: the identity changes nothing, and nothing else changes what an override does."""

from itertools import chain

import pytest
import torch

from attnlab.attention import OVERRIDES
from attnlab.model import FixedVector, InputFeeding, PostCombine
from attnlab.search import Search, forced

OPTIONS = sorted(OVERRIDES)


@pytest.fixture(params=OPTIONS)
def option(request):
    return request.param


@pytest.fixture(params=[InputFeeding, PostCombine], ids=lambda order: order.__name__)
def asking(request):
    return request.param


def test_the_identity_changes_no_hypothesis(tools, order, window):
    if order is FixedVector:
        assert tools.real_model(order, window).decoder.attention is None
        return
    model = tools.real_model(order, window)
    source, lengths = tools.sources([7, 1, 5, 12, 3])
    before = Search(5, n_best=3)(model, source, lengths, end=tools.END)
    model.decoder.attention.override = OVERRIDES["none"]
    after = Search(5, n_best=3)(model, source, lengths, end=tools.END)
    for one, other in zip(chain(*before), chain(*after), strict=True):
        assert (one.tokens, one.score, one.finished) == (other.tokens, other.score, other.finished)
        assert torch.equal(one.weights, other.weights)


def test_every_other_override_changes_some_hypothesis(tools, asking, option):
    model = tools.real_model(asking)
    source, lengths = tools.sources([7, 4, 5, 12, 3, 9, 8])
    before = Search(5)(model, source, lengths, end=tools.END)
    model.decoder.attention.override = OVERRIDES[option]
    after = Search(5)(model, source, lengths, end=tools.END)
    unlike = [a[0].tokens != b[0].tokens for a, b in zip(before, after, strict=True)]
    assert any(unlike) == (option != "none")


@pytest.mark.parametrize("beam", [1, 5])
def test_a_sentence_is_tampered_with_alike_alone_and_among_others(tools, asking, window, option, beam):
    model = tools.real_model(asking, window)
    model.decoder.attention.override = OVERRIDES[option]
    source, lengths = tools.sources([7, 1, 5, 12])
    together = Search(beam)(model, source, lengths, end=tools.END)
    for row, length in enumerate(lengths.tolist()):
        ((alone,),) = Search(beam)(
            model, source[row : row + 1, :length], lengths[row : row + 1], end=tools.END
        )
        assert alone.tokens == together[row][0].tokens
        torch.testing.assert_close(alone.weights, together[row][0].weights, atol=1e-5, rtol=0)


@pytest.mark.parametrize("beam", [1, 5])
def test_search_and_forced_decoding_meet_the_same_weights(tools, asking, window, option, beam):
    """So does a beam and greedy search: the weights of a hypothesis do not depend on those beside it."""
    model = tools.real_model(asking, window)
    model.decoder.attention.override = OVERRIDES[option]
    source, lengths = tools.sources([7, 1, 5, 12])
    for row, (best,) in enumerate(Search(beam)(model, source, lengths, end=tools.END)):
        target = torch.tensor([[*best.tokens, *[tools.END] * best.finished]])
        length = int(lengths[row])
        read = forced(model, source[row : row + 1, :length], lengths[row : row + 1], target)
        torch.testing.assert_close(read.weights[0], best.weights, atol=1e-5, rtol=0)
        assert float(read.log_probs.sum()) == pytest.approx(best.log_prob, abs=1e-4)
