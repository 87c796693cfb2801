"""`attnlab reproduce`: a record's cell again, its numbers compared, and what keeps them from being equal."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import attnlab
from attnlab import agreement, provenance, reproduce, results
from attnlab.errors import UserError

TINY = [
    *("data.train_pairs=80", "data.val_pairs=8", "data.test_pairs=12", "data.max_words=8"),
    *("data.vocabulary=20", "data.batch_tokens=200", "tokenizer.min_frequency=1", "optim.lr=0.02"),
    *("encoder.hidden_size=8", "decoder.hidden_size=8", "model.embedding_size=8", "search.beam_size=2"),
    *("trainer.max_epochs=2", "trainer.accelerator=cpu", "metrics.bootstrap.samples=5"),
    *("metrics.length_edges=[4,6]", "seed=3"),
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: Any) -> Any:
    top = tmp_path_factory.mktemp("original")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(top / "cache"))
        # As of clean code: the checkout that is tested may hold changes.
        patch.setattr(results, "code_state", lambda: {"commit": "a" * 40, "dirty": False})
        patch.setattr(provenance, "code_state", lambda: {"commit": "a" * 40, "dirty": False})
        attnlab.train([*TINY, f"out={top / 'outputs'}"])
        (folder,) = top.glob("outputs/*/*/seed3")
        yield folder


def altered(folder: Path, change: Any, where: Path) -> Path:
    record = json.loads((folder / "result.json").read_text())
    change(record)
    where.write_text(json.dumps(record))
    return where


def test_a_cell_on_the_same_machine_is_reproduced_to_the_last_digit(
    original: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert reproduce.reproduce(original)
    told = capsys.readouterr().out
    assert "code, versions and machine are those of the record" in told
    assert "tolerance: 0" in told and "DIFFERS" not in told
    assert "equal: 12 hypotheses of test" in told and "equal: train.updates" in told
    (new,) = tmp_path.glob("outputs/reproduced/*/seed3")
    assert new.parent.name == original.parent.name
    first, second = results.read(original), results.read(new)
    assert first["test"]["test"]["bleu"] == second["test"]["test"]["bleu"] and first["val"] == second["val"]
    assert (new / "checkpoints" / "best.ckpt").is_file()


def test_numbers_that_are_not_those_of_the_record_end_with_1(
    original: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)

    def other(record: Any) -> None:
        record["test"]["test"]["bleu"]["score"] += 0.001

    path = altered(original, other, tmp_path / "result.json")
    assert not reproduce.reproduce(path, out=tmp_path / "again")
    told = capsys.readouterr().out
    assert told.count("DIFFERS") == 1 and "DIFFERS: test.test.bleu.score" in told
    assert "not compared: hypotheses of test" in told and told.rstrip().endswith("NOT reproduced")
    assert reproduce.reproduce(path, out=tmp_path / "third", tolerance=0.1)


def test_other_data_is_refused_before_anything_is_trained(
    original: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)

    def other(record: Any) -> None:
        record["data"]["fingerprints"]["val"] = "0" * 16

    path = altered(original, other, tmp_path / "result.json")
    with pytest.raises(UserError, match=r"not that of the record \(val\): nothing was trained") as caught:
        reproduce.reproduce(path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize("override", ["optim.lr=1", "seed=4", "trainer.max_epochs=1", "nothing=1", "trainer"])
def test_what_makes_another_cell_is_refused(original: Path, override: str) -> None:
    with pytest.raises(UserError, match=r"another cell|no such setting"):
        reproduce.settings(results.read(original), [override])


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"scorer": {"_target_": "no.such.Scorer"}}, "its cell cannot be made here .*no.such.Scorer"),
        (5, "'config' must be an object"),
    ],
)
def test_a_record_whose_cell_cannot_be_made_is_refused_in_a_line(
    original: Path, tmp_path: Path, setting: Any, words: str
) -> None:
    def change(record: Any) -> None:
        record["config"] = {**record["config"], **setting} if isinstance(setting, dict) else setting

    path = altered(original, change, tmp_path / "result.json")
    with pytest.raises(UserError, match=words) as error:
        reproduce.reproduce(path, tmp_path / "new")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "new").exists()


def test_what_does_not_change_the_cell_may_be_set_and_newer_options_are_filled_in(original: Path) -> None:
    record = copy.deepcopy(results.read(original))
    del record["config"]["callbacks"]["save_every"]
    config = reproduce.settings(record, ["trainer.threads=2", "data.cache_dir=/somewhere"])
    assert config["trainer"]["threads"] == 2 and config["data"]["cache_dir"] == "/somewhere"
    assert config["callbacks"]["save_every"] == 500
    assert config["logger"] == {}
    untouched = reproduce.settings(record)
    assert untouched["trainer"]["threads"] == record["machine"]["threads"]


def test_what_surrounds_the_record_is_named_where_it_differs(original: Path) -> None:
    record = copy.deepcopy(results.read(original))
    machine = copy.deepcopy(record["machine"])
    assert agreement.surroundings(record, machine).same
    record["versions"]["torch"] = "1.0"
    record["code"] = {"commit": "b" * 40, "dirty": True}
    machine["cpu"] = "another"
    told = agreement.surroundings(record, machine)
    assert not told.same
    text = "\n".join(told.lines)
    assert "commit bbbbbbbb" in text and "not committed" in text and "torch 1.0" in text and "another" in text


def test_a_failed_run_has_nothing_to_reproduce(original: Path, tmp_path: Path) -> None:
    record = results.read(original)
    kept = ("cell", "factors", "cell_id", "seed", "overrides", "command", "config")
    failed = results.build(
        **{key: record[key] for key in kept}, error={"type": "E", "message": "m"}, train={"wall_s": 1.0}
    )
    results.write(failed, tmp_path)
    with pytest.raises(UserError, match="no numbers"):
        reproduce.reproduce(tmp_path)


def test_numbers_that_records_got_later_are_no_differences(tmp_path: Path) -> None:
    old: dict[str, Any] = {
        "train": {"updates": 3, "best_step": 3},
        "val": {"bleu": 1.0},
        "test": {"test": {"bleu": {"score": 2.0}, "attention": {"entropy": 0.5}}},
    }
    new = copy.deepcopy(old)
    new["test"]["test"]["attention"]["by_source_length"] = [{"n": 4, "max_weight": 0.9}]
    told = agreement.compare(old, new, 0, tmp_path, tmp_path)
    assert told.agrees and "not compared: 2 numbers that the record does not have" in told.lines
    new["test"]["test"]["attention"]["entropy"] = 0.6
    assert not agreement.compare(old, new, 0, tmp_path, tmp_path).agrees
    del new["test"]["test"]["attention"]["entropy"]
    assert not agreement.compare(old, new, 0, tmp_path, tmp_path).agrees
