"""The keys read out of W&B's files are those that an independent reader finds there."""

import pytest

from attnlab.dashboard import logged
from attnlab.errors import UserError

from ..wandb_files import Offline


def test_the_keys_are_those_of_the_files(pair):
    found = logged.of_folders([pair])
    runs = [Offline(pair / name) for name in ("dot", "general")]
    numbers = {
        key
        for run in runs
        for row in run.history
        for key, value in row.items()
        if isinstance(value, int | float) and f"{key.rpartition('/')[0]}/_type" not in row
    }
    assert set(found.rows) == numbers
    assert found.rows["length/test/bleu"] >= {"length/source"}
    assert "trainer/step" not in found.rows["length/test/bleu"]
    kinds = {
        (key.removesuffix("/_type"), value)
        for run in runs
        for row in run.history
        for key, value in row.items()
        if key.endswith("/_type")
    }
    assert found.images == {key for key, kind in kinds if kind == "image-file"} == {"attention/test/0"}
    assert found.tables == {key for key, kind in kinds if "table" in kind}
    assert {"samples/validation", "translations/test", "length/test/by_source"} <= found.tables
    assert {"test/test/bleu", "test/test/alignment/predicted/aer", "val/bleu"} <= found.summary
    assert found.values("scorer") == ["dot", "general"]
    assert found.runs == 2


def test_a_study_has_its_own_runs_alone(pair):
    assert logged.of_folders([pair], "grid").runs == 2
    assert logged.of_folders([pair / "dot", pair / "dot"], "grid").runs == 1  # given twice
    with pytest.raises(UserError, match="--study gird: no run of it among 2; studies there: grid"):
        logged.of_folders([pair], "gird")


def test_a_file_that_was_cut_short_is_read_to_there(pair, tmp_path):
    (path,) = (pair / "dot").rglob("*.wandb")
    place = tmp_path / "wandb" / "offline-run-1" / path.name
    place.parent.mkdir(parents=True)
    place.write_bytes(path.read_bytes()[:-40])
    assert "val/bleu" in logged.of_folders([tmp_path]).rows


@pytest.mark.parametrize(
    "content", [b"", b"no file of theirs", b":W&B\xe1\xbe\x00" + b"\0" * 4 + b"\x03\0\x01abc"]
)
def test_a_file_that_is_none_of_wandbs_is_one_line(tmp_path, content):
    place = tmp_path / "wandb" / "run-1" / "run-1.wandb"
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    with pytest.raises(UserError, match="no file of W&B's") as error:
        logged.of_folders([tmp_path])
    assert "\n" not in str(error.value)
