"""Cells that a study asks for and that have no finished run are rows without numbers."""

import json

import pytest

from attnlab import results
from attnlab.report import load, table
from attnlab.report.evidence import evidence
from attnlab.report.payload import payload
from attnlab.sweep import identity

from .recorded import make

STUDY = """
question: Which scorer?
overrides: [experiment=demo]
grids:
  - {decoder: post_combine, scorer: [dot, general]}
seeds: [1, 2]
"""


def asked(scorer, seed):
    return ["experiment=demo", "decoder=post_combine", f"scorer={scorer}", f"seed={seed}", "study=first"]


@pytest.fixture
def study(tmp_path):
    """A study's folder with some finished and some failed runs, as `(scorer, seed, error)`."""

    def _study(*runs, text=STUDY, under="first", planned=()):
        top = tmp_path / under
        top.mkdir(parents=True)
        if text:
            (top / "study.yaml").write_text(text, encoding="utf-8")
        for scorer, seed, error in runs:
            cell_id = f"{scorer}-post_combine-global-bilstm-0123abcd"
            record = make(
                scorer=scorer, seed=seed, cell_id=cell_id, error=error, overrides=asked(scorer, seed)
            )
            results.write(record, top / cell_id / f"seed{seed}")
        if planned:
            (top / "sweeps").mkdir()
            cells = [{"folder": folder, "state": "pending", "overrides": []} for folder in planned]
            content = {"pid": 0, "host": "x", "cells": cells}
            (top / "sweeps" / "20260101T000000-1.json").write_text(json.dumps(content))
        return top

    return _study


def told(report):
    (comparison,) = report.comparisons
    rows = sorted(comparison.rows, key=lambda row: str(row.cell["scorer"]))
    return [
        (row.kind, row.cell["scorer"], [run.seed for run in row.runs], row.failed, row.missing)
        for row in rows
    ]


def test_a_cell_of_the_file_without_any_run_is_a_row(study):
    report = load([study(("dot", 1, None), ("dot", 2, None))])
    assert told(report) == [
        ("cell", "dot", ["1", "2"], [], []),
        ("missing", "general", [], [], ["1", "2"]),
    ]
    assert report.question == "Which scorer?" and report.title == "first"


def test_a_missing_seed_of_a_cell_is_named_in_its_row(study):
    report = load([study(("dot", 1, None), ("general", 1, None), ("general", 2, None))])
    assert told(report) == [
        ("cell", "dot", ["1"], [], ["2"]),
        ("cell", "general", ["1", "2"], [], []),
    ]


def test_a_complete_study_composes_nothing(study, monkeypatch):
    runs = [(scorer, seed, None) for scorer in ("dot", "general") for seed in (1, 2)]
    top = study(*runs)
    monkeypatch.setattr("attnlab.report.expected._composed", lambda *_: pytest.fail("composed"))
    assert [kind for kind, *_ in told(load([top]))] == ["cell", "cell"]


def test_a_cell_that_only_failed_is_a_row_too_and_the_reason_is_told_once(study):
    top = study(("dot", 1, None), ("dot", 2, None), ("general", 1, ValueError("no luck")))
    report = load([top])
    ((kind, _, runs, failed, missing),) = [one for one in told(report) if one[1] == "general"]
    assert (kind, runs, failed, missing) == ("missing", [], ["1"], ["2"])
    assert report.unscored == [
        "failed: general-post_combine-global-bilstm-0123abcd seed 1: ValueError: no luck"
    ]


def test_without_a_file_the_sweep_tells_what_was_planned(study):
    planned = [f"{name}-bilstm-0123abcd/seed{k}" for name in ("dot-post_combine-global", "none-fixed_vector-none")
               for k in (1, 2)]  # fmt: skip
    top = study(("dot", 1, None), text="", planned=planned)
    report = load([top])
    assert told(report) == [
        ("missing", None, [], [], ["1", "2"]),
        ("cell", "dot", ["1"], [], ["2"]),
    ]
    missing = report.comparisons[0].rows[0]
    assert missing.cell == {"encoder": "bilstm", "scorer": None, "decoder": "fixed_vector", "window": None}
    assert missing.key == "none-fixed_vector-none-bilstm-0123abcd"


def test_the_names_of_planned_cells_are_read_as_identity_writes_them():
    cell = {"encoder": "bilstm", "scorer": "dot", "decoder": "post_combine", "window": "global"}
    assert identity.cell_name({"cell": cell}).startswith("dot-post_combine-global-bilstm-")


def test_a_folder_that_is_no_study_has_no_such_rows(study):
    top = study(("dot", 1, None), ("general", 1, ValueError("x")), text="")
    assert told(load([top])) == [("cell", "dot", ["1"], [], [])]


def test_the_records_folder_of_an_experiment_is_its_study(study, tmp_path):
    top = study(("dot", 1, None), ("dot", 2, None), text="", under="experiments/first/records")
    (top.parent / "study.yaml").write_text(STUDY, encoding="utf-8")
    assert [kind for kind, *_ in told(load([top.parent]))] == ["cell", "missing"]
    # Who asks for the runs alone has not asked for the study.
    (cell,) = top.iterdir()
    assert [kind for kind, *_ in told(load([cell]))] == ["cell"]


def test_a_point_that_is_part_of_another_is_missing_by_itself(study):
    more = "  - {decoder: post_combine, scorer: dot, window: local_p}\n"
    top = study(text=STUDY.replace("seeds:", more + "seeds:"))
    for scorer, window in [("general", "global"), ("dot", "local_p")]:
        for seed in (1, 2):
            cell_id = f"{scorer}-post_combine-{window}-bilstm-0123abcd"
            overrides = asked(scorer, seed) + ([f"window={window}"] if window == "local_p" else [])
            record = make(scorer=scorer, window=window, seed=seed, cell_id=cell_id, overrides=overrides)
            results.write(record, top / cell_id / f"seed{seed}")
    (row,) = [row for row in load([top]).comparisons[0].rows if row.kind == "missing"]
    assert (row.cell["scorer"], row.cell["window"], row.missing) == ("dot", "global", ["1", "2"])


def test_a_file_that_cannot_be_read_is_a_note(study):
    report = load([study(("dot", 1, None), text="grids: 1\n")])
    assert [kind for kind, *_ in told(report)] == ["cell"]
    assert any("study.yaml" in note and "missing" in note for note in report.notes)


def test_excluded_cells_are_not_missing(study):
    text = STUDY + "exclude: [{scorer: general}]\n"
    report = load([study(("dot", 1, None), text=text)])
    assert told(report) == [("cell", "dot", ["1"], [], ["2"])]


def test_missing_rows_are_visible_in_every_form_and_the_same_each_time(study, tmp_path):
    top = study(("dot", 1, None), ("dot", 2, None))
    texts = []
    for _ in range(2):
        report = load([top])
        (comparison,) = report.comparisons
        made = evidence(comparison)
        page = payload(report, [made], tmp_path)
        texts.append((table.to_markdown(comparison, made), table.to_csv(comparison, made), json.dumps(page)))
    assert texts[0] == texts[1]
    markdown, text, page = texts[0]
    assert "| missing 1 2 | - |" in markdown and "the study asks for" in markdown
    assert "missing" in text and '"kind": "missing"' in page
    row = next(row for row in json.loads(page)["comparisons"][0]["rows"] if row["kind"] == "missing")
    assert (row["bleu"], row["runs"], row["missing"], row["test"]) == (None, [], ["1", "2"], None)
