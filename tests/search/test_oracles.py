"""Beam search against two slow searches: all hypotheses written out, and one sentence at a time in plain Python."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.search import Average, Gnmt, Search


def every_hypothesis(table, name, words, end, min_length, max_length):
    """All that can be finished: (words, log-probability with the end mark)."""
    for n in range(min_length, max_length):
        for chosen in itertools.product(words, repeat=n):
            steps = [table(name, chosen[:i])[token] for i, token in enumerate((*chosen, end))]
            yield list(chosen), sum(steps)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    words=st.integers(1, 2),
    max_length=st.integers(1, 4),
    min_length=st.integers(0, 2),
    penalty=st.sampled_from([Gnmt(0), Gnmt(0.6), Gnmt(2), Average()]),
    n_best=st.integers(1, 20),
    sharpness=st.sampled_from([0.3, 1.0, 3.0]),
)
def test_a_beam_as_wide_as_the_tree_finds_what_enumeration_finds(
    tools, seed, words, max_length, min_length, penalty, n_best, sharpness
):
    min_length = min(min_length, max_length - 1)
    table = tools.random_table(seed, 3 + words, sharpness)
    search = Search(
        beam_size=32,
        length_penalty=penalty,
        n_best=n_best,
        min_length=min_length,
        max_length=max_length,
        max_length_factor=0,
        max_length_offset=4,
    )
    names = torch.tensor([[3, 3], [4, 4], [5, 5]])
    found = search(tools.Scripted(table), names, torch.tensor([2, 2, 2]), end=tools.END)

    for name, hypotheses in zip(names[:, 0].tolist(), found, strict=True):
        every = every_hypothesis(table, name, range(3, 3 + words), tools.END, min_length, max_length)
        best = sorted(every, key=lambda h: -h[1] / penalty(len(h[0]) + 1))[:n_best]
        real = [h for h in hypotheses if not h.missing]
        assert len(hypotheses) == n_best and len(real) == len(best)
        assert all(h.finished for h in real)
        for hypothesis, (tokens, log_prob) in zip(real, best, strict=True):
            assert hypothesis.tokens == tokens
            assert hypothesis.log_prob == pytest.approx(log_prob, abs=1e-4)
            assert hypothesis.score == pytest.approx(log_prob / penalty(len(tokens) + 1), abs=1e-4)


def slow_search(model, source, beam, penalty, n_best, limit, end):
    """The rules of `Search`, one sentence, one hypothesis at a time, each scored by `forward` on its prefix."""
    lengths = torch.tensor([len(source)])
    alive, finished = [([], 0.0)], []
    for t in range(1, limit + 1):
        everyone = []
        for tokens, total in alive:
            target = torch.tensor([[*tokens, end]])  # the last one is not read
            row = model.logits(model(source[None], lengths, target).readouts)[0, -1].log_softmax(-1)
            for token, log_prob in enumerate(row.tolist()):
                if token not in (model.pad, model.start):
                    everyone.append(([*tokens, token], total + log_prob))
        everyone.sort(key=lambda h: -h[1])
        finished += [(h, p, p / penalty(t)) for h, p in everyone[:beam] if h[-1] == end]
        finished.sort(key=lambda h: -h[2])
        alive = [h for h in everyone if h[0][-1] != end][:beam]
        beaten = len(finished) >= n_best and finished[n_best - 1][2] >= alive[0][1] / penalty(limit)
        if beaten or len(finished) >= beam:
            break
    if finished:
        return [(h[:-1], p, s, True) for h, p, s in finished[:n_best]]
    return [(h, p, p / penalty(limit), False) for h, p in alive[:n_best]]


@pytest.mark.parametrize("penalty", [Gnmt(0), Gnmt(1), Average()], ids=["sums", "gnmt", "average"])
@pytest.mark.parametrize(("beam", "n_best"), [(1, 1), (3, 1), (3, 3)])
@torch.no_grad()
def test_the_batched_search_equals_the_slow_one(tools, order, penalty, beam, n_best):
    model = tools.real_model(order, sharp=3.0)
    source, lengths = tools.sources([6, 1, 4, 3, 2])
    search = Search(beam, penalty, n_best, max_length_factor=1, max_length_offset=2)
    found = search(model, source, lengths, end=tools.END)

    for row, length, hypotheses in zip(source, lengths.tolist(), found, strict=True):
        slow = slow_search(model, row[:length], beam, penalty, n_best, length + 2, tools.END)
        assert len(slow) == len([h for h in hypotheses if not h.missing])
        for hypothesis, (tokens, log_prob, score, finished) in zip(hypotheses, slow, strict=False):
            assert hypothesis.tokens == tokens
            assert hypothesis.finished == finished
            assert hypothesis.log_prob == pytest.approx(log_prob, abs=1e-4)
            assert hypothesis.score == pytest.approx(score, abs=1e-4)


def test_the_gnmt_penalty_is_the_published_one():
    assert Gnmt(0.6)(5) == pytest.approx(1.3587, abs=5e-5)
    assert [Gnmt(0)(n) for n in range(1, 9)] == [1.0] * 8
    assert math.isclose(Gnmt(1)(7), 2.0)
    assert Average()(5) == 5
