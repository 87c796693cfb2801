"""Hub sets, without a network: local folders laid out like a repository, and what is said of the rest."""

import json
from pathlib import Path

import pytest

from attnlab.data import HubCorpus
from attnlab.errors import UserError

ROWS = [{"translation": {"de": "ein Hund", "en": "a dog"}}, {"translation": {"de": "", "en": "a cat"}}]


@pytest.fixture
def repository(tmp_path):
    for split in ("train", "validation", "test"):
        text = "".join(json.dumps(row) + "\n" for row in ROWS)
        (tmp_path / f"{split}.jsonl").write_text(text)
        folder = tmp_path / "deep" / "pair-de-en" / split
        folder.mkdir(parents=True)
        (folder / "0000.jsonl").write_text(text)
    return tmp_path


def corpus(path, **options):
    return HubCorpus(**{"path": str(path), "source": "de", "target": "en", "val": "validation"} | options)


@pytest.mark.parametrize(
    "options",
    [{}, {"files": "deep/{config}/{split}/*.jsonl", "config": "pair-de-en"}],
    ids=["plain", "pattern"],
)
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_repository_gives_rows_and_keeps_blank_ones(
    repository, monkeypatch, tmp_path_factory, options, split
):
    found = corpus(repository, **options).split(split).to_dict()
    assert found == {"source": ["ein Hund", ""], "target": ["a dog", "a cat"]}


def test_the_direction_is_the_users(repository):
    assert corpus(repository, source="en", target="de").split("test")["source"][:] == ["a dog", "a cat"]


def test_out_of_reach_is_one_line_with_the_remedies():
    with pytest.raises(UserError) as caught:
        corpus("nobody/nothing").split("train")
    message = str(caught.value)
    assert "\n" not in message
    for part in ("nobody/nothing", "HF_HUB_OFFLINE", "HF_HOME", "data=files"):
        assert part in message


def test_a_set_that_needs_a_script_is_one_line(tmp_path):
    """Pitfall B8."""
    (tmp_path / f"{tmp_path.name}.py").write_text("raise AssertionError('a loading script was run')\n")
    with pytest.raises(UserError) as caught:
        corpus(tmp_path).split("train")
    assert "\n" not in str(caught.value) and "data=files" in str(caught.value)


def test_nothing_trusts_remote_code(repository):
    import attnlab.data.hub
    import attnlab.data.tables

    for module in (attnlab.data.hub, attnlab.data.tables):
        assert "trust_remote_code" not in Path(module.__file__).read_text()


def test_the_two_sizes_of_newstest2014_are_told_apart():
    wmt = corpus("wmt/wmt14", editions={"test": {2737: "filtered", "3003": "full"}})
    assert wmt.edition("test", 3003) == "full"
    assert wmt.edition("test", 2737) == "filtered"
    assert "3,000 pairs instead of 2,737 or 3,003" in (wmt.edition("test", 3000) or "")
    assert wmt.edition("validation", 3000) is None


def test_revision_and_commit_are_recorded():
    found = corpus("a/b", revision="v1")
    found._commits.add("0" * 40)
    assert found.describe()["revision"] == "v1, " + "0" * 40
    assert corpus("a/b").describe()["revision"] is None
