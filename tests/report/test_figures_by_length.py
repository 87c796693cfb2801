"""The figure of BLEU against source length: its points, its looks, its words."""

import csv
import io
from pathlib import Path

import pytest

from attnlab.report import compare, table
from attnlab.report.figures import bleu_by_length as figure

COUNTS = [120, 200, 90, 40, 12]


def one(*records):
    return compare([(Path(f"runs/{number}"), record) for number, record in enumerate(records)]).comparisons[0]


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_figure_csv_has_every_point_with_its_n(make):
    lines = read(
        figure.curve_csv(one(make(scores=(34.0, None, 30.0, 28.0, 26.0), counts=[120, 0, 90, 40, 12])))
    )
    assert [(line["centre"], line["n"], line["bleu"], line["mark"]) for line in lines] == [
        ("5.0", "120", "34.0", ""),
        ("15.0", "0", "", "empty"),
        ("25.0", "90", "30.0", ""),
        ("35.0", "40", "28.0", ""),
        ("45.0", "12", "26.0", "few"),
    ]
    assert (lines[0]["ci_low"], lines[0]["ci_high"]) == ("33.0", "35.0")


def test_a_bucket_without_score_is_a_gap_in_the_line(make, monkeypatch, tmp_path):
    from matplotlib.axes import Axes

    drawn = []
    plot = Axes.plot
    monkeypatch.setattr(
        Axes, "plot", lambda self, x, y, **look: (drawn.append((x, y)), plot(self, x, y, **look))[1]
    )
    comparison = one(make(scores=(34.0, None, 30.0, 28.0, 26.0), counts=[120, 0, 90, 40, 12]))
    figure.draw(comparison, [tmp_path / "x.svg"])
    ((places, values),) = drawn
    assert places == [5, 15, 25, 35, 45]
    assert values[1] != values[1] and values[2] == 30.0
    titles, _, row = [
        line.split("|") for line in table.to_markdown(comparison).splitlines() if line[:1] == "|"
    ]
    assert row[titles.index(" 11-20 (n=0) ")] == " - "


@pytest.fixture
def drawing(monkeypatch, tmp_path):
    """Draws a comparison and gives the axes back."""
    from matplotlib.figure import Figure

    def _drawing(comparison):
        kept = []
        save = Figure.savefig
        monkeypatch.setattr(
            Figure, "savefig", lambda self, *args, **more: (kept.append(self), save(self, *args, **more))[1]
        )
        figure.draw(comparison, [tmp_path / "drawing.svg"])
        return kept[0].axes[0]

    return _drawing


def test_the_legend_has_the_rows_of_the_table_in_their_order(grid, drawing):
    comparison = one(*grid)
    texts = [text.get_text() for text in drawing(comparison).get_legend().get_texts()]
    assert len(texts) == 7
    for row, text in zip(comparison.rows, texts, strict=True):
        assert text.startswith(row.name(comparison.varying))


def test_long_entries_of_the_legend_are_cut_to_one_line_and_stay_distinct(make):
    rows = one(*(make(cell_id=str(k), note="word " * 20 + str(k)) for k in range(3)), make(scorer="b")).rows
    texts = figure.entries(rows, ("scorer",))
    assert len(set(texts)) == 4
    assert all(len(text) <= 48 and "\n" not in text for text in texts)
    assert [text.count("…") for text in texts] == [int("(row" in text) for text in texts]
    assert [text[-7:] for text in texts if "row" in text] == [
        f"(row {number})" for number, row in enumerate(rows, 1) if row.cell["scorer"] == "dot"
    ]


def test_the_axis_starts_at_0_or_is_marked(make, drawing):
    for scores, start in [
        ((34.0, 32.0, 30.0, 28.0, 26.0), 0),
        ((90.0, 80.0, 70.0, 60.0, 50.0), 0),  # intervals down to 49
        ((90.0, 80.0, 75.0, 75.0, 74.0), 70),
        ((90.0, 90.0, 90.0, 90.0, 71.0), 60),  # an interval down to 70, which must not lie on the axis
    ]:
        axes = drawing(one(make(scores=scores)))
        assert axes.get_ylim()[0] == start
        assert axes.get_ylabel() == (f"BLEU (axis starts at {start})" if start else "BLEU")


def test_buckets_at_the_ends_that_are_empty_in_all_cells_are_not_drawn_and_stay_in_the_csv(make, drawing):
    first = make(scorer="a", scores=(None, 32.0, None, 28.0, None), counts=[0, 200, 0, 40, 0])
    second = make(scorer="b", scores=(None, 31.0, None, 27.0, None), counts=[0, 200, 0, 40, 0])
    comparison = one(first, second)
    ticks = [text.get_text().split("\n")[0] for text in drawing(comparison).get_xticklabels()]
    assert ticks == ["11-20", "21-30", "31-40"]
    assert len(read(figure.curve_csv(comparison))) == 10


@pytest.mark.parametrize(
    "cells, seeds, told, height",
    [
        (6, (1,), "bars: 95 % bootstrap interval", 1.0),
        (7, (1,), None, None),
        (7, (1, 2), "bars: sample deviation over the seeds", 2**0.5),
    ],
)
def test_bars_are_intervals_of_few_cells_or_deviations_over_seeds(make, drawing, cells, seeds, told, height):
    records = [
        make(scorer=f"s{k}", seed=seed, scores=tuple(20.0 + 2 * seed + k for _ in COUNTS))
        for k in range(cells)
        for seed in seeds
    ]
    axes = drawing(one(*records))
    below = axes.get_xlabel().split("\n")[1:]
    assert below == ([told] if told else [])
    segments = [segment for bars in axes.collections for segment in bars.get_segments()]
    assert len(segments) == (cells * len(COUNTS) if told else 0)
    for (_, low), (_, high) in segments:
        assert (high - low) / 2 == pytest.approx(height)


def test_a_mixture_of_bars_is_told_apart_below_the_axis(make, drawing):
    axes = drawing(one(make(seed=1), make(seed=2, scores=(1.0,) * 5), make(scorer="b")))
    assert axes.get_xlabel().split("\n")[1] == (
        "bars: 95 % bootstrap interval (one seed); sample deviation over the seeds"
    )


def test_cells_look_different_and_the_baseline_unlike_all(grid):
    rows = one(*grid).rows
    looks = figure.styles(rows, one(*grid).varying)
    assert len({str(look) for look in looks}) == len(rows)
    assert [look["color"] == "black" for look in looks] == [not row.attends for row in rows]
    by_scorer = {row.cell["scorer"]: look["color"] for row, look in zip(rows, looks, strict=True)}
    for row, look in zip(rows, looks, strict=True):
        assert look["color"] == by_scorer[row.cell["scorer"]]


def test_many_cells_of_any_kind_can_be_drawn_apart(make):
    cells = [
        make(scorer=f"s{k % 9}", decoder=f"d{k % 2}", cell_id=f"c{k}", settings={"lr": k}) for k in range(18)
    ]
    looks = figure.styles(one(*cells).rows, ["scorer", "decoder"])
    assert len({str(look) for look in looks}) == 18
