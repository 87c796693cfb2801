"""Changed text and changed code are noticed in finished runs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attnlab.sweep import changes


def values(folder: Path) -> dict[str, Any]:
    corpus = "attnlab.data.files.FilesCorpus"
    return {"data": {"_target_": corpus, "dir": str(folder), "source": "de", "target": "en"}}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for split in ("train", "val", "test"):
        for side in ("de", "en"):
            (tmp_path / f"{split}.{side}").write_text(f"{split} {side}\n")
    return tmp_path


def test_a_changed_line_is_a_changed_split(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = changes.Data().now(values(corpus))
    assert isinstance(before, dict) and sorted(before) == ["test", "train", "val"]
    record = {"data": {"fingerprints": before}}
    same = changes.Data()
    assert same.changed(record, values(corpus)) == ""
    (corpus / "train.de").write_text("another line\n")
    assert same.changed(record, values(corpus)) == ""  # read once
    assert changes.Data().changed(record, values(corpus)) == "train"


def test_data_that_is_not_here_is_said_not_to_be_compared(tmp_path: Path) -> None:
    data = changes.Data()
    assert data.changed({"data": {"fingerprints": {"train": "0"}}}, values(tmp_path / "none")) == ""
    (line,) = data.unknown
    assert line.startswith("data not compared: ") and "no such folder" in line


def test_a_run_without_fingerprints_asks_for_no_text(tmp_path: Path) -> None:
    data = changes.Data()
    assert data.changed({}, values(tmp_path / "none")) == ""
    assert data.unknown == []


def test_the_network_is_left_alone_and_the_variables_as_they_were(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "0")
    with changes._offline():
        assert os.environ["HF_HUB_OFFLINE"] == os.environ["HF_DATASETS_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in os.environ
    assert os.environ["HF_DATASETS_OFFLINE"] == "0"


def test_comparing_needs_no_torch(corpus: Path) -> None:
    code = f"""
import sys
from attnlab.sweep import changes
found = changes.Data().now({values(corpus)!r})
sys.exit("torch" in sys.modules or not isinstance(found, dict))
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [("aaaabbbbcccc", "dddd", "aaaabbbb"), ("aaaa", "aaaa", ""), (None, "dddd", ""), ("aaaa", None, "")],
)
def test_other_code_is_told_where_both_are_known(then: str | None, now: str | None, told: str) -> None:
    assert changes.other_code({"code": {"commit": then}}, {"commit": now}) == told
