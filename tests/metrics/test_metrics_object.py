"""`Metrics`, built from its YAML: the record's part of a test set."""

import json
from pathlib import Path

import pytest
import sacrebleu
from omegaconf import OmegaConf

from attnlab.errors import UserError
from attnlab.metrics import Metrics

CONF = Path(__file__).parents[2] / "conf" / "metrics"


def composed(*files, **changes):
    """The options of files laid over each other, as Hydra composes them."""
    parts = [OmegaConf.load(CONF / file) for file in files]
    whole = OmegaConf.create({"metrics": OmegaConf.merge(*parts, changes)})
    return OmegaConf.to_container(whole, resolve=True)["metrics"]


@pytest.fixture
def build():
    def _build(**changes):
        options = composed("default.yaml")
        assert options.pop("_target_") == "attnlab.metrics.Metrics"
        return Metrics(**{**options, **changes})

    return _build


def sentence(length, start=0):
    return " ".join(f"w{number}" for number in range(start, start + length))


def test_default_options_are_the_field_s(build):
    scores = build().score(["a b c d e"], ["a b c d e"], ["a b c d e"])
    assert (
        scores["bleu"]["signature"]
        == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    )
    assert scores["chrf"]["signature"].startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no")
    assert scores["ter"]["signature"].startswith("nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no")


def test_tokenised_lowercase_option_composes_over_the_default(build):
    options = composed("default.yaml", "tokenized_lowercase.yaml")
    scorer = build(bleu=options["bleu"])
    pair = scorer.corpus_bleu(["a MAN , too ."], ["A man , too ."])
    assert pair["score"] == pytest.approx(100)
    assert "case:lc" in pair["signature"] and "tok:none" in pair["signature"]


def test_training_and_final_bleu_are_one_number(build):
    scorer = build()
    hypotheses = ["We are in 2023 .", "Wait until I count to 10, then move.", "something else entirely here"]
    references = ["We are in 2023.", "Wait until I count to 10, then move.", "nothing like it at all"]
    assert (
        scorer.corpus_bleu(hypotheses, references) == scorer.score(references, hypotheses, references)["bleu"]
    )
    assert scorer.corpus_bleu(hypotheses[:2], references[:2])["score"] == pytest.approx(100)


def test_bucket_scores_are_corpus_scores_of_their_sentences(build):
    sources = [sentence(length) for length in (3, 8, 12, 12, 25)]
    references = [sentence(length) for length in (5, 9, 11, 14, 30)]
    hypotheses = [line.replace("w3", "x") for line in references]
    table = build(length_edges=[10, 20], min_bucket=1).score(sources, hypotheses, references)[
        "by_source_length"
    ]
    assert [bucket["n"] for bucket in table] == [2, 2, 1]
    for bucket, members in zip(table, [[0, 1], [2, 3], [4]], strict=True):
        expected = sacrebleu.corpus_bleu([hypotheses[i] for i in members], [[references[i] for i in members]])
        assert bucket["bleu"] == pytest.approx(expected.score)
        assert bucket["ci"][0] <= bucket["bleu"] <= bucket["ci"][1]
        assert bucket["mark"] is None


def test_source_and_reference_length_are_told_apart(build):
    scores = build(length_edges=[10]).score([sentence(4)], [sentence(12)], [sentence(12)])
    assert [bucket["n"] for bucket in scores["by_source_length"]] == [1, 0]
    assert [bucket["n"] for bucket in scores["by_reference_length"]] == [0, 1]


def test_empty_bucket_is_present_without_a_score_and_others_are_unaffected(build):
    lines = [sentence(5), sentence(25)]
    table = build(length_edges=[10, 20, 30]).score(lines, lines, lines)["by_source_length"]
    assert [bucket["n"] for bucket in table] == [1, 0, 1, 0]
    assert table[1] == {"lo": 11, "hi": 20, "n": 0, "bleu": None, "ci": None, "mark": "empty"}
    assert table[0]["bleu"] == table[2]["bleu"] == pytest.approx(100)


def test_perfect_short_bucket_is_marked_and_no_bare_zero(build):
    lines = ["yes", "yes sir", "one two three", sentence(8)]
    scores = build(length_edges=[3, 10]).score(lines, lines, lines)
    short, longer, _ = scores["by_source_length"]
    assert (short["n"], short["bleu"], short["ci"], short["mark"]) == (3, None, None, "too_short")
    assert longer["bleu"] == pytest.approx(100)
    assert "mark" not in scores["bleu"]
    assert build().score(lines[:3], lines[:3], lines[:3])["bleu"]["mark"] == "too_short"


def test_short_hypotheses_for_long_references_keep_their_zero(build):
    bucket = build(length_edges=[10]).score([sentence(8)], ["w1"], [sentence(8)])["by_source_length"][0]
    assert bucket["bleu"] == pytest.approx(0, abs=1e-6) and bucket["mark"] == "few"


def test_small_buckets_are_marked(build):
    lines = [sentence(6)] * 5
    mark = [build(min_bucket=k).score(lines, lines, lines)["by_source_length"][0]["mark"] for k in (5, 6)]
    assert mark == [None, "few"]


def test_blank_lines_are_counted(build):
    scores = build().score(["", "a b c d", "x"], [" ", "a b c d", ""], ["", "a b c d", "x y"])
    assert scores["empty"] == {"source": 1, "hypothesis": 2, "reference": 1}
    assert scores["n"] == 3


def test_length_ratio_counts_tokens_and_has_no_value_without_references(build):
    assert build().score(["a"], ["a b c."], ["a b"])["length_ratio"] == pytest.approx(2.0)
    assert build().score(["a"], ["a"], [""])["length_ratio"] is None


def test_chrf_ter_and_intervals_can_be_switched_off(build):
    scorer = build(chrf=None, ter=None, bootstrap={"samples": 0, "level": 0.95, "seed": 1})
    scores = scorer.score([sentence(6)], [sentence(6)], [sentence(6)])
    assert scores["chrf"] is None and scores["ter"] is None
    assert scores["by_source_length"][0]["ci"] is None


def test_result_is_plain_json_and_the_same_on_each_call(build):
    lines = [sentence(6), sentence(14), ""]
    calls = [json.dumps(build().score(lines, lines[::-1], lines), allow_nan=False) for _ in range(2)]
    assert calls[0] == calls[1]


def test_unequal_or_no_sentences_are_refused(build):
    with pytest.raises(UserError, match="2 sources, 1 hypotheses, 1 references"):
        build().score(["a", "b"], ["a"], ["a"])
    with pytest.raises(UserError, match="nothing to score"):
        build().score([], [], [])
    with pytest.raises(UserError, match="nothing to score"):
        build().corpus_bleu([], [])


def test_the_case_of_chrf_follows_that_of_bleu_and_ter_has_none():
    pair = (["x"], ["a man goes home"], ["A Man Goes HOME"])
    for files, case, score in (
        (["default.yaml"], "mixed", False),
        (["default.yaml", "tokenized_lowercase.yaml"], "lc", True),
    ):
        options = composed(*files)
        options = {key: value for key, value in options.items() if key not in ("_target_", "defaults")}
        scores = Metrics(**options).score(*pair)
        for name in ("bleu", "chrf"):
            assert f"case:{case}" in scores[name]["signature"]
            assert (scores[name]["score"] == pytest.approx(100)) is score
        assert scores["ter"]["score"] == 0 and "case:lc" in scores["ter"]["signature"]
    apart = composed("default.yaml", bleu={"lowercase": True}, chrf={"lowercase": False})
    assert apart["chrf"]["lowercase"] is False


def test_metrics_that_see_case_are_told_where_the_text_is_lower_cased(build):
    assert build().case_warning(False) is None
    told = build().case_warning(True)
    assert "metrics.bleu.lowercase=false, metrics.chrf.lowercase=false" in told and "\n" not in told
    lower = {"bleu": {"lowercase": True}, "chrf": {"lowercase": True}}
    assert build(**lower).case_warning(True) is None
    assert build(**lower, ter={"case_sensitive": True}).case_warning(True).count("case_sensitive=true") == 1
    assert build(bleu={"lowercase": True}, chrf=None, ter=None).case_warning(True) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"length_edges": None}, "length_edges"),
        ({"length_edges": 10}, "length_edges"),
        ({"length_edges": ["a"]}, "length_edges"),
        ({"length_edges": [float("inf")]}, "length_edges"),
        ({"min_bucket": None}, "min_bucket"),
        ({"chrf": {"char_order": 0}}, "metrics.chrf"),
        ({"chrf": {"nope": 1}}, "metrics.chrf"),
        ({"ter": {"nope": 1}}, "metrics.ter"),
        ({"bootstrap": {"samples": 10, "level": 95, "seed": 1}}, "bootstrap.level=95"),
        ({"bootstrap": {"samples": -1, "level": 0.95, "seed": 1}}, "bootstrap.samples=-1"),
        ({"bootstrap": {"samples": 10, "level": 0.95, "seed": -1}}, "bootstrap.seed=-1"),
        ({"bootstrap": {"level": 0.95}}, "metrics.bootstrap"),
    ],
)
def test_what_would_fail_when_the_training_is_over_is_refused_at_once(build, changes, said):
    with pytest.raises(UserError, match=said) as caught:
        build(**changes)
    assert "\n" not in str(caught.value)


def test_a_signature_tells_what_sacrebleus_leaves_out(build):
    lines = [sentence(6)]
    usual, other = (
        build(**c).score(lines, lines, lines)
        for c in ({}, {"bleu": {"max_ngram_order": 2}, "chrf": {"beta": 1}})
    )
    assert "order:" not in usual["bleu"]["signature"] and "beta:" not in usual["chrf"]["signature"]
    assert (
        "|order:2|version:" in other["bleu"]["signature"] and "|beta:1|version:" in other["chrf"]["signature"]
    )
