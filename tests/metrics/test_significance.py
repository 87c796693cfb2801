"""Approximate randomisation, Holm's correction and comparisons of many systems."""

import math
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UserError
from attnlab.metrics import Bleu, bleu_score, compare, difference, holm, mean_score, randomisation
from attnlab.metrics.significance import below

from .simulated import World
from .test_bootstrap import hypotheses, sacrebleu_test, segments


@pytest.fixture
def systems():
    world = World(120, np.random.default_rng(3))
    runs = {"none": (1, 0), "dot": (3, 0), "general": (2, 2), "concat": (3, 4)}
    return {
        name: world.system(count, points=points, seed_points=0.3) for name, (count, points) in runs.items()
    }


def test_randomisation_approaches_the_share_of_all_swaps():
    a, b = [3.0, 1.0, 4.0, 1.5, 5.0, 0.0], [2.0, 1.2, 2.0, 1.0, 2.5, 0.5]
    gains = np.array(a) - np.array(b)
    signs = np.array(list(product([-1, 1], repeat=6)))
    exact = (np.abs(signs @ gains) >= abs(gains.sum()) - 1e-9).mean()
    found = randomisation(segments(*a), segments(*b), mean_score(), trials=20000, seed=2)
    assert found == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20000))


def test_systems_that_differ_in_one_sentence_do_not_differ():
    same = [1.0] * 50
    assert randomisation(segments(*same, 1.0), segments(*same, 0.0), mean_score(), trials=200) == 1.0


@pytest.mark.parametrize("runs", [1, 3])
def test_a_single_sentence_is_never_significant_whatever_its_seeds_say(runs):
    a, b = (np.repeat(segments(score), runs, axis=0) for score in (9.0, 1.0))
    a[:, 0, 0] += np.arange(runs) / 10
    (test,) = compare({"a": a, "b": b}, mean_score(), baseline="b", samples=50, trials=200)
    assert (test.p_bootstrap, test.p_randomisation, test.significant) == (1.0, 1.0, False)


def test_runs_are_swapped_together_as_their_average():
    # Two runs each: the difference of a sentence is that of the averages, and every assignment is as likely.
    a, b = [[2.0, 4.0, 1.0], [4.0, 4.0, 3.0]], [[1.0, 3.0, 3.0], [1.0, 1.0, 3.0]]
    stats = [np.concatenate([segments(*run) for run in runs]) for runs in (a, b)]
    from attnlab.metrics.significance import _assigned

    whole, parts = _assigned(stats, 4000, 1)
    null = mean_score()(whole[1] + parts[0] - parts[1]) - mean_score()(whole[0] - parts[0] + parts[1])
    gains = np.array([3 - 1, 4 - 2, 2 - 3]) / 3
    expected = sorted({round(float(np.dot(signs, gains)), 9) for signs in product([-1, 1], repeat=3)})
    assert sorted({round(float(value), 9) for value in null}) == expected


@pytest.mark.parametrize("errors", [(0.2, 0.2), (0.2, 0.215), (0.2, 0.23), (0.2, 0.25)])
def test_against_the_randomisation_of_sacrebleu(errors):
    references, (first, second) = hypotheses(250, errors, seed=4)
    baseline, theirs = sacrebleu_test("ar", references, [second, first], 2000)
    bleu = Bleu()
    a, b = (bleu.statistics(lines, references)[None] for lines in (first, second))
    (ours,) = compare({"a": a, "b": b}, bleu_score(), baseline="b", samples=50, trials=2000)
    assert ours.delta == pytest.approx(theirs.score - baseline.score, abs=1e-9)
    p = theirs.p_value
    error = math.sqrt(2 * p * (1 - p) / 2000) + 1 / 2000
    assert ours.p_randomisation == pytest.approx(p, abs=4 * error)


@pytest.mark.parametrize("counts", [(1, 1), (3, 3), (1, 2)])
def test_identical_systems_have_p_1_and_are_never_significant(counts):
    stats = World(60, np.random.default_rng(1)).system(1)
    found = {name: np.repeat(stats, runs, axis=0) for name, runs in zip("ab", counts, strict=True)}
    (test,) = compare(found, bleu_score(), baseline="b", samples=50, trials=50)
    assert (test.delta, test.p_bootstrap, test.p_randomisation, test.p_holm) == (0.0, 1.0, 1.0, 1.0)
    assert not test.significant
    assert (test.low, test.high) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_every_system_stands_against_the_baseline(systems):
    tests = compare(systems, bleu_score(), baseline="dot", samples=100, trials=100)
    assert [(test.first, test.second, test.seeds) for test in tests] == [
        ("none", "dot", (1, 3)),
        ("general", "dot", (2, 3)),
        ("concat", "dot", (3, 3)),
    ]
    for test in tests:
        means = [bleu_score()(systems[name].sum(1)).mean() for name in (test.first, test.second)]
        assert test.delta == pytest.approx(means[0] - means[1], abs=1e-9)
        pair = difference(systems[test.first], systems[test.second], bleu_score(), samples=100)
        assert (test.delta, test.low, test.high, test.p_bootstrap) == pair
    corrected = holm([test.p_randomisation for test in tests])
    assert [test.p_holm for test in tests] == corrected
    assert [test.p_holm_bootstrap for test in tests] == holm([test.p_bootstrap for test in tests])
    assert [test.significant for test in tests] == [p < 0.05 for p in corrected]


def raw(tests):
    """What a pair says whichever way round it is told."""
    return {
        frozenset([t.first, t.second]): (
            round(abs(t.delta), 9),
            round(t.p_bootstrap, 9),
            round(t.p_randomisation, 9),
        )
        for t in tests
    }


def test_a_pair_has_its_own_numbers_whatever_else_is_compared(systems):
    options = {"samples": 100, "trials": 100, "seed": 9}
    every = raw(compare(systems, bleu_score(), baseline=None, **options))
    assert set(every) == {frozenset(pair) for pair in combinations(systems, 2)}
    turned = dict(reversed(systems.items()))
    assert raw(compare(turned, bleu_score(), baseline=None, **options)) == every
    for pair in combinations(systems, 2):
        two = {name: systems[name] for name in pair}
        assert raw(compare(two, bleu_score(), baseline=pair[1], **options)) == {
            frozenset(pair): every[frozenset(pair)]
        }


def test_numbers_follow_their_seed(systems):
    options = {"baseline": "none", "samples": 100, "trials": 700}
    once, again, other = (compare(systems, bleu_score(), seed=seed, **options) for seed in (4, 4, 5))
    assert once == again
    assert [test.delta for test in once] == [test.delta for test in other]
    assert once != other


def test_fewer_trials_are_the_first_of_more(systems):
    from attnlab.metrics.significance import _assigned

    stats = list(systems.values())
    assert (_assigned(stats, 30, 1)[1] == _assigned(stats, 700, 1)[1][:, :30]).all()


def test_what_cannot_be_compared_is_refused_in_one_line(systems):
    with pytest.raises(UserError, match="baseline 'additive' is none of none, dot, general, concat"):
        compare(systems, bleu_score(), baseline="additive")
    with pytest.raises(UserError, match="trials=0"):
        compare(systems, bleu_score(), baseline="dot", trials=0)
    with pytest.raises(UserError, match="119 and 120 sentences"):
        compare({**systems, "dot": systems["dot"][:, :119]}, bleu_score(), baseline="none")
    assert compare({"dot": systems["dot"]}, bleu_score(), baseline="dot") == []


def test_holm_of_the_worked_example():
    # Four tests: 0.005 * 4, 0.01 * 3, then 0.03 * 2 and 0.04 * 1, which may not fall below it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


PS = st.lists(st.none() | st.floats(0, 1), max_size=12)


@given(PS)
def test_holm_keeps_places_order_and_bounds(ps):
    corrected = holm(ps)
    assert [p is None for p in corrected] == [p is None for p in ps]
    pairs = sorted((p, q) for p, q in zip(ps, corrected, strict=True) if p is not None)
    assert all(p <= q <= 1 for p, q in pairs)
    assert all(low[1] <= high[1] for low, high in pairwise(pairs))
    if pairs:
        assert pairs[0][1] == pytest.approx(min(1, pairs[0][0] * len(pairs)))


@given(PS, st.floats(0.001, 0.2))
def test_holm_rejects_what_its_steps_reject(ps, level):
    there = sorted(p for p in ps if p is not None)
    rejected = 0
    while rejected < len(there) and there[rejected] * (len(there) - rejected) < level:
        rejected += 1
    assert sum(p is not None and p < level for p in holm(ps)) == rejected


def test_a_p_at_the_limit_is_not_below_it():
    assert not below(0.05, 0.95) and below(0.0499, 0.95) and not below(0.01, 0.99)
