"""Links and AER against slow loops over pieces."""

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.metrics import (
    CREDITS,
    Gold,
    agreement,
    arg_max_links,
    counts,
    format_links,
    links,
    merge,
    parse,
    rates,
    threshold_links,
)


def slow_merge(weights, source_words, target_words, shift):
    table = [[0.0] * (max(source_words) + 1) for _ in range(max(target_words) + 1)]
    for j in range(len(table)):
        rows = [t + shift for t, word in enumerate(target_words) if word == j and t + shift < len(weights)]
        for i in range(len(table[0])):
            per_row = [sum(weights[r][s] for s, word in enumerate(source_words) if word == i) for r in rows]
            table[j][i] = sum(per_row) / len(per_row) if per_row else 0.0
    return table


@pytest.mark.parametrize("credit", CREDITS)
@pytest.mark.parametrize("finished", [True, False])
def test_merge_sums_source_pieces_and_averages_target_pieces(credit, finished):
    random = np.random.default_rng(3)
    source_words, target_words = [0, 0, 1, 2, 2, 2], [0, 1, 1, 2, 3]
    weights = random.dirichlet(np.ones(6), size=5 + finished)
    expected = slow_merge(weights.tolist(), source_words, target_words, 1 if credit == "input" else 0)
    np.testing.assert_allclose(merge(weights, source_words, target_words, credit), expected, atol=1e-12)


def test_predicted_credits_the_row_that_emits_and_input_the_row_that_consumes():
    weights = np.eye(3)  # three steps: token 0, token 1, end mark
    assert links(weights, [0, 1, 2], [0, 1], "predicted") == {(0, 0), (1, 1)}
    assert links(weights, [0, 1, 2], [0, 1], "input") == {(1, 0), (2, 1)}


def test_pieces_of_a_word_win_together():
    weights = np.array([[0.3, 0.3, 0.4], [0.0, 0.0, 1.0]])
    assert arg_max_links(weights[:1]) == {(2, 0)}
    assert links(weights, [0, 0, 1], [0]) == {(0, 0)}


def test_first_word_wins_a_tie_and_zero_rows_give_no_link():
    assert arg_max_links(np.array([[0.5, 0.5], [0.0, 0.0]])) == {(0, 0)}


def test_nothing_to_align_gives_no_links():
    assert links(np.zeros((1, 0)), [], []) == frozenset()
    assert links(np.ones((1, 2)) / 2, [0, 1], []) == frozenset()
    assert links(np.zeros((3, 0)), [], [0, 1]) == frozenset()


def test_wrong_sizes_and_unknown_credit_are_refused():
    with pytest.raises(ValueError, match="source pieces"):
        merge(np.ones((2, 3)), [0, 1], [0, 1])
    with pytest.raises(ValueError, match="target pieces"):
        merge(np.ones((4, 2)), [0, 1], [0, 1])
    with pytest.raises(UserError, match=r"credit=other.*predicted, input"):
        merge(np.ones((2, 2)), [0, 1], [0, 1], "other")


def test_pharaoh_lines_are_read_and_written():
    gold = parse("0-0 2p1 10-3")
    assert gold == Gold(frozenset({(0, 0), (10, 3)}), frozenset({(0, 0), (2, 1), (10, 3)}))
    assert format_links(gold.sure, gold.possible) == "0-0 2p1 10-3"
    assert format_links({(3, 0), (1, 0), (0, 1)}) == "1-0 3-0 0-1"
    assert parse("") == Gold(frozenset(), frozenset()) and format_links([]) == ""


@pytest.mark.parametrize("line", ["1", "a-b", "1-", "1-2-3", "-1-2", "1.0-2"])
def test_a_broken_link_is_named_with_its_place(line):
    with pytest.raises(UserError, match=r"test\.align line 4"):
        parse(line, "test.align line 4")


def test_aer_is_micro_averaged_over_links():
    gold = [parse("0-0 1-1 2p1"), parse("0-0")]
    predicted = [{(0, 0), (2, 1), (3, 2)}, {(0, 0)}]
    # A = 4 links, S = 3; A & S = {0-0} + {0-0} = 2; A & P = {0-0, 2-1} + {0-0} = 3
    result = agreement(predicted, gold)
    assert result["aer"] == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert result["precision"] == pytest.approx(3 / 4)
    assert result["recall"] == pytest.approx(2 / 3)
    assert (result["links"], result["sure"], result["n"]) == (4, 3, 2)


def test_perfect_links_have_aer_zero_and_no_links_no_precision():
    gold = [parse("0-1 1-0")]
    assert agreement([{(0, 1), (1, 0)}], gold)["aer"] == 0
    nothing = agreement([set()], gold)
    assert (nothing["aer"], nothing["precision"], nothing["recall"]) == (1, None, 0)
    assert agreement([], [])["aer"] is None


def test_another_number_of_sentences_is_refused():
    with pytest.raises(UserError, match="1 sentences with links, 2 with gold"):
        agreement([set()], [parse(""), parse("")])


def test_counts_of_a_sentence_are_those_of_a_slow_loop_and_sum_to_the_agreement():
    random = np.random.default_rng(5)
    gold, predicted = [], []
    for _ in range(20):
        cells = [(i, j) for i in range(5) for j in range(4)]
        sure = {link for link in cells if random.random() < 0.2}
        possible = sure | {link for link in cells if random.random() < 0.2}
        gold.append(Gold(frozenset(sure), frozenset(possible)))
        predicted.append({link for link in cells if random.random() < 0.3})
    table = counts(predicted, gold)
    assert table.shape == (20, 4) and table.dtype == np.int64
    for row, found, truth in zip(table.tolist(), predicted, gold, strict=True):
        in_sure = sum(link in truth.sure for link in found)
        in_possible = sum(link in truth.possible for link in found)
        assert row == [len(found), len(truth.sure), in_sure, in_possible]
    whole = agreement(predicted, gold)
    assert rates(table.sum(0)) == {name: whole[name] for name in ("aer", "precision", "recall")}
    assert [whole["links"], whole["sure"]] == table.sum(0)[:2].tolist()


def test_links_that_are_only_possible_do_neither_harm_nor_good_to_recall():
    # P holds 0-0 1-1 2-1 3-2, S of these 0-0 3-2; A has 0-0 1-1 2-3: A & S = 1, A & P = 2
    gold = [parse("0-0 1p1 2p1 3-2")]
    assert counts([{(0, 0), (1, 1), (2, 3)}], gold).tolist() == [[3, 2, 1, 2]]
    found = rates([3, 2, 1, 2])
    assert found == {"aer": pytest.approx(1 - 3 / 5), "precision": pytest.approx(2 / 3), "recall": 0.5}


def test_rates_of_nothing_are_none_and_a_sentence_without_gold_costs_its_links():
    assert rates([0, 0, 0, 0]) == {"aer": None, "precision": None, "recall": None}
    assert rates([2, 0, 0, 0]) == {"aer": 1.0, "precision": 0.0, "recall": None}
    assert counts([], []).shape == (0, 4)
    assert agreement([{(0, 0)}, {(0, 0)}], [parse("0-0"), parse("")])["precision"] == 0.5


def test_threshold_links_are_all_that_reach_it_and_no_zeros():
    weights = np.array([[0.5, 0.3, 0.2], [0.0, 0.0, 0.0], [0.2, 0.2, 0.6]])
    assert threshold_links(weights, 0.3) == {(0, 0), (1, 0), (2, 2)}
    assert threshold_links(weights, 0.9) == frozenset()
    assert threshold_links(weights, 1e-9) == {(i, j) for j in (0, 2) for i in range(3)}
    assert threshold_links(np.zeros((0, 0)), 0.1) == threshold_links(np.zeros((2, 0)), 0.1) == frozenset()


@pytest.mark.parametrize("least", [0, -0.1, 1.1, float("nan")])
def test_a_threshold_outside_the_weights_is_refused(least):
    with pytest.raises(UserError, match=r"such as 0\.2"):
        threshold_links(np.ones((1, 1)), least)
