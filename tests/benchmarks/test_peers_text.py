"""The text that all toolkits read."""

import gzip
from pathlib import Path

import pytest
from peers import text as texts
from peers.text import prepare, split_plainly, vocabulary


def test_words_seen_twice_the_most_frequent_first_then_by_the_alphabet() -> None:
    assert vocabulary(["b a c", "c a b", "c d"]) == ["c", "a", "b"]


def test_signs_stand_alone() -> None:
    assert split_plainly("over t-shirts, (2)!") == "over t - shirts , ( 2 ) !"


def test_text_is_prepared_once_and_again_when_a_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "_has_moses", lambda python: "")
    data, folder = tmp_path / "data", tmp_path / "text"
    data.mkdir()
    with pytest.raises(FileNotFoundError, match=r"no train\.de and no train\.de\.gz"):
        prepare(data, folder)
    for language in ("de", "en"):
        for name in ("train", "val", "test_2016_flickr"):
            (data / f"{name}.{language}.gz").write_bytes(gzip.compress(b"One, one\n two \n"))
    made = prepare(data, folder)
    assert made.lines("train", "de") == [["one", ",", "one"], ["two"]]
    assert made.vocabulary("en").read_text() == "one\n"
    assert (made.words, made.lines("test", "en")) == ({"de": 1, "en": 1}, [["one", ",", "one"], ["two"]])
    made.path("val", "de").write_text("kept\n")
    assert prepare(data, folder).lines("val", "de") == [["kept"]]
    (data / "val.de.gz").write_bytes(gzip.compress(b"another line, longer\n"))
    assert prepare(data, folder).lines("val", "de") == [["another", "line", ",", "longer"]]
