"""The looks of the cells: the same everywhere, told apart in grey, and few among many."""

from pathlib import Path

from attnlab.report import compare
from attnlab.report.figures import styles
from attnlab.report.rows import SYSTEM


def one(*records):
    return compare([(Path(f"runs/{number}"), record) for number, record in enumerate(records)]).comparisons[0]


def test_cells_are_told_apart_in_grey_and_the_baseline_is_unlike_all(grid):
    rows = one(*grid).rows
    looks = styles.looks(rows)
    assert len({look.marker for look in looks}) == len(rows)
    assert [look.color == styles.BASELINE for look in looks] == [not row.attends for row in rows]
    assert [look.heavy for look in looks] == [not row.attends for row in rows]


def test_colour_tells_the_axis_with_most_options_and_dash_the_second(grid):
    rows = [row for row in one(*grid).rows if row.attends]
    looks = dict(zip((row.key for row in rows), styles.looks(rows), strict=True))
    for axis, pick in (("scorer", "color"), ("decoder", "dash")):
        told = {row.cell[axis]: getattr(looks[row.key], pick) for row in rows}
        assert len(set(told.values())) == len(told)
        assert all(getattr(looks[row.key], pick) == told[row.cell[axis]] for row in rows)


def test_cells_of_one_axis_differ_in_the_dash_too(make):
    looks = styles.looks(one(make(scorer="a"), make(scorer="b"), make(scorer="c")).rows)
    for pick in ("color", "marker", "dash"):
        assert len({getattr(look, pick) for look in looks}) == 3


def test_many_cells_of_any_kind_can_be_drawn_apart(make):
    cells = [
        make(scorer=f"s{k % 9}", decoder=f"d{k % 2}", cell_id=f"c{k}", settings={"lr": k}) for k in range(18)
    ]
    assert len(set(styles.looks(one(*cells).rows))) == 18


def test_a_system_from_outside_is_grey_and_no_baseline(make):
    rows = one(make(scorer="a"), make(scorer=None, window=None, decoder="fixed_vector")).rows
    rows[0].kind = SYSTEM
    outside, inside = styles.looks(rows)
    assert outside.color == styles.OUTSIDE and not outside.heavy
    assert inside.color not in (styles.OUTSIDE, styles.BASELINE)
    assert [text.endswith(" (not controlled)") for text in styles.entries(rows, ["scorer"])] == [True, False]


def test_a_cell_keeps_its_look_when_another_gets_its_first_run(make):
    rows = one(make(scorer="a"), make(scorer="b"), make(scorer="c")).rows
    before = styles.cast(rows, ["scorer"]).looks
    rows[0].runs, kept = [], rows[0].runs
    without = styles.cast(rows, ["scorer"]).looks
    assert without == {key: look for key, look in before.items() if key != rows[0].key}
    rows[0].runs = kept


def many(make, number):
    return one(
        *(make(scorer=f"s{k:02}", bleu=20.0 + k) for k in range(number)),
        make(scorer=None, window=None, decoder="fixed_vector", bleu=22.5),
    )


def test_up_to_twelve_cells_each_has_its_own_look(make):
    cast = styles.cast(many(make, 11).rows, ["scorer"])
    assert len(cast.looks) == 12 and not cast.crowded


def test_of_many_cells_best_worst_and_baseline_are_shown_and_the_rest_is_grey(make):
    rows = many(make, 30).rows
    cast = styles.cast(rows, ["scorer", "decoder"])
    named = {cast.entries[row.key].split(":")[0]: row for row in rows if row.key in cast.entries}
    assert {name: (row.cell["scorer"], row.cell["decoder"]) for name, row in named.items()} == {
        "best": ("s29", "post_combine"),
        "worst": ("s00", "post_combine"),
        "baseline": (None, "fixed_vector"),
    }
    assert len(cast.crowd) == 28 and cast.crowd.isdisjoint(cast.looks)
    assert {row.key for row in cast.order(rows)[:28]} == cast.crowd
    chosen = styles.cast(rows, ["scorer"], baseline=named["best"].key)
    assert chosen.entries[named["best"].key].startswith("best and baseline: s29")
    assert named["baseline"].key in chosen.crowd


def test_long_entries_of_the_legend_are_cut_to_one_line_and_stay_distinct(make):
    rows = one(*(make(cell_id=str(k), note="word " * 20 + str(k)) for k in range(3)), make(scorer="b")).rows
    texts = styles.entries(rows, ("scorer",))
    assert len(set(texts)) == 4
    assert all(len(text) <= 48 and "\n" not in text for text in texts)
    assert [text.count("…") for text in texts] == [int("(row" in text) for text in texts]
    assert [text[-7:] for text in texts if "row" in text] == [
        f"(row {number})" for number, row in enumerate(rows, 1) if row.cell["scorer"] == "dot"
    ]
