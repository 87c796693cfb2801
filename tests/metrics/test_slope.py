"""Length buckets with intervals and differences, and the slope of quality over length."""

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.metrics import (
    Bleu,
    bleu_score,
    buckets,
    by_length,
    difference,
    difference_by_length,
    interval,
    mean_score,
    slope,
)

from .simulated import World

EDGES = [10, 20, 30]


@pytest.fixture(scope="module")
def world():
    return World(1500, np.random.default_rng(2))


def lined(lengths, runs, seed=0):
    """Segment scores of runs that each fall by so many points with each 10 words, about a noisy line."""
    rng = np.random.default_rng(seed)
    lengths = np.asarray(lengths)
    return np.stack(
        [
            np.stack(
                [50 - fall * lengths / 10 + rng.normal(0, 3, len(lengths)), np.ones(len(lengths))], axis=1
            )
            for fall in runs
        ]
    )


def test_every_bucket_has_the_score_and_interval_of_its_sentences(world):
    stats = world.system(2)
    table = by_length(stats, world.lengths, EDGES, bleu_score(), samples=100)
    assert [(row.lo, row.hi) for row in table] == [(0, 10), (11, 20), (21, 30), (31, None)]
    assert sum(row.n for row in table) == 1500
    for row, bucket in zip(table, buckets(list(world.lengths), EDGES), strict=True):
        inside = stats[:, bucket["members"]]
        means = [Bleu().from_statistics(run.sum(0)) for run in inside]
        assert row.mean == pytest.approx(np.mean(means), abs=1e-9)
        assert (row.low, row.high) == interval(inside, bleu_score(), samples=100)
        assert row.mark is None


def test_an_empty_bucket_is_there_without_a_score(world):
    members = (world.lengths <= 10) | (world.lengths > 20)
    stats, lengths = world.system(1)[:, members], world.lengths[members]
    table = by_length(stats, lengths, EDGES, bleu_score(), samples=50)
    assert table[1] == (11, 20, 0, None, None, None, "empty")
    assert all(row.mean is not None for row in (table[0], table[2], table[3]))
    two = difference_by_length(stats, stats, lengths, EDGES, bleu_score(), samples=50)
    assert two[1] == (11, 20, 0, None, None, None, None, "empty")
    found = slope(stats, lengths, bleu_score(), EDGES, samples=50)
    assert found.buckets == [(0, 10), (21, 30), (31, None)]


def test_a_perfect_bucket_of_three_words_is_too_short_and_no_0():
    bleu = Bleu()
    short, long = ["a b c"] * 40, ["a b c d e f"] * 40
    stats = bleu.statistics(short + long, short + long)[None]
    lengths = [3] * 40 + [6] * 40
    table = by_length(stats, lengths, [3, 6], bleu_score(), samples=50)
    assert table[0] == (0, 3, 40, None, None, None, "too_short")
    assert table[1][:6] == pytest.approx((4, 6, 40, 100.0, 100.0, 100.0))
    two = difference_by_length(stats, stats, lengths, [3, 6], bleu_score(), samples=50)
    assert two[0].mark == "too_short"
    assert (two[1].delta, two[1].p) == (0.0, 1.0)
    assert slope(stats, lengths, bleu_score(), [3, 6]) == (None, None, None, [(4, 6)])


def test_few_sentences_are_marked_and_do_not_count_for_the_slope(world):
    stats = world.system(1)
    table = by_length(stats, world.lengths, [37], bleu_score(), samples=50)
    few = table[1].n
    assert 0 < few < 30
    assert [row.mark for row in table] == [None, "few"]
    assert table[1].mean is not None
    kept = by_length(stats, world.lengths, [37], bleu_score(), samples=50, few=few)
    assert [row.mark for row in kept] == [None, None]
    assert slope(stats, world.lengths, bleu_score(), [37]).buckets == [(0, 37)]


def test_a_difference_in_a_bucket_is_the_test_of_its_sentences(world):
    a, b = world.system(2, points=1.0), world.system(3)
    table = difference_by_length(a, b, world.lengths, EDGES, bleu_score(), samples=100)
    for row, bucket in zip(table, buckets(list(world.lengths), EDGES), strict=True):
        found = difference(a[:, bucket["members"]], b[:, bucket["members"]], bleu_score(), samples=100)
        assert (row.delta, row.low, row.high, row.p) == found


def test_without_draws_there_are_scores_and_no_intervals(world):
    stats = world.system(1)
    assert all(
        row.low is None and row.mean
        for row in by_length(stats, world.lengths, EDGES, bleu_score(), samples=0)
    )
    found = slope(stats, world.lengths, bleu_score(), EDGES, samples=0)
    assert found.value is not None
    assert found.low is None
    with pytest.raises(UserError, match="samples=0"):
        difference_by_length(stats, stats, world.lengths, EDGES, bleu_score(), samples=0)


def test_the_slope_is_that_of_weighted_least_squares(world):
    stats = world.system(1)
    found = slope(stats, world.lengths, bleu_score(), EDGES, samples=0)
    x, y, n = [], [], []
    for bucket in buckets(list(world.lengths), EDGES):
        x.append(world.lengths[bucket["members"]].mean())
        y.append(Bleu().from_statistics(stats[0, bucket["members"]].sum(0)))
        n.append(len(bucket["members"]))
    expected = np.polyfit(x, y, 1, w=np.sqrt(n))[0] * 10
    assert found.value == pytest.approx(expected, abs=1e-9)


def test_a_planted_slope_of_segment_scores_is_found():
    lengths = np.random.default_rng(0).integers(1, 41, 2000)
    found = slope(lined(lengths, [2.0, 2.0]), lengths, mean_score(), EDGES)
    assert found.value == pytest.approx(-2.0, abs=0.15)
    assert found.low < -2.0 < found.high
    assert found.high - found.low < 0.6
    flat = slope(lined(lengths, [0.0, 0.0]), lengths, mean_score(), EDGES)
    assert flat.low < 0 < flat.high


def test_a_planted_slope_of_bleu_is_found():
    world = World(8000, np.random.default_rng(5))
    fall = {
        tilt: slope(world.run(0, tilt=tilt), world.lengths, bleu_score(), EDGES, samples=200)
        for tilt in (0, 3)
    }
    lost = fall[0].value - fall[3].value
    assert lost == pytest.approx(3.0, abs=0.7)
    assert fall[3].high < fall[0].low


def test_seeds_that_differ_in_slope_widen_its_interval():
    lengths = np.random.default_rng(0).integers(1, 41, 2000)
    alike = slope(lined(lengths, [2.0, 2.0, 2.0]), lengths, mean_score(), EDGES)
    apart = slope(lined(lengths, [1.0, 2.0, 3.0]), lengths, mean_score(), EDGES)
    assert apart.high - apart.low > 3 * (alike.high - alike.low)
    assert apart.low < 0 < apart.high  # three seeds of sd 1: mean 2 +- 4.3 * 0.58


def test_lengths_of_other_sentences_and_falling_edges_are_refused(world):
    stats = world.system(1)
    with pytest.raises(UserError, match="1499 and 1500 sentences"):
        by_length(stats, world.lengths[1:], EDGES, bleu_score())
    with pytest.raises(UserError, match="rising integers"):
        slope(stats, world.lengths, bleu_score(), [20, 10])
