"""What may stand in one table, and how seeds are put together."""

import statistics
from pathlib import Path

import pytest

from attnlab import results
from attnlab.errors import UserError
from attnlab.report import compare, load


def together(*records):
    return compare([(Path(f"runs/{number}"), record) for number, record in enumerate(records)])


def bleu(row):
    return row.spread(lambda run: run.test["bleu"]["score"])


def test_seeds_of_a_cell_are_one_row_with_sample_deviation(make):
    (only,) = together(
        *(make(seed=k, bleu=value) for k, value in [(10, 31.0), (2, 30.0), (1, 35.0)])
    ).comparisons
    (row,) = only.rows
    assert [run.seed for run in row.runs] == ["1", "2", "10"]
    assert bleu(row) == (32.0, pytest.approx(statistics.stdev([31, 30, 35])), 3)


def test_one_seed_has_no_deviation(make):
    assert bleu(together(make(bleu=30.0)).comparisons[0].rows[0]) == (30.0, None, 1)


def test_failed_seeds_are_named_and_do_not_count_and_missing_ones_are_visible(make):
    report = together(
        make(seed=1, bleu=30.0),
        make(seed=2, error=RuntimeError("out of memory\nat 0x")),
        make(seed=3, bleu=32.0),
        make(scorer="general", seed=1),
    )
    dot, general = report.comparisons[0].rows
    assert bleu(dot)[::2] == (31.0, 2)
    assert (dot.failed, dot.missing) == (["2"], [])
    assert (general.failed, general.missing) == ([], ["2", "3"])
    assert any("seed 2: RuntimeError: out of memory" in line and "\n" not in line for line in report.unscored)


def test_a_cell_that_gave_no_score_is_a_row_of_no_table_and_is_told_once(make):
    report = together(
        make(), make(test_set="coco"), make(scorer="general", cell_id="g", error=ValueError("x"))
    )
    assert [[row.cell["scorer"] for row in one.rows] for one in report.comparisons] == [["dot"], ["dot"]]
    assert report.unscored == ["failed: g seed 1: ValueError: x"]
    assert not any("ValueError" in note for note in report.notes)


def test_a_stopped_run_is_interrupted_as_the_status_says(make):
    stop = {"type": "Stopped", "message": "stopped by a signal before the end"}
    report = together(make(seed=1), make(seed=2, cell_id=None, error=stop))
    (row,) = report.comparisons[0].rows
    assert (row.failed, row.interrupted, row.missing) == ([], ["2"], [])
    assert report.unscored == [f"interrupted: {row.cell_id} seed 2: stopped by a signal before the end"]
    with pytest.raises(UserError, match="no finished run: 1 run interrupted"):
        together(make(error=stop))


def test_a_seed_that_failed_once_and_then_succeeded_counts_as_done(make):
    report = together(make(seed=1, error=ValueError("x")), make(seed=1))
    row = report.comparisons[0].rows[0]
    assert row.failed == [] and bleu(row).n == 1
    assert report.unscored == []


def test_a_seed_is_counted_once_the_record_that_ended_last(make):
    old, new = (
        make(bleu=20.0, ended="2026-01-01T00:00:00+00:00"),
        make(bleu=30.0, ended="2026-02-01T00:00:00+00:00"),
    )
    for records in [(old, new), (new, old)]:
        report = together(*records)
        assert bleu(report.comparisons[0].rows[0]) == (30.0, None, 1)
        assert any("counted once" in note for note in report.notes)


def test_seeds_set_apart_are_told_apart(make):
    first, second = make(seed=1), make(seed=1)
    first["config"] |= {"seed_init": 1, "seed_order": 1}
    second["config"] |= {"seed_init": 2, "seed_order": 1}
    assert [run.seed for run in together(first, second).comparisons[0].rows[0].runs] == ["1", "1-init2"]


@pytest.mark.parametrize(
    "change, told, slug",
    [
        (
            {"signature": "nrefs:1|case:lc|eff:no|tok:none|smooth:exp|version:2.6.0"},
            "BLEU signature",
            "case-lc-tok-none",
        ),
        ({"languages": ("fr", "en")}, "language pair", "fr-en"),
        ({"fingerprint": "beef0123456789"}, "test set's content", "beef0123"),
        ({"test_set": "coco"}, "test set", "coco"),
    ],
    ids=["signature", "languages", "fingerprint", "test set"],
)
def test_what_cannot_be_compared_goes_into_tables_of_its_own(make, change, told, slug):
    report = together(make(scorer="a"), make(scorer="b"), make(scorer="c", **change))
    assert [[row.cell["scorer"] for row in one.rows] for one in report.comparisons] == [["a", "b"], ["c"]]
    assert [one.slug for one in report.comparisons] == ["", slug]
    assert report.notes == [f"2 tables, kept apart because the {told} differs"]


def test_the_baseline_comes_first_then_by_axis(make):
    records = [
        make(scorer="general", decoder="post_combine"),
        make(scorer="dot", decoder="post_combine"),
        make(scorer="general", decoder="input_feeding"),
        make(scorer=None, window=None, decoder="plain_encoder"),
    ]
    for given in (records, records[::-1]):
        assert [row.name(("scorer", "decoder")) for row in together(*given).comparisons[0].rows] == [
            "plain_encoder",
            "general, input_feeding",
            "dot, post_combine",
            "general, post_combine",
        ]


def test_evaluations_add_test_sets_but_never_a_second_score_of_one(make, save):
    top = save(make())
    folder = next(top.rglob("result.json")).parent
    record = results.read(folder)
    for name, test_set in [("coco", "coco"), ("greedy", "flickr")]:
        further = {key: record[key] for key in results.REQUIRED["evaluation"] if key in record}
        scores = {**record["test"]["flickr"], "search": {"beam_size": 1 if name == "greedy" else 5}}
        further |= {"checkpoint": "best", "test": {test_set: scores}}
        results.write_evaluation(results.build_evaluation(**further), folder, name)
    report = load([top])
    assert [one.test_set for one in report.comparisons] == ["coco", "flickr"]
    assert any("greedy.json scores flickr once more" in note for note in report.notes)


def test_load_of_nothing_or_of_failures_only_is_one_line(make, save, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no records"):
        load([tmp_path / "empty"])
    with pytest.raises(UserError, match=r"no finished run: 1 run failed .*RuntimeError: x"):
        load([save(make(error=RuntimeError("x")), under="failed")])
    with pytest.raises(UserError, match="no record has test set coco; there are: flickr"):
        load([save(make())], ["coco"])


def test_broken_and_missing_records_are_notes(make, save):
    top = save(make())
    for name, file in [("seed8", "result.json"), ("seed9", "config.yaml")]:
        (top / "x" / name).mkdir(parents=True)
        (top / "x" / name / file).touch()
    report = load([top])
    assert any("seed8/result.json: no valid JSON" in note for note in report.notes)
    assert report.unscored == [f"interrupted: {top / 'x' / 'seed9'}: no record"]


def test_records_without_any_test_set_say_so(make):
    record = make()
    record["test"] = {}
    with pytest.raises(UserError, match=r"made with data.test=\[\]"):
        together(record)


def test_weights_tampered_on_another_text_are_no_comparison_and_a_bad_file_hides_no_other(make, save):
    top = save(make())
    folder = next(top.rglob("result.json")).parent
    record = results.read(folder)
    for name, content in [("uniform", "f00d"), ("permute", "beef")]:
        further = {key: record[key] for key in results.REQUIRED["evaluation"] if key in record}
        further |= {"checkpoint": "best", "attention_override": name}
        further["data"] = {**record["data"], "fingerprints": {"flickr": content}}
        results.write_evaluation(results.build_evaluation(**further), folder, name)
    (folder / "evaluations" / "half.json").write_text("{")
    report = load([top])
    assert list(report.comparisons[0].rows[0].overrides) == ["uniform"]
    assert any("permute.json: another text of flickr" in note for note in report.notes)
    assert any("half.json: no valid JSON" in note for note in report.notes)


def test_a_run_without_a_score_is_left_out_and_told(make):
    record = make(seed=2)
    record["test"]["flickr"]["bleu"]["score"] = None
    report = together(make(), record)
    assert [run.seed for run in report.comparisons[0].rows[0].runs] == ["1"]
    assert any("no BLEU of flickr" in note for note in report.notes)
