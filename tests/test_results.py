"""The record: complete or refused, finite, written as a whole, found at any depth."""

import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from attnlab import provenance, results
from attnlab.errors import UserError


def skeleton(fields):
    """A record with every required field, all leaves null."""
    return {name: skeleton(inner) if inner else None for name, inner in fields.items()}


def record(status=results.DONE, **changes):
    full = skeleton(results.REQUIRED[status])
    full.update(schema=results.SCHEMA, status=status, cell_id="c", seed=1, **changes)
    if status == results.DONE:
        full["test"] = {"set": full["test"]["*"]}
    return full


def leaves(fields, path=()):
    for name, inner in fields.items():
        yield (*path, name)
        yield from leaves(inner, (*path, name))


@pytest.mark.parametrize("status", [results.DONE, results.FAILED])
def test_every_required_field_is_named_when_it_is_missing(status):
    checked = 0
    for path in leaves(results.REQUIRED[status]):
        path = tuple("set" if name == "*" else name for name in path)
        if path[-1] in ("set", "status"):
            continue
        broken = record(status)
        node = broken
        for name in path[:-1]:
            node = node[name]
        del node[path[-1]]
        with pytest.raises(UserError, match=f"field '{'.'.join(path)}' is missing"):
            results.check(broken)
        checked += 1
    assert checked > (60 if status == results.DONE else 20)


def test_build_fills_in_code_versions_machine_and_keeps_what_is_given():
    given = record()
    for name in ("schema", "status", "ended", "code", "versions", "machine"):
        del given[name]
    built = results.build(**given, machine={"cpu": "x", "memory": 1, "device": "y", "count": 3})
    assert built["schema"] == 1 and built["status"] == "done"
    assert built["versions"]["sacrebleu"] and built["versions"]["python"]
    assert set(built["code"]) == {"commit", "dirty"}
    assert built["machine"]["count"] == 3


def test_build_of_a_failed_run_takes_the_exception():
    given = record(results.FAILED)
    del given["status"], given["error"]
    built = results.build(**given, error=MemoryError("no room"))
    assert built["status"] == "failed" and built["error"] == {"type": "MemoryError", "message": "no room"}


def test_numbers_that_json_cannot_hold_become_null(tmp_path):
    given = record(factors={"a": math.nan, "b": [math.inf, 1.5], "c": np.float32(2), "d": np.array([1, 2])})
    given["overrides"] = (Path("x"), {3, 1})
    path = results.write(results.plain(given), tmp_path)
    read = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda name: pytest.fail(name))
    assert read["factors"] == {"a": None, "b": [None, 1.5], "c": 2.0, "d": [1, 2]}
    assert read["overrides"] == ["x", [1, 3]]


def test_a_record_survives_writing_and_reading(tmp_path):
    given = record(command="größer → 'quoted'")
    assert results.read(results.write(given, tmp_path / "new" / "seed1")) == given
    assert results.read(tmp_path / "new" / "seed1") == given


def test_a_write_that_fails_leaves_the_old_record_and_no_rubbish(tmp_path, monkeypatch):
    results.write(record(command="first"), tmp_path)

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(results.os, "fsync", broken)
    with pytest.raises(OSError, match="disk full"):
        results.write(record(command="second"), tmp_path)
    assert results.read(tmp_path)["command"] == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_an_incomplete_record_is_not_written(tmp_path):
    broken = record()
    del broken["test"]["set"]["bleu"]["signature"]
    with pytest.raises(UserError, match=r"test\.set\.bleu\.signature"):
        results.write(broken, tmp_path)
    assert not list(tmp_path.iterdir())


def test_success_takes_an_earlier_failure_away_and_failure_keeps_success(tmp_path):
    results.write(record(results.FAILED), tmp_path)
    assert results.read(tmp_path)["status"] == "failed"
    results.write(record(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    results.write(record(results.FAILED), tmp_path)
    assert results.read(tmp_path)["status"] == "done"


def test_find_walks_all_depths_counts_each_folder_once_and_names_the_rest(tmp_path):
    results.write(record(command="deep"), tmp_path / "a" / "b" / "seed1")
    results.write(record(results.FAILED), tmp_path / "a" / "seed2")
    (tmp_path / "a" / "seed3").mkdir()
    (tmp_path / "a" / "seed3" / "config.yaml").touch()
    (tmp_path / "a" / "seed4").mkdir()
    (tmp_path / "a" / "seed4" / "result.json").write_text('{"schema": 1, ', encoding="utf-8")
    found = results.find([tmp_path, tmp_path / "a", tmp_path / "a" / "b" / "seed1"])
    assert [(path.name, one["status"]) for path, one in found.records] == [
        ("seed1", "done"),
        ("seed2", "failed"),
    ]
    assert found.unfinished == [tmp_path / "a" / "seed3"]
    assert len(found.problems) == 1 and "seed4/result.json: no valid JSON" in found.problems[0]


def test_find_of_a_missing_folder_is_the_user_s_error(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        results.find([tmp_path / "nowhere"])
    (tmp_path / "result.json").touch()
    with pytest.raises(UserError, match="json: this is a file; give the folder of a run or one above it"):
        results.find([tmp_path / "result.json"])


@pytest.mark.parametrize(
    "text, told",
    [("[]", "no record"), ('{"schema": 99}', "schema 99"), ('{"schema": 1}', "status"), ("\x00", "JSON")],
)
def test_a_file_that_is_no_record_is_one_line(tmp_path, text, told):
    (tmp_path / "result.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=told) as caught:
        results.read(tmp_path)
    assert "\n" not in str(caught.value) and "result.json" in str(caught.value)


def test_evaluations_go_beside_the_record_and_leave_it_alone(tmp_path):
    before = results.write(record(), tmp_path).read_bytes()
    further = skeleton(results.REQUIRED["evaluation"])
    further["test"] = {"other": further["test"]["*"]}
    for name in ("schema", "ended", "code", "versions", "machine"):
        del further[name]
    path = results.write_evaluation(results.build_evaluation(**further), tmp_path, "greedy")
    assert path == tmp_path / "evaluations" / "greedy.json"
    assert (tmp_path / "result.json").read_bytes() == before
    assert list(results.evaluations(tmp_path)) == ["greedy"]
    assert len(results.find([tmp_path]).records) == 1


def test_a_cell_without_attention_is_known_by_its_scorer():
    cells = [{"scorer": name} for name in ("dot", None, "none")]
    assert [results.attends({"cell": cell}) for cell in cells] == [True, False, False]


def test_code_state_tells_commit_and_changes_of_a_checkout_only(tmp_path, monkeypatch):
    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tmp_path, check=True
        )

    module = tmp_path / "provenance.py"
    module.touch()
    monkeypatch.setattr(provenance, "__file__", str(module))
    git("init", "-q")
    assert provenance.code_state() == {"commit": None, "dirty": None}  # not tracked: an installed copy
    git("add", module.name)
    git("commit", "-q", "-m", "x")
    clean = provenance.code_state()
    assert len(clean["commit"]) == 40 and clean["dirty"] is False
    module.write_text("changed", encoding="utf-8")
    assert provenance.code_state() == {**clean, "dirty": True}


def test_machine_has_the_facts_of_this_one():
    facts = provenance.machine(device="H100", count=2, threads=1)
    assert facts["cpu"] and facts["memory"] > 0 and facts["cores"] > 0
    assert (facts["device"], facts["count"], facts["threads"]) == ("H100", 2, 1)


@pytest.mark.parametrize(
    ("place", "value"), [("cell.scorer", []), ("test.set.n", "many"), ("train.wall_s", True), ("factors", 1)]
)
def test_a_field_of_another_kind_is_named(place, value):
    broken = record()
    *above, last = place.split(".")
    node = broken
    for key in above:
        node = node[key]
    node[last] = value
    with pytest.raises(UserError, match=rf"field '{place.replace('set', '.')}' must be a"):
        results.check(broken)


def test_a_number_that_is_not_finite_is_read_as_null(tmp_path):
    full = record()
    full["test"]["set"]["bleu"]["score"] = math.nan
    (tmp_path / "result.json").write_text(json.dumps(full), encoding="utf-8")
    assert results.read(tmp_path)["test"]["set"]["bleu"]["score"] is None


def test_a_damaged_evaluation_leaves_the_others(tmp_path):
    whole = skeleton(results.REQUIRED["evaluation"]) | {"schema": results.SCHEMA, "test": {}}
    results.write_evaluation(whole, tmp_path, "whole")
    (tmp_path / "evaluations" / "half.json").write_text('{"schema": 1,', encoding="utf-8")
    with pytest.raises(UserError, match=r"half\.json"):
        results.evaluations(tmp_path)
    problems = []
    assert list(results.evaluations(tmp_path, problems)) == ["whole"]
    assert len(problems) == 1 and "half.json" in problems[0]
