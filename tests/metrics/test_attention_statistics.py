import math

import numpy as np
import pytest

from attnlab.metrics import attention_statistics
from attnlab.metrics.attention import rows_of, sentence_means, sharpness_by_length


def slow(matrices, gold):
    rows = []
    for number, matrix in enumerate(matrices):
        for t, row in enumerate(matrix):
            total = sum(row)
            if total == 0:
                continue
            shares = [w / total for w in row]
            size, steps = len(row), len(matrix)
            entropy = -sum(u * math.log(u) for u in shares if u > 0)
            distance = sum(u * abs((j + 0.5) / size - (t + 0.5) / steps) for j, u in enumerate(shares))
            linked = [i for i, j in gold[number] if j == t]
            rows.append(
                {
                    "entropy": entropy,
                    "entropy_normalised": entropy / math.log(size) if size > 1 else None,
                    "max_weight": max(row),
                    "total": total,
                    "diagonal_distance": distance,
                    "gold_mass": sum(row[i] for i in linked) if linked else None,
                }
            )
    means = {}
    for name in rows[0]:
        values = [row[name] for row in rows if row[name] is not None]
        means[name] = sum(values) / len(values)
    return {**means, "words": len(rows)}


def test_means_over_target_words_equal_a_slow_loop():
    random = np.random.default_rng(0)
    matrices = [random.dirichlet(np.ones(size), steps) for size, steps in [(5, 3), (2, 4), (1, 2)]]
    matrices[0][1] *= 0.4  # a window that takes weight away
    matrices[1][3] = 0.0  # padding
    matrices[1][0] = [1.0, 0.0]
    gold = [{(0, 0), (3, 0), (4, 2)}, {(1, 1), (0, 3)}, set()]
    expected = slow([matrix.tolist() for matrix in matrices], gold)
    assert attention_statistics(matrices, gold) == pytest.approx(expected)


def test_uniform_and_sharp_rows_are_the_two_ends():
    flat = attention_statistics([np.full((2, 8), 1 / 8)])
    assert flat["entropy"] == pytest.approx(math.log(8)) and flat["entropy_normalised"] == pytest.approx(1)
    sharp = attention_statistics([np.eye(4)])
    assert sharp["entropy"] == 0 and sharp["max_weight"] == 1 and sharp["diagonal_distance"] == 0
    assert math.copysign(1, sharp["entropy"]) == 1  # -0.0 would look odd in a record


def test_without_gold_or_rows_there_is_no_number():
    assert attention_statistics([np.eye(3)])["gold_mass"] is None
    nothing = attention_statistics([np.zeros((2, 3)), np.zeros((0, 3)), np.zeros((2, 0))])
    assert nothing.pop("words") == 0 and set(nothing.values()) == {None}


def test_gold_links_outside_the_matrix_are_ignored_and_counts_must_agree():
    assert attention_statistics([np.eye(2)], [{(9, 0), (0, 9), (1, 1)}])["gold_mass"] == 1
    with pytest.raises(ValueError, match="1 matrices"):
        attention_statistics([np.eye(2)], [])


def test_buckets_of_length_hold_the_means_of_their_own_rows():
    random = np.random.default_rng(1)
    sizes = [(5, 3), (2, 4), (1, 2), (9, 9), (0, 0)]
    found = [random.dirichlet(np.ones(size), steps) if size else np.zeros((0, 0)) for size, steps in sizes]
    gold = [{(0, 0)}, set(), {(0, 1)}, {(8, 8)}, set()]
    table = sharpness_by_length(rows_of(found), [5, 2, 1, 9, 0], [2, 5], rows_of(found, gold))
    assert [(b["lo"], b["hi"], b["n"]) for b in table] == [(0, 2, 3), (3, 5, 1), (6, None, 1)]
    for bucket, members in zip(table, ([1, 2, 4], [0], [3]), strict=True):
        expected = attention_statistics([found[k] for k in members], [gold[k] for k in members])
        for name in ("entropy_normalised", "max_weight", "diagonal_distance", "gold_mass"):
            assert bucket[name] == pytest.approx(expected[name])
    assert {b["gold_mass"] for b in sharpness_by_length(rows_of(found), [5, 2, 1, 9, 0], [2, 5])} == {None}
    assert sharpness_by_length([], [], [7])[0]["max_weight"] is None


def test_means_of_a_sentence_are_nan_where_it_has_no_row():
    rows = rows_of([np.eye(2), np.full((1, 4), 0.25), np.zeros((1, 2)), np.ones((3, 1))])
    assert sentence_means(rows, "max_weight").tolist() == pytest.approx([1, 0.25, math.nan, 1], nan_ok=True)
    entropies = sentence_means(rows, "entropy_normalised")
    assert entropies.tolist() == pytest.approx([0, 1, math.nan, math.nan], nan_ok=True)
    assert entropies.dtype == np.float32


def test_gold_of_another_number_of_sentences_is_refused():
    with pytest.raises(ValueError, match="1 matrices, but gold links for 2 sentences"):
        rows_of([np.eye(2)], [set(), set()])
