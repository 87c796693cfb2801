"""What conferences ask, from the records or `not recorded`."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from attnlab.report import compare
from attnlab.report.checklist import checklist
from attnlab.report.evidence import Estimate, Evidence, Measure
from attnlab.report.inventory import UNKNOWN, counted, hours, inventory, span
from attnlab.report.rows import MISSING, Row


def report(*records):
    return compare([(Path(f"runs/{number}"), record) for number, record in enumerate(records)])


def section(text, code):
    """The answers under one code."""
    found = re.search(rf"\*\*{code} [^\n]*\n\n((?:- .*\n)+)", text)
    assert found, code
    return found[1]


def test_every_code_is_asked_and_answered(grid):
    text = checklist(report(*grid))
    codes = re.findall(r"^\*\*(\S+) ", text, re.MULTILINE)
    assert codes == [
        "B1",
        "B2",
        "B3",
        "B4",
        "B5",
        "B6",
        "C1",
        "C2",
        "C3",
        "C4",
        "4",
        "5",
        "6",
        "7",
        "8",
        "12",
    ]
    for code in codes:
        assert section(text, code)
    for line in text.splitlines():
        # Nothing is called unknown without what would record it.
        assert UNKNOWN not in line or ";" in line.rpartition(UNKNOWN)[2], line


def test_numbers_are_those_of_all_finished_runs_together(make):
    first, second = make(seed=1), make(seed=2)
    other = make(scorer="general", error=RuntimeError("boom"))
    for record, parameters, seconds in ((first, 1000, 1800.0), (second, 2500, 5400.0)):
        record["parameters"] = {"total": parameters, "attention": 10}
        record["train"] |= {"device_s": seconds, "wall_s": seconds, "peak_memory": 2**30}
    text = checklist(report(first, second, other), failed=[other])
    assert "2 finished runs of 1 cell" in text
    c1 = section(text, "C1")
    assert "parameters: 1,000 to 2,500; of them attention: 10" in c1
    assert "finished runs: 2, device hours 2.00 h; wall time of one: 30.0 min to 90.0 min" in c1
    assert "failed or were stopped: 1, wall time 0.21 h" in c1  # 754 s
    assert "peak memory: 1.00 GiB" in c1
    assert "seeds of a cell: 2" in section(text, "C3") and "one seed" not in section(text, "C3")


def test_a_run_of_two_test_sets_counts_once(make):
    record = make()
    record["test"]["flickr2"] = record["test"]["flickr"]
    record["data"]["fingerprints"]["flickr2"] = "beef"
    known = inventory(report(record))
    assert len(known.records) == 1 and known.cells == 1 and known.seeds == [1, 1]


def test_commits_dirty_trees_and_versions_that_differ_are_counted(make):
    records = [make(seed=seed) for seed in (1, 2, 3)]
    records[0]["code"] = {"commit": "aaaa", "dirty": True}
    records[1]["code"] = {"commit": None, "dirty": None}
    records[2]["versions"] = {"python": "3.12", "torch": "2.6"}
    text = checklist(report(*records))
    code = section(text, "5")
    assert "aaaa with uncommitted changes (1 run)" in code
    assert "c0ffee without uncommitted changes (1 run)" in code
    assert f"{UNKNOWN} (1 run)" in code and "run it from a git checkout" in code
    differ = section(text, "C4").splitlines()[-1]
    assert differ.endswith("python 3.11 (2 runs), 3.12 (1 run); torch absent (2 runs), 2.6 (1 run)")


def test_what_is_not_there_is_not_recorded_and_a_null_is_none(make):
    record = make(settings={"label_smoothing": None})
    record["data"] |= {"licence": None, "source": None}
    record["machine"] = dict.fromkeys(record["machine"])
    record["parameters"] = {"total": None, "attention": None}
    record["train"] |= dict.fromkeys(("device_s", "peak_memory"))
    text = checklist(report(record))
    assert f"data source {UNKNOWN}: {UNKNOWN}; data.licence=... records it" in section(text, "B2")
    assert f"parameters: {UNKNOWN}" in section(text, "C1")
    assert f"machines: {UNKNOWN}" in section(text, "C1")
    assert f"device hours {UNKNOWN}" in section(text, "C1")
    assert UNKNOWN in section(text, "B6")
    assert "label smoothing: none" in section(text, "C2") and re.search(
        rf"dropout.*: {UNKNOWN};", section(text, "C2")
    )
    assert "TER" not in text and "None" not in text and "null" not in text


def test_splits_are_listed_once_with_what_was_left_out(make):
    records = [make(seed=seed) for seed in (1, 2)]
    for record in records:
        record["data"]["splits"] = {
            "train": {
                "pairs": 1200,
                "words": {"source": 12000, "target": 11000},
                "unknown": {"source": 0.015, "target": 0.0},
                "dropped": {"blank": 2, "too_long": 0},
            },
            "flickr": {"pairs": 462},
        }
        record["data"]["overlap"] = {"flickr": {"pairs": 3, "sources": 4}}
    lines = section(checklist(report(*records)), "B6").splitlines()
    assert lines == [
        "- files in corpus, flickr: 462 pairs; also in training 3 pairs, 4 sources; fingerprint f00d",
        "- files in corpus, train: 1,200 pairs; words 12,000 / 11,000; unknown 1.50% / 0.00%; left out 2 blank",
    ]


def test_tests_and_intervals_are_those_that_were_made(make):
    made = report(make(), make(scorer="general"))
    rows = {"x": Estimate(30.0, None, 1, 29.0, 31.0)}
    evidence = Evidence(
        None, 500, 10, 0.9, 7, {"bleu": Measure("BLEU", rows=rows)}, note_on_tests="tests: a note"
    )
    c3 = section(checklist(made, [evidence, evidence]), "C3")
    assert c3.count("tests: a note") == 1
    assert "intervals: 90 %, bootstrap over sentences" in c3 and "500 draws from seed 7" in c3
    fine = section(checklist(made, [replace(evidence, level=0.999)]), "C3")
    assert "intervals: 99.9 %" in fine  # not rounded to all of them
    bare = section(checklist(made), "C3")
    assert f"intervals: {UNKNOWN}; attnlab evaluate RUN" in bare and f"tests: {UNKNOWN}" in bare
    assert f"cells with one seed: {UNKNOWN}" in bare


def test_failed_and_missing_seeds_are_counted(make):
    made = report(make(seed=1), make(seed=2, error=RuntimeError("x")), make(scorer="general", seed=1))
    text = checklist(made)
    assert "seeds without a score: 1 failed, 1 missing" in section(text, "C3")
    assert f"failed or were stopped: 1; their time: {UNKNOWN} here" in section(text, "C1")


def test_seeds_of_cells_without_any_finished_run_are_counted_too(make):
    made = report(make(seed=1))
    (comparison,) = made.comparisons
    cell = dict(comparison.rows[0].cell)
    comparison.rows.append(Row(cell, "asked", {}, [], kind=MISSING, failed=["1"], missing=["2", "3"]))
    known = inventory(made)
    assert known.lost == {"failed": 1, "interrupted": 0, "missing": 2} and known.cells == 1
    assert "seeds without a score: 1 failed, 2 missing" in section(checklist(made), "C3")
    made.comparisons.append(comparison)  # a further test set loses no further seeds
    assert inventory(made).lost == known.lost


def test_a_number_that_a_split_lacks_is_not_called_zero(make):
    record = make()
    record["data"]["splits"] = {"train": {"unknown": {"source": None, "target": 0.5}}}
    line = section(checklist(report(record)), "B6")
    assert f"pairs {UNKNOWN}" in line and "unknown - / 50.00%" in line and "0 pairs" not in line


def test_the_same_records_give_the_same_bytes_in_any_order_and_place(grid):
    text = checklist(report(*grid))
    moved = compare([(Path(f"z/{9 - k}"), json.loads(json.dumps(r))) for k, r in enumerate(grid)][::-1])
    assert checklist(moved) == text


def test_names_from_a_configuration_are_no_markdown(make):
    record = make()
    record["data"]["source"] = "a*b*<script>\n# x"
    line = section(checklist(report(record)), "B1").splitlines()[0]
    assert line == "- data: a\\*b\\*&lt;script&gt; # x"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([], UNKNOWN),
        (["a", "a"], "a"),
        (["b", "a", "b"], "b (2 runs), a (1 run)"),
        ([None, "a"], f"a (1 run), {UNKNOWN} (1 run)"),
        (["", None], UNKNOWN),
    ],
)
def test_counted(values, told):
    assert counted(values) == told


def test_spans_and_hours_say_of_how_many_runs_they_are_known():
    assert span([2.0, 1.0, 2.0], "{:g}".format) == "1 to 2"
    assert span([1.0, None], "{:g}".format) == "1 (known of 1 of 2 runs)"
    assert span([None], "{:g}".format) == UNKNOWN == hours([None]) == hours([])
    assert hours([3600, 1800.0]) == "1.50 h" and "1 of 2" in hours([3600, None])
