"""Links and AER against slow loops over pieces."""

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.metrics import CREDITS, Gold, agreement, arg_max_links, format_links, links, merge, parse


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
