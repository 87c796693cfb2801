"""What the numbers of a comparison are worth: against the statistics' own functions, one row at a time."""

import numpy as np
import pytest

from attnlab import segments
from attnlab.errors import UserError
from attnlab.metrics import bootstrap, significance
from attnlab.metrics.scoring import score_of
from attnlab.metrics.slope import by_length, slope
from attnlab.report import load
from attnlab.report.evidence import claimed, evidence
from attnlab.report.gather import steps

from .recorded import EDGES, SIGNATURE, with_sentences

DRAW = {"samples": 100, "trials": 200, "seed": 7}
SCORE = score_of(SIGNATURE)


def cells(seeds=(1, 2)):
    """A cell without attention and two with; the first of these is far better, the second is its equal."""
    return [
        with_sentences(quality, 10 * number + seed, seed=seed, drop=0.2, **cell)
        for number, (quality, cell) in enumerate(
            [
                (0.6, {"scorer": None, "window": None, "decoder": "fixed_vector"}),
                (0.8, {"scorer": "dot"}),
                (0.6, {"scorer": "general"}),
            ]
        )
        for seed in seeds
    ]


def stats(row):
    return np.stack([row.segments[run.seed].bleu for run in row.runs])


@pytest.fixture
def comparison(measured):
    (found,) = load([measured(*cells())]).comparisons
    return found


def test_every_number_is_the_one_that_the_row_alone_would_have(comparison):
    made = evidence(comparison, **DRAW)
    none, dot, general = comparison.rows
    assert made.baseline is none and made.of(none).test is None
    for row in comparison.rows:
        found = made.of(row)
        low, high = bootstrap.interval(stats(row), SCORE, samples=100, seed=7)
        assert found.bleu[3:] == pytest.approx((low, high))
        words = row.segments["1"].source_words
        line = slope(stats(row), words, SCORE, EDGES, samples=100, seed=7)
        assert found.lengths["source_words"].slope[:3] == pytest.approx(line[:3])
        alone = by_length(stats(row), words, EDGES, SCORE, samples=0)
        assert [(one.n, one.mark) for one in found.lengths["source_words"].buckets] == [
            (one.n, one.mark) for one in alone
        ]
        scores = [one.score for one in found.lengths["source_words"].buckets]
        assert scores == pytest.approx([one.mean for one in alone])
    alone = significance.compare(
        {row.key: stats(row) for row in comparison.rows}, SCORE, baseline=none.key, **DRAW
    )
    assert {test.first: test for test in alone} == {
        dot.key: made.of(dot).test, general.key: made.of(general).test
    }  # fmt: skip
    assert claimed(made.of(dot).test) and not claimed(made.of(general).test)
    assert made.of(dot).lengths["source_words"].slope.value < 0


def test_differences_by_length_are_those_of_the_bucket_alone(comparison):
    made = evidence(comparison, **DRAW)
    none, dot, _ = comparison.rows
    words = dot.segments["1"].source_words
    inside = (words > 10) & (words <= 20)
    bucket = made.of(dot).lengths["source_words"].buckets[1]
    alone = bootstrap.difference(stats(dot)[:, inside], stats(none)[:, inside], SCORE, samples=100, seed=8)
    assert (bucket.lo, bucket.hi, bucket.n) == (11, 20, inside.sum())
    assert (bucket.delta, bucket.delta_low, bucket.delta_high) == pytest.approx(alone[:3])
    assert made.of(none).lengths["source_words"].buckets[1].delta is None


def test_all_kinds_of_length_are_there_and_the_same_numbers_come_each_time(comparison):
    first, second = evidence(comparison, **DRAW), evidence(comparison, **DRAW)
    for row in comparison.rows:
        assert set(first.of(row).lengths) == set(segments.LENGTHS)
        assert first.of(row) == second.of(row)
    other = evidence(comparison, samples=100, trials=200, seed=8)
    assert other.of(comparison.rows[1]).bleu != first.of(comparison.rows[1]).bleu


def test_many_rows_are_tested_in_groups_with_one_correction_over_all(comparison, monkeypatch):
    whole = evidence(comparison, **DRAW)
    monkeypatch.setattr("attnlab.report.measure._TOGETHER", 1)
    parts = evidence(comparison, **DRAW)
    for row in comparison.rows:
        assert parts.of(row).test == whole.of(row).test
        assert parts.of(row).bleu == pytest.approx(whole.of(row).bleu)


def test_all_pairs_are_tested_with_the_baseline_second_and_one_correction(comparison):
    dot = comparison.rows[1]
    made = evidence(comparison, baseline="dot", pairs=True, **DRAW)
    pairs = {(test.first, test.second): test for test in made.bleu.tests}
    none, general = comparison.rows[0].key, comparison.rows[2].key
    assert set(pairs) == {(none, dot.key), (general, dot.key), (none, general)}
    assert made.of(comparison.rows[0]).test.delta < 0
    raw = [test.p_randomisation for test in made.bleu.tests]
    assert [test.p_holm for test in made.bleu.tests] == significance.holm(raw)
    assert "all pairs" in made.note_on_tests and "3 comparisons" in made.note_on_tests


def test_one_seed_on_a_side_is_no_claim(measured):
    runs = [*cells()[:2], with_sentences(0.9, 5, seed=1, scorer="dot")]
    (comparison,) = load([measured(*runs)]).comparisons
    made = evidence(comparison, **DRAW)
    test = made.of(comparison.rows[1]).test
    assert test.significant and test.seeds == (1, 2) and not claimed(test)
    assert "one seed on a side" in made.note_on_tests and "carries no mark" in made.note_on_tests


def test_seeds_on_both_sides_need_no_such_note(comparison):
    note = evidence(comparison, **DRAW).note_on_tests
    assert "one seed" not in note and "seed 7" in note and "2 comparisons" in note and "200 trials" in note


def test_identical_runs_are_never_different(measured):
    runs = [with_sentences(0.7, 3, seed=seed, scorer=name) for seed in (1, 2) for name in ("a", "b")]
    (comparison,) = load([measured(*runs)]).comparisons
    test = evidence(comparison, **DRAW).of(comparison.rows[1]).test
    assert (test.delta, test.p_bootstrap, test.p_randomisation, test.significant) == (0.0, 1.0, 1.0, False)


def test_runs_without_sentence_statistics_keep_their_means_and_a_note_names_the_remedy(measured):
    runs = cells()
    top = measured(*runs)
    (lost,) = top.glob("*general*/seed2/test/flickr/segments.npz")
    lost.unlink()
    (comparison,) = load([top]).comparisons
    made = evidence(comparison, **DRAW)
    general = comparison.rows[2]
    found = made.of(general)
    assert found.bleu.low is None and found.bleu.n == 2 and found.test is None
    assert [bucket.n for bucket in found.lengths["source_words"].buckets] == [462, 0, 0, 0, 0]
    assert "source_pieces" not in found.lengths and found.lengths["source_words"].slope is None
    (note,) = made.notes
    assert "attnlab evaluate RUN" in note and "general" in note
    assert made.of(comparison.rows[1]).test is not None


def test_statistics_of_another_decoding_are_left_out(measured):
    runs = cells()
    runs[2] = (runs[2][0], runs[3][1])
    (comparison,) = load([measured(*runs)]).comparisons
    made = evidence(comparison, **DRAW)
    assert made.of(comparison.rows[1]).test is None
    assert any("of another decoding" in note for note in made.notes)


def test_chrf_of_another_decoding_has_no_interval_but_bleu_has(measured):
    runs = cells()
    runs[2] = (runs[2][0], runs[2][1]._replace(chrf=runs[3][1].chrf))
    (comparison,) = load([measured(*runs)]).comparisons
    made = evidence(comparison, **DRAW)
    known = made.of(comparison.rows[1])
    assert known.bleu.low is not None and known.chrf.mean and known.chrf.low is None
    (note,) = [note for note in made.notes if "of another decoding" in note]
    assert "chrF's sentence statistics" in note


def test_damaged_statistics_are_told_and_the_row_stays(measured):
    top = measured(*cells())
    damaged = sorted(top.rglob("segments.npz"))[0]
    damaged.write_bytes(b"PK")
    report = load([top])
    assert any(str(damaged) in note for note in report.notes)
    assert len(report.comparisons[0].rows) == 3


def test_chrf_is_that_of_the_signature_that_most_runs_have(measured):
    runs = cells()
    for record, _ in runs[:2]:
        record["test"]["flickr"]["chrf"] = {"score": 1.0, "signature": "nrefs:1|nc:6|nw:2|eff:yes|other"}
    (comparison,) = load([measured(*runs)]).comparisons
    made = evidence(comparison, **DRAW)
    none, dot, _ = comparison.rows
    assert made.of(none).chrf is None and made.of(dot).chrf.low is not None
    assert any("chrF of 1 rows left out" in note for note in made.notes)


def test_pieces_of_other_tokenisers_have_no_difference_but_words_do(measured):
    runs = cells()
    runs = [
        (record, own._replace(source_pieces=own.source_pieces + 1) if number > 3 else own)
        for number, (record, own) in enumerate(runs)
    ]
    (comparison,) = load([measured(*runs)]).comparisons
    made = evidence(comparison, **DRAW)
    general = made.of(comparison.rows[2]).lengths
    assert all(bucket.delta is None for bucket in general["source_pieces"].buckets)
    assert all(bucket.delta is not None for bucket in general["source_words"].buckets if bucket.n)


def test_effects_need_two_axes_and_seeds(measured):
    grid = [
        with_sentences(0.5 + 0.1 * a + 0.1 * b, 100 * a + 10 * b + seed, seed=seed, scorer=s, decoder=d)
        for a, s in enumerate(("dot", "general"))
        for b, d in enumerate(("input_feeding", "post_combine"))
        for seed in (1, 2)
    ]
    (comparison,) = load([measured(*grid)]).comparisons
    found = evidence(comparison, **DRAW).effects
    assert [term.factors for term in found.terms] == [("scorer",), ("decoder",), ("scorer", "decoder")]
    assert found.n == 8 and found.terms[0].p < 0.05
    (single,) = load([measured(*grid[::2], under="single")]).comparisons
    made = evidence(single, **DRAW)
    assert made.effects is None and "no cell has two seeds" in made.effects_note
    (one,) = load([measured(*grid[:4], under="one")]).comparisons
    assert "only decoder varies" in evidence(one, **DRAW).effects_note


@pytest.mark.parametrize("pairs", [False, True])
def test_progress_never_passes_its_end(comparison, pairs):
    ticks = []
    evidence(comparison, pairs=pairs, tick=lambda: ticks.append(1), **DRAW)
    assert 0 < len(ticks) <= steps(comparison)


def test_an_interval_stays_within_the_range_of_the_score(measured):
    runs = [with_sentences(quality, seed, seed=seed) for seed, quality in [(1, 0.1), (2, 0.9)]]
    (comparison,) = load([measured(*runs)]).comparisons
    found = evidence(comparison, **DRAW).of(comparison.rows[0])
    assert (found.bleu.low, found.bleu.high) == (0.0, 100.0)
    assert all(bucket.low >= 0 for bucket in found.lengths["source_words"].buckets if bucket.n)


def test_without_draws_there_are_neither_intervals_nor_tests(comparison):
    made = evidence(comparison, samples=0)
    assert made.bleu.tests == [] and made.note_on_tests == ""
    assert all(made.of(row).bleu.low is None for row in comparison.rows)
    assert made.of(comparison.rows[1]).lengths["source_words"].slope.low is None


@pytest.mark.parametrize("wanted", ["fixed_vector", "none-fixed_vector", "FIXED"])
def test_a_baseline_is_called_by_name_cell_or_part(comparison, wanted):
    assert evidence(comparison, baseline=wanted, samples=0).baseline is comparison.rows[0]


def test_an_exact_name_wins_over_a_part(measured):
    runs = [with_sentences(0.6, k, scorer=name) for k, name in enumerate(("dot", "dot_scaled"))]
    (comparison,) = load([measured(*runs)]).comparisons
    assert evidence(comparison, baseline="dot", samples=0).baseline is comparison.rows[0]


def test_a_baseline_that_is_none_or_several_is_one_line_that_lists_them(comparison):
    with pytest.raises(
        UserError, match=r"--baseline bilstm: 3 rows are called so: .*dot.*; write more"
    ) as told:
        evidence(comparison, baseline="bilstm", samples=0)
    assert "\n" not in str(told.value)
    with pytest.raises(UserError, match=r"--baseline nobody: no row of flickr, de-en.*there are: .*general"):
        evidence(comparison, baseline="nobody", samples=0)


def test_effects_leave_out_cells_without_attention_which_cross_with_nothing(measured):
    grid = [
        with_sentences(0.5 + 0.1 * a + 0.1 * b, 100 * a + 10 * b + seed, seed=seed, scorer=s, decoder=d)
        for a, s in enumerate(("dot", "general"))
        for b, d in enumerate(("input_feeding", "post_combine"))
        for seed in (1, 2)
    ]
    bare = {"scorer": None, "window": None, "decoder": "fixed_vector"}
    grid += [with_sentences(0.1, 900 + seed, seed=seed, **bare) for seed in (1, 2)]
    (comparison,) = load([measured(*grid)]).comparisons
    found = evidence(comparison, **DRAW).effects
    assert found.n == 8 and "without fixed_vector" in found.dropped[0]
    assert {each.options for each in found.levels if each.factors == ("decoder",)} == {
        ("input_feeding",),
        ("post_combine",),
    }
