"""BLEU through sacrebleu: equal to its corpus score, whatever the batches; never turned the wrong way."""

import math

import numpy as np
import pytest
import sacrebleu

from attnlab.errors import UserError
from attnlab.metrics import Bleu, corpus_bleu, corpus_chrf, corpus_ter, perplexity

HYPOTHESES = [
    "the cat sat on the mat today",
    "it is raining very hard outside this morning",
    "yes",
    "a b c d e f",
]
REFERENCES = [
    "the cat sat on the mat today",
    "it was raining hard outside that morning",
    "no",
    "a b c d x f",
]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_summed_batch_statistics_give_the_corpus_score(size):
    bleu = Bleu()
    total = sum(
        bleu.statistics(HYPOTHESES[at : at + size], REFERENCES[at : at + size]).sum(0)
        for at in range(0, 4, size)
    )
    assert bleu.from_statistics(total) == pytest.approx(53.75, abs=0.005)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tokenize": "none", "lowercase": True},
        {"tokenize": "char"},
        {"smooth_method": "add-k", "smooth_value": 1},
        {"smooth_method": "floor"},
        {"smooth_method": "none"},
        {"effective_order": True},
        {"max_ngram_order": 2},
    ],
    ids=str,
)
def test_equals_sacrebleu_under_every_option(options):
    metric = sacrebleu.metrics.BLEU(**options)
    own = "|order:2" if "max_ngram_order" in options else ""  # sacrebleu's does not tell
    for hypotheses, references in [(HYPOTHESES, REFERENCES), (["yes"], ["no"]), (["A b c"], ["a b d"])]:
        expected = metric.corpus_score(hypotheses, [references]).score
        assert corpus_bleu(hypotheses, references, **options) == {
            "score": pytest.approx(expected, abs=1e-9),
            "signature": metric.get_signature().format().replace("|version", own + "|version"),
        }


def test_one_element_reference_lists_are_refused():
    with pytest.raises(UserError, match=r"references\[0\] is a list, not a string"):
        corpus_bleu(HYPOTHESES, [[line] for line in REFERENCES])
    with pytest.raises(UserError, match="single string"):
        corpus_bleu(HYPOTHESES, "the cat sat on the mat today")


def test_all_sentences_count_not_only_the_first():
    hypotheses = ["the cat sat on the mat", "a dog barked loudly today", "we went home early now"]
    references = [
        "the cat sat on the mat",
        "the dog was barking very loud",
        "they returned home sooner than expected",
    ]
    assert corpus_bleu(hypotheses, references)["score"] == pytest.approx(37.6, abs=0.05)


@pytest.mark.parametrize("score", [corpus_bleu, corpus_chrf, corpus_ter])
def test_unequal_counts_are_refused_with_both_counts(score):
    with pytest.raises(UserError, match=r"4 hypotheses, 3 references"):
        score(HYPOTHESES, REFERENCES[:3])


def test_empty_reference_is_scored_as_sacrebleu_scores_it():
    hypotheses, references = ["a", "the cat sat on the mat today"], ["", "the cat sat on the mat today"]
    assert corpus_bleu(hypotheses, references)["score"] == pytest.approx(
        sacrebleu.corpus_bleu(hypotheses, [references]).score
    )
    for score in (corpus_chrf, corpus_ter):
        assert math.isfinite(score(["a"], [""])["score"])


def test_13a_takes_the_full_stop_off_a_number_as_the_final_scorer_does():
    hypotheses = ["We are in 2023 .", "Wait until I count to 10, then move."]
    references = ["We are in 2023.", "Wait until I count to 10, then move."]
    assert corpus_bleu(hypotheses, references)["score"] == pytest.approx(100)


def test_chrf_and_ter_carry_signatures_that_name_their_options():
    assert "nw:2" in corpus_chrf(HYPOTHESES, REFERENCES, word_order=2)["signature"]
    assert "case:mixed" in corpus_ter(HYPOTHESES, REFERENCES, case_sensitive=True)["signature"]


def test_unknown_tokeniser_is_one_line_with_the_choices():
    with pytest.raises(UserError, match=r"metrics.bleu: .*tokenize=klingon.*13a, char") as caught:
        Bleu(tokenize="klingon")
    assert "\n" not in str(caught.value)


def test_interval_depends_on_the_seed_alone_and_resamples_with_repeats():
    bleu = Bleu()
    statistics = bleu.statistics(HYPOTHESES * 20, REFERENCES * 20)
    first = bleu.interval(statistics, samples=200, level=0.95, seed=1)
    assert first == bleu.interval(statistics, samples=200, level=0.95, seed=1)
    assert first != bleu.interval(statistics, samples=200, level=0.95, seed=2)
    low, high = first
    assert low < bleu.from_statistics(statistics.sum(0)) < high  # without repeats both would equal the score


def test_interval_agrees_with_resampling_sentences_and_scoring_each_sample():
    bleu = Bleu()
    hypotheses, references = HYPOTHESES * 10, REFERENCES * 10
    random = np.random.default_rng(0)
    scores = []
    for _ in range(300):
        drawn = random.integers(0, 40, 40)
        scores.append(
            sacrebleu.corpus_bleu([hypotheses[i] for i in drawn], [[references[i] for i in drawn]]).score
        )
    low, high = bleu.interval(bleu.statistics(hypotheses, references), samples=2000, level=0.95, seed=0)
    assert low == pytest.approx(np.quantile(scores, 0.025), abs=2.0)
    assert high == pytest.approx(np.quantile(scores, 0.975), abs=2.0)


def test_perplexity_is_over_all_tokens_not_a_mean_of_means():
    assert perplexity(0.4 + 1.5, 3 + 5) == pytest.approx(1.268, abs=5e-4)
    assert perplexity(0.0, 0) is None
    assert perplexity(1e9, 1) is None
    assert perplexity(math.nan, 3) is None
