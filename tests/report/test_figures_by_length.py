"""BLEU against source length: its points, its bands, its axis, its words."""

from pathlib import Path

import pytest

from attnlab.report import compare, figures
from attnlab.report.evidence import BLEU, Bucket, Estimate, Evidence, Lengths, Measure
from attnlab.report.figures import bleu_by_length, paper, styles

COUNTS = [120, 200, 90, 40, 12]


def one(*records):
    return compare([(Path(f"runs/{number}"), record) for number, record in enumerate(records)]).comparisons[0]


def drawn(comparison, evidence=None):
    """The axes of the figure, its lines in the order of drawing, its caption."""
    lines = bleu_by_length.data(comparison, evidence)
    cast = styles.cast(comparison.rows, comparison.varying)
    with paper.style():
        figure = bleu_by_length.draw(comparison, lines, cast)
    return figure.axes[0]


def caption(comparison, evidence=None):
    return figures.captions(comparison, evidence)["bleu_by_length"]


def test_csv_has_every_point_with_its_n_and_the_interval_of_one_seed(make):
    lines = bleu_by_length.data(one(make(scores=(34.0, None, 30.0, 28.0, 26.0), counts=[120, 0, 90, 40, 12])))
    assert [(line["centre"], line["n"], line["bleu"], line["mark"]) for line in lines] == [
        (5.0, 120, 34.0, None),
        (15.0, 0, None, "empty"),
        (25.0, 90, 30.0, None),
        (35.0, 40, 28.0, None),
        (45.0, 12, 26.0, "few"),
    ]
    assert (lines[0]["ci_low"], lines[0]["ci_high"]) == (33.0, 35.0)
    assert lines[1]["ci_low"] is None and lines[0]["bleu_signature"].startswith("nrefs:1")


def test_a_bucket_without_score_is_a_gap_in_the_line(make):
    comparison = one(make(scores=(34.0, None, 30.0, 28.0, 26.0), counts=[120, 0, 90, 40, 12]))
    axes = drawn(comparison)
    xs, ys = axes.lines[0].get_data()
    assert list(xs) == [5, 15, 25, 35, 45]
    assert ys[1] != ys[1] and ys[2] == 30.0
    # the point alone at the left has a bar, where a band would have no width
    bars = [
        bar for lines in axes.collections if hasattr(lines, "get_segments") for bar in lines.get_segments()
    ]
    assert [bar.tolist() for bar in bars] == [[[5, 33], [5, 35]]]


def test_ticks_tell_the_bucket_its_sentences_and_marks(make):
    record = make(counts=[120, 2000, 90, 40, 12])
    record["test"]["flickr"]["by_source_length"][0].update(bleu=None, ci=None, mark="too_short")
    axes = drawn(one(record))
    assert [text.get_text() for text in axes.get_xticklabels()] == [
        "≤10\n120\n(short)", "11-20\n2,000", "21-30\n90", "31-40\n40", ">40\n12*",
    ]  # fmt: skip
    assert "* too few" in axes.get_xlabel()
    assert "too few sentences to rely on" in caption(one(record)) and "no 4-gram" in caption(one(record))
    assert "too few" not in caption(one(make(counts=[40] * 5)))


def test_labels_of_narrow_buckets_stand_at_equal_distances():
    narrow = bleu_by_length.places({0.5: "≤1", 1.5: "2", 2.5: "3", 60.0: ">100"}, 2.7)
    assert list(narrow.values()) == [0.0, 1.0, 2.0, 3.0]
    wide = bleu_by_length.places({5.0: "≤10", 15.0: "11-20", 30.0: "21-40"}, 2.7)
    assert list(wide.values()) == [5.0, 15.0, 30.0]


def test_the_axis_starts_at_0_or_is_marked(make):
    for scores, start in [
        ((34.0, 32.0, 30.0, 28.0, 26.0), 0),
        ((90.0, 80.0, 70.0, 60.0, 50.0), 0),  # intervals down to 49
        ((90.0, 80.0, 75.0, 75.0, 74.0), 70),
        ((90.0, 90.0, 90.0, 90.0, 71.0), 60),  # an interval down to 70, which must not lie on the axis
    ]:
        axes = drawn(one(make(scores=scores)))
        assert axes.get_ylim()[0] == start
        assert axes.get_ylabel() == (f"BLEU (axis starts at {start})" if start else "BLEU")
        assert axes.get_ylim()[1] > max(scores) + 1


def test_buckets_at_the_ends_that_are_empty_in_all_cells_are_not_drawn_and_stay_in_the_csv(make):
    first = make(scorer="a", scores=(None, 32.0, None, 28.0, None), counts=[0, 200, 0, 40, 0])
    second = make(scorer="b", scores=(None, 31.0, None, 27.0, None), counts=[0, 200, 0, 40, 0])
    comparison = one(first, second)
    ticks = [text.get_text().split("\n")[0] for text in drawn(comparison).get_xticklabels()]
    assert ticks == ["11-20", "21-30", "31-40"]
    assert len(bleu_by_length.data(comparison)) == 10


@pytest.mark.parametrize(
    "seeds, told, ends",
    [
        ((1,), "bands: 95 % bootstrap interval", (21.0, 23.0)),
        ((1, 2), "bands: sample deviation over seeds", (23 - 2**0.5, 23 + 2**0.5)),
    ],
)
def test_bands_are_intervals_or_deviations_over_seeds(make, seeds, told, ends):
    records = [make(seed=seed, scores=tuple(20.0 + 2 * seed for _ in COUNTS)) for seed in seeds]
    comparison = one(*records)
    assert told in caption(comparison)
    (band,) = drawn(comparison).collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx(ends)


def test_intervals_of_the_evidence_come_before_those_of_the_records(make):
    comparison = one(make(seed=1), make(seed=2), make(scorer="b"))
    strong = comparison.rows[1]
    buckets = [Bucket(lo, hi, 5, 1.0, 29.5, 36.5) for lo, hi in ((0, 10), (11, 20))]
    measure = Measure(
        "BLEU",
        rows={strong.key: Estimate(30.0, 1.0, 2, 28.0, 31.0)},
        lengths={strong.key: {"source_words": Lengths(buckets)}},
    )
    evidence = Evidence(None, 1000, 10000, 0.9, 1, {BLEU: measure})
    lines = [line for line in bleu_by_length.data(comparison, evidence) if line["key"] == strong.key]
    assert [(line["ci_low"], line["ci_high"]) for line in lines][:2] == [(29.5, 36.5)] * 2
    assert "bands: 90 % bootstrap interval over sentences and seeds" in caption(comparison, evidence)


def test_a_mixture_of_bands_is_told(make):
    comparison = one(make(seed=1), make(seed=2, scores=(1.0,) * 5), make(scorer="b"))
    assert "bands: 95 % bootstrap interval or sample deviation over seeds" in caption(comparison)


def test_the_legend_has_the_rows_of_the_table_in_their_order(grid):
    comparison = one(*grid)
    texts = [text.get_text() for text in drawn(comparison).figure.legends[0].get_texts()]
    assert len(texts) == 7
    for row, text in zip(comparison.rows, texts, strict=True):
        assert text.startswith(row.name(comparison.varying))


def test_a_legend_of_few_short_entries_fits_one_column_a_long_one_takes_two(make):
    few = drawn(one(make(scorer="a"), make(scorer="b"))).figure
    assert few.get_figwidth() == paper.ONE
    long = [make(scorer=f"s{k}", note="word " * 20, cell_id=str(k)) for k in range(3)]
    many = drawn(one(*long, *(make(scorer=f"{k}", cell_id=f"{k}x") for k in range(5)))).figure
    assert many.get_figwidth() == paper.TWO
