"""Points in a plane: numbers beside them, scales that do not deceive, cost and alignment error."""

from itertools import combinations
from pathlib import Path

import pytest

from attnlab.report import compare, figures
from attnlab.report.figures import aer_vs_bleu, paper, quality_vs_cost, scatter, styles


def one(*records):
    return compare([(Path(f"runs/{number}"), record) for number, record in enumerate(records)]).comparisons[0]


def drawn(module, comparison):
    lines = module.data(comparison)
    cast = styles.cast(comparison.rows, comparison.varying).only({line["key"] for line in lines})
    with paper.style():
        figure = module.draw(comparison, lines, cast)
        figure.draw_without_rendering()
    return figure


def aligned(record, predicted, read=0.8):
    record["test"]["flickr"]["alignment"] = {"predicted": {"aer": predicted}, "input": {"aer": read}}
    return record


def costing(record, wall, parameters=1_000_000, **machine):
    record["train"]["wall_s"] = wall
    record["parameters"]["total"] = parameters
    record["machine"] |= machine
    return record


def test_numbers_beside_crowded_points_hide_neither_each_other_nor_a_point(make):
    records = [
        costing(make(scorer=f"s{k}", bleu=97 + 0.15 * k), 50 + k % 3, 400_000 + 20 * k) for k in range(8)
    ]
    figure = drawn(quality_vs_cost, one(*records))
    renderer = figure.canvas.get_renderer()
    for axes in figure.axes:
        assert [text.get_text() for text in axes.texts] == [str(number) for number in range(1, 9)]
        boxes = [text.get_window_extent(renderer) for text in axes.texts]
        for first, second in combinations(boxes, 2):
            assert not first.overlaps(second)
        for line in axes.lines:
            ((x, y),) = axes.transData.transform(list(zip(*line.get_data(), strict=True)))
            assert not any(box.contains(x, y) for box in boxes)


@pytest.mark.parametrize("values, kind", [((10.0, 90.0), "linear"), ((10.0, 101.0), "log")])
def test_a_range_of_more_than_a_factor_of_10_gets_a_logarithmic_axis(make, values, kind):
    records = [costing(make(scorer=str(k)), value) for k, value in enumerate(values)]
    time, size = drawn(quality_vs_cost, one(*records)).axes
    assert (time.get_xscale(), size.get_xscale()) == (kind, "linear")


def test_differences_that_are_nothing_do_not_fill_the_plane(make):
    records = [costing(make(scorer=str(k), bleu=30 + 0.1 * k), 600 + 0.1 * k) for k in range(2)]
    time, _ = drawn(quality_vs_cost, one(*records)).axes
    low, high = time.get_ylim()
    assert high - low >= scatter.LEAST_BLEU
    low, high = time.get_xlim()
    assert low < 9.1 and high > 10.9  # minutes


def test_costs_are_means_over_seeds_and_one_unit_serves_all(make):
    comparison = one(
        costing(make(seed=1, bleu=30.0), 100.0), costing(make(seed=2, bleu=32.0), 300.0),
        costing(make(scorer="b"), 14_000.0), costing(make(scorer="c"), 15_000.0),
    )  # fmt: skip
    lines = {line["scorer"]: line for line in quality_vs_cost.data(comparison)}
    assert lines["dot"]["wall_s"] == 200.0 and lines["dot"]["wall_s_sd"] == pytest.approx(2**0.5 * 100)
    assert lines["dot"]["bleu"] == 31.0 and lines["dot"]["parameters"] == 1_000_000
    assert drawn(quality_vs_cost, comparison).axes[0].get_xlabel() == "training time (hours)"


def test_times_of_different_machines_are_said_to_be_so(make):
    same = one(costing(make(scorer="a"), 1.0), costing(make(scorer="b"), 2.0))
    assert "machine" not in figures.captions(same)["quality_vs_cost"]
    other = one(costing(make(scorer="a"), 1.0), costing(make(scorer="b"), 2.0, device="gpu"))
    assert "times from 2 kinds of machine, not to be compared" in figures.captions(other)["quality_vs_cost"]


def test_aer_has_every_seed_and_the_mean_and_no_cell_without_gold(make):
    comparison = one(
        aligned(make(scorer="a", seed=1, bleu=30.0), 0.2), aligned(make(scorer="a", seed=2, bleu=32.0), 0.4),
        aligned(make(scorer="b", seed=1), 0.5, None), make(scorer=None, window=None, decoder="fixed_vector"),
    )  # fmt: skip
    lines = aer_vs_bleu.data(comparison)
    found = [(line["scorer"], line["seed"], line["bleu"], line["aer_predicted"]) for line in lines]
    assert found == [
        ("a", "mean", 31.0, pytest.approx(0.3)), ("a", "1", 30.0, 0.2), ("a", "2", 32.0, 0.4),
        ("b", "mean", 30.0, 0.5),
    ]  # fmt: skip
    figure = drawn(aer_vs_bleu, comparison)
    points = sorted(
        (float(x), float(y)) for line in figure.axes[0].lines for x, y in zip(*line.get_data(), strict=True)
    )
    assert points == [(0.2, 30.0), (pytest.approx(0.3), 31.0), (0.4, 32.0), (0.5, 30.0)]
    # the numbers are rows of the table, whose first one has no attention
    assert [text.get_text() for text in figure.axes[0].texts] == ["2", "3"]
    assert [text.get_text()[:2] for text in figure.legends[0].get_texts()] == ["2 ", "3 "]


def test_without_gold_there_is_no_figure_of_aer_and_a_note_says_so(make):
    planned, notes = figures.plan(one(make()))
    assert "aer_vs_bleu" not in {one.name for one in planned}
    assert "no figure aer_vs_bleu: no run has gold alignments for this test set" in notes


def test_rows_without_attention_are_said_to_have_no_aer(make):
    comparison = one(
        aligned(make(scorer="a"), 0.2),
        make(scorer="b"),
        make(scorer=None, window=None, decoder="fixed_vector"),
    )
    caption = figures.captions(comparison)["aer_vs_bleu"]
    assert "; without attention, so without AER: row 1 (fixed_vector);" in caption
    assert "; without AER: row 3 (b, post_combine, global)" in caption
