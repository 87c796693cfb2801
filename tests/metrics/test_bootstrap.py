"""Intervals and the paired bootstrap: reproducible, equal to hand-worked numbers, paired, two-sided."""

import math
from itertools import product

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from attnlab.errors import UserError
from attnlab.metrics import Bleu, bleu_score, difference, draws, interval, mean_score
from attnlab.metrics.bootstrap import difference_of, interval_of, resample

from .simulated import World


def segments(*scores):
    """Statistics [1, n, 2] of segment scores."""
    return np.stack([np.array(scores, dtype=float), np.ones(len(scores))], axis=1)[None]


def world(n=200, seed=0):
    return World(n, np.random.default_rng(seed))


def test_draws_hold_repeats_and_follow_their_seed_alone():
    counts = draws(2000, 1000, 7)
    assert counts.shape == (1000, 2000)
    assert (counts.sum(1) == 2000).all()
    # With replacement, a sentence is left out of a draw with chance (1 - 1/n)^n = 1/e.
    assert (counts == 0).mean() == pytest.approx(math.exp(-1), abs=0.005)
    draws.cache_clear()
    assert (draws(2000, 1000, 7) == counts).all()
    assert (draws(2000, 1000, 8) != counts).any()


def test_no_sentences_cannot_be_drawn():
    with pytest.raises(UserError, match="no sentences"):
        draws(0, 10, 1)


def test_an_interval_of_three_segments_is_that_of_all_27_draws():
    # Means of all draws of three from 0, 3, 9, each as likely: the quantiles that 1000s of draws approach.
    means = sorted(sum(drawn) / 3 for drawn in product([0, 3, 9], repeat=3))
    low, high = interval(segments(0, 3, 9), mean_score(), samples=20000, level=0.8, seed=3)
    assert low == means[2] == 1.0  # P(mean <= 0) = 1/27 < 10 % <= P(mean <= 1) = 4/27
    assert high == means[-4] == 7.0  # P(mean >= 9) = 1/27 < 10 % <= P(mean >= 7) = 4/27


def test_one_run_has_the_interval_that_its_record_has():
    stats = world().system(1)
    found = interval(stats, bleu_score(), samples=300, level=0.9, seed=5)
    assert found == pytest.approx(Bleu().interval(stats[0], samples=300, level=0.9, seed=5), abs=1e-9)
    assert interval(stats[0], bleu_score(), samples=300, level=0.9, seed=5) == found


def test_without_draws_or_sentences_there_is_no_interval():
    stats = world(20).system(1)
    assert interval(stats, bleu_score(), samples=0) is None
    assert interval(stats[:, :0], bleu_score()) is None


def test_copies_of_a_run_are_no_evidence():
    stats = world().system(1)
    copied = np.repeat(stats, 3, axis=0)
    assert interval(copied, bleu_score()) == pytest.approx(interval(stats, bleu_score()), abs=1e-9)


def test_seeds_that_differ_widen_the_interval():
    there = world(500)
    stats = there.system(3)
    apart = np.stack([there.run(points) for points in (-3, 0, 3)])
    low, high = interval(stats, bleu_score())
    wide_low, wide_high = interval(apart, bleu_score())
    assert wide_high - wide_low > 2 * (high - low)


def test_p_is_the_share_of_draws_as_far_out_on_either_side():
    a, b = world().system(1), world(seed=1).system(1, points=1.0)
    counts = draws(200, 400, 11)
    moved = [Bleu().from_statistics(drawn @ a[0]) - Bleu().from_statistics(drawn @ b[0]) for drawn in counts]
    delta = Bleu().from_statistics(a[0].sum(0)) - Bleu().from_statistics(b[0].sum(0))
    beyond = sum(abs(each - np.mean(moved)) >= abs(delta) for each in moved)
    found = difference(a, b, bleu_score(), samples=400, seed=11)
    assert found.p == (beyond + 1) / 401
    assert found.delta == pytest.approx(delta, abs=1e-9)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(moved, [0.025, 0.975])), abs=1e-9)


def test_the_order_of_the_systems_turns_the_sign_and_nothing_else():
    there = world()
    a, b = there.system(2), there.system(3, points=1)
    one, two = (difference(*pair, bleu_score(), samples=200) for pair in ((a, b), (b, a)))
    assert one.p == pytest.approx(two.p, abs=1e-12)
    assert (one.delta, one.low, one.high) == pytest.approx((-two.delta, -two.high, -two.low), abs=1e-9)


@pytest.mark.parametrize("runs", [1, 3])
def test_identical_systems_differ_by_nothing_with_p_1(runs):
    stats = world().system(runs)
    found = difference(stats, stats[::-1], bleu_score(), samples=100)
    assert found.delta == 0.0
    assert found.p == 1.0
    if runs == 1:
        assert (found.low, found.high) == pytest.approx((0, 0), abs=1e-9)
    else:  # other seeds would have differed
        assert found.low < 0 < found.high


def test_a_single_sentence_proves_nothing():
    assert difference(segments(1), segments(0), mean_score()).p == 1.0


def test_systems_of_other_sentences_are_refused():
    there = world(20)
    with pytest.raises(UserError, match="19 and 20 sentences"):
        difference(there.system(1), there.system(1)[:, :19], bleu_score())
    with pytest.raises(UserError, match="samples=0"):
        difference(there.system(1), there.system(1), bleu_score(), samples=0)


def test_many_systems_share_their_draws():
    there = world(100)
    stats = [there.system(runs) for runs in (1, 2, 3)]
    drawn = resample(stats, bleu_score(), draws(100, 200, 12345))
    for one, own in zip(drawn, stats, strict=True):
        assert interval_of(one, 0.95) == interval(own, bleu_score(), samples=200)
    expected = difference(stats[0], stats[2], bleu_score(), samples=200)
    assert difference_of(drawn[0], drawn[2], 0.95, 100) == expected


WORDS = [
    "ein",
    "hund",
    "läuft",
    "über",
    "die",
    "wiese",
    "und",
    "bellt",
    "laut",
    "den",
    "alten",
    "mann",
    "im",
    "park",
    "an",
]


def hypotheses(n, errors, seed):
    """References of 4 to 14 words, and one list of hypotheses for each share of wrong words."""
    rng = np.random.default_rng(seed)
    references = [[str(w) for w in rng.choice(WORDS, rng.integers(4, 15))] for _ in range(n)]
    made = [
        [" ".join("?" if rng.random() < share else word for word in line) for line in references]
        for share in errors
    ]
    return [" ".join(line) for line in references], made


def sacrebleu_test(kind, references, systems, samples):
    named = [(str(at), lines) for at, lines in enumerate(systems)]
    test = PairedTest(named, {"BLEU": BLEU(references=[references])}, None, kind, samples)
    return test()[1]["BLEU"]


@pytest.mark.parametrize("errors", [(0.2, 0.215), (0.2, 0.23), (0.2, 0.25)])
def test_against_the_paired_bootstrap_of_sacrebleu(errors):
    references, (first, second) = hypotheses(250, errors, seed=4)
    theirs = sacrebleu_test("bs", references, [second, first], 2000)[1]
    bleu = Bleu()
    a, b = (bleu.statistics(lines, references)[None] for lines in (first, second))
    ours = difference(a, b, bleu_score(), samples=2000, seed=1)
    baseline = bleu.from_statistics(b[0].sum(0))
    assert ours.delta == pytest.approx(theirs.score - baseline, abs=1e-9)
    # Its interval is half the width of ours for the system alone, and its mean that of the draws.
    low, high = interval(a, bleu_score(), samples=2000, seed=1)
    assert (high - low) / 2 == pytest.approx(theirs.ci, rel=0.08)
    # Its p by its own formula from our draws: the size of each difference, less the mean of the sizes.
    one, two = resample([a, b], bleu_score(), draws(250, 2000, 1))
    sizes = np.abs(one.samples - two.samples)
    p = ((sizes - sizes.mean() > abs(ours.delta)).sum() + 1) / 2001
    error = math.sqrt(p * (1 - p) / 2000) + 1 / 2000
    assert theirs.p_value == pytest.approx(p, abs=4 * math.sqrt(2) * error)
    # That counts one side where the difference is clear; ours counts both.
    if p < 0.1:
        assert ours.p == pytest.approx(2 * p, abs=8 * math.sqrt(2) * error)
    assert ours.p >= p
