"""Scores of many sums at once are those that sacrebleu gives each of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from attnlab.errors import UserError
from attnlab.metrics import Bleu, bleu_score, chrf_score, chrf_statistics, mean_score, score_of

HYPOTHESES = ["the cat sat on the mat today", "it is raining very hard", "yes", "", "a b c d e f"]
REFERENCES = ["the Cat sat on the mat", "it was raining hard outside", "no", "gone", "a b c d x f"]
SMOOTHINGS = [
    ("exp", None),
    ("none", None),
    ("floor", None),
    ("floor", 0.01),
    ("add-k", None),
    ("add-k", 0.5),
]


@st.composite
def bleu_sums(draw, order):
    """Counts as texts give them: totals fall with the order, and no more n-grams match than there are."""
    length = draw(st.integers(0, 12))
    totals = [max(length - n, 0) for n in range(order)]
    matches = [draw(st.integers(0, total)) for total in totals]
    return [length, draw(st.integers(0, 15)), *matches, *totals]


@pytest.mark.parametrize("effective", [False, True])
@pytest.mark.parametrize("order", [1, 4, 6])
@pytest.mark.parametrize(("method", "value"), SMOOTHINGS)
def test_bleu_of_sums_is_that_of_sacrebleu(method, value, order, effective):
    score = bleu_score(order, method, value, effective)

    @settings(max_examples=40)
    @given(st.lists(bleu_sums(order), min_size=1, max_size=8))
    def equal(rows):
        expected = [
            BLEU.compute_bleu(
                row[2 : 2 + order], row[2 + order :], row[0], row[1], method, value, effective, order
            ).score
            for row in [list(row) for row in rows]
        ]
        assert score(np.array(rows)) == pytest.approx(expected, abs=1e-9)

    equal()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"word_order": 2},
        {"beta": 3},
        {"eps_smoothing": True},
        {"char_order": 2, "whitespace": True},
        {"lowercase": True},
    ],
    ids=str,
)
def test_the_sum_of_chrf_statistics_gives_the_corpus_chrf(options):
    table = chrf_statistics(HYPOTHESES, REFERENCES, **options)
    known = {key: value for key, value in options.items() if key not in ("whitespace", "lowercase")}
    for part in (slice(None), slice(2, 3), slice(3, 4), slice(0, 2)):
        expected = CHRF(**options).corpus_score(HYPOTHESES[part], [REFERENCES[part]]).score
        assert float(chrf_score(**known)(table[part].sum(0))) == pytest.approx(expected, abs=1e-9)


def test_chrf_statistics_of_no_sentence_have_their_columns():
    assert chrf_statistics([], []).shape == (0, 18)


def test_scores_keep_the_shape_of_the_sums():
    table = Bleu().statistics(HYPOTHESES, REFERENCES)
    assert bleu_score()(np.broadcast_to(table, (3, 2, *table.shape))).shape == (3, 2, 5)


@pytest.mark.parametrize("kind", [int, float])
def test_the_mean_of_segment_scores_is_their_sum_over_their_count(kind):
    scores = np.array([[0.25, 1], [0.5, 1], [0, 0]])
    assert float(mean_score()((scores * 4).astype(kind).sum(0)) * 1) == pytest.approx(3 / 8)
    assert float(mean_score()(np.zeros(2))) == 0.0


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"smooth_method": "floor", "smooth_value": 0.25},
        {"smooth_method": "add-k", "max_ngram_order": 2},
        {"effective_order": True, "lowercase": True, "tokenize": "char"},
    ],
    ids=str,
)
def test_a_signature_of_bleu_names_its_score(options):
    bleu = Bleu(**options)
    total = bleu.statistics(HYPOTHESES, REFERENCES).sum(0)
    assert float(score_of(bleu.signature)(total)) == pytest.approx(bleu.from_statistics(total), abs=1e-9)


@pytest.mark.parametrize("options", [{}, {"word_order": 2}, {"beta": 1}, {"eps_smoothing": True}], ids=str)
def test_a_signature_of_chrf_names_its_score(options):
    from attnlab.metrics import corpus_chrf

    found = corpus_chrf(HYPOTHESES, REFERENCES, **options)
    total = chrf_statistics(HYPOTHESES, REFERENCES, **options).sum(0)
    assert float(score_of(found["signature"])(total)) == pytest.approx(found["score"], abs=1e-9)


def test_what_is_no_signature_is_refused_in_one_line():
    with pytest.raises(UserError, match="no signature of BLEU or chrF"):
        score_of("nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0")
    with pytest.raises(UserError, match="smooth_method=guess"):
        bleu_score(smooth_method="guess")


def test_no_reference_with_a_gram_of_the_largest_order_is_too_short():
    score = bleu_score()
    assert score.too_short(Bleu().statistics(["a b c"] * 2, ["a b c"] * 2))
    assert not score.too_short(Bleu().statistics(["a", "a b c"], ["a b c d", "a"]))
