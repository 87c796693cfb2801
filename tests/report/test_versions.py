"""Two studies, or two versions of one, side by side."""

import pytest

from attnlab import results
from attnlab.report import load
from attnlab.report.evidence import evidence

from .recorded import with_sentences


def test_one_seed_in_two_folders_is_two_rows_called_by_their_folders(make, save):
    old, new = save(make(bleu=30.0), under="old"), save(make(bleu=31.0), under="new")
    report = load([old, new])
    (comparison,) = report.comparisons
    assert [(row.origin, row.runs[0].test["bleu"]["score"]) for row in comparison.rows] == [
        ("new", 31.0), ("old", 30.0)
    ]  # fmt: skip
    assert len({row.key for row in comparison.rows}) == 2
    assert comparison.rows[0].name(["scorer"]) == "dot (new)"
    assert report.title == "old, new" and not any("counted once" in note for note in report.notes)


def test_folders_of_one_name_are_told_apart_by_what_is_above(make, save):
    top = save(make(bleu=30.0), under="a/grid"), save(make(bleu=31.0), under="b/grid")
    rows = load(top).comparisons[0].rows
    assert [row.origin for row in rows] == ["a/grid", "b/grid"]


def test_in_one_folder_a_seed_is_counted_once(make, save):
    save(make(bleu=30.0), under="top/old")
    top = save(make(bleu=31.0, ended="2026-02-01T00:00:00+00:00"), under="top/new").parent
    report = load([top])
    (row,) = report.comparisons[0].rows
    assert row.origin == "" and [run.test["bleu"]["score"] for run in row.runs] == [31.0]
    assert any("counted once" in note for note in report.notes)


def test_a_copy_of_a_record_is_no_version(make, save):
    one = make()
    report = load([save(one, under="outputs"), save(one, under="experiments")])
    (row,) = report.comparisons[0].rows
    assert row.origin == "" and len(row.runs) == 1


def test_different_seeds_of_a_cell_in_two_folders_are_one_row(make, save):
    report = load([save(make(seed=1), under="a"), save(make(seed=2), under="b")])
    (row,) = report.comparisons[0].rows
    assert [run.seed for run in row.runs] == ["1", "2"]


def test_failed_seeds_stand_in_the_row_of_their_version(make, save):
    old = save(make(bleu=30.0), make(seed=2, error=ValueError("x")), under="old")
    rows = load([old, save(make(bleu=31.0), under="new")]).comparisons[0].rows
    assert {row.origin: row.failed for row in rows} == {"old": ["2"], "new": []}


def test_versions_are_tested_against_each_other_and_differ_by_their_code(measured):
    runs = {"old": 0.6, "new": 0.7}
    tops = []
    for number, (name, quality) in enumerate(runs.items()):
        cells = [with_sentences(quality, 10 * number + seed, seed=seed) for seed in (1, 2)]
        for record, _ in cells:
            record["code"] = {"commit": name, "dirty": False}
        tops.append(measured(*cells, under=name))
    (comparison,) = load(tops).comparisons
    made = evidence(comparison, baseline="old", samples=50, trials=50)
    (new,) = [row for row in comparison.rows if row is not made.baseline]
    assert made.of(new).test.delta > 0 and made.of(new).differs == ["code"]
    assert not made.of(new).confounded


@pytest.mark.parametrize("override", ["uniform", "permute"])
def test_tampered_evaluations_are_columns_and_never_rows(make, save, override):
    top = save(make(seed=1), make(seed=2))
    for number, path in enumerate(sorted(top.rglob("result.json"))):
        record = results.read(path)
        scores = {
            **record["test"]["flickr"],
            "bleu": {**record["test"]["flickr"]["bleu"], "score": 10.0 + number},
        }
        further = {key: record[key] for key in results.REQUIRED["evaluation"] if key in record}
        further |= {"checkpoint": "best", "test": {"flickr": scores}, "attention_override": override}
        results.write_evaluation(results.build_evaluation(**further), path.parent, f"attention.{override}")
    report = load([top])
    (comparison,) = report.comparisons
    (row,) = comparison.rows
    assert row.overrides[override].bleu.mean == 10.5 and row.overrides[override].delta.mean == -19.5
    assert row.overrides[override].bleu.n == 2 and report.notes == []


def test_a_tampered_evaluation_with_another_search_is_left_out_and_told(make, save):
    top = save(make())
    path = next(top.rglob("result.json"))
    record = results.read(path)
    scores = {**record["test"]["flickr"], "search": {"beam_size": 1}}
    further = {key: record[key] for key in results.REQUIRED["evaluation"] if key in record}
    further |= {"checkpoint": "best", "test": {"flickr": scores}, "attention_override": "uniform"}
    results.write_evaluation(results.build_evaluation(**further), path.parent, "uniform")
    report = load([top])
    assert report.comparisons[0].rows[0].overrides == {}
    assert any("uniform.json" in note and "search" in note for note in report.notes)


def test_statistics_of_a_repeated_evaluation_serve_a_run_that_has_none(measured):
    runs = [with_sentences(0.6, 1, scorer="a"), with_sentences(0.7, 2, scorer="b")]
    top = measured(*runs)
    for path in top.rglob("result.json"):
        record = results.read(path)
        further = {key: record[key] for key in results.REQUIRED["evaluation"] if key in record}
        again = results.build_evaluation(**further, checkpoint="best")
        results.write_evaluation(again, path.parent, "again")
        moved = path.parent / "evaluations" / "again" / "flickr"
        moved.mkdir(parents=True)
        (path.parent / "test" / "flickr" / "segments.npz").rename(moved / "segments.npz")
    report = load([top])
    assert all(row.segments for row in report.comparisons[0].rows) and report.notes == []
