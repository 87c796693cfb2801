"""The sentences that are shown: chosen by their sources, written only as JSON can hold them."""

import json
import os
from types import SimpleNamespace

import numpy as np
import pytest

from attnlab import samples
from attnlab.errors import UserError


def lines(*lengths):
    """Sources of these many words, all different."""
    return [
        " ".join([f"w{n}", *("x" for _ in range(length - 1))][:length]) for n, length in enumerate(lengths)
    ]


def test_the_chosen_are_spread_over_the_lengths_and_do_not_pass_forty():
    sources = lines(*range(1, 61))
    assert [len(sources[place].split()) for place in samples.chosen(sources)] == [
        5,
        10,
        15,
        20,
        25,
        30,
        35,
        40,
    ]
    short = lines(2, 4, 6, 8, 3, 5)
    assert [len(short[place].split()) for place in samples.chosen(short, count=4)] == [2, 4, 6, 8]


def test_blank_and_repeated_sources_are_not_chosen():
    assert samples.chosen(["", " ", "a b", "a b", "c"]) == [4, 2]
    assert samples.chosen([]) == samples.chosen(["", " ".join("x" * 41)]) == []


def test_fewer_sentences_than_samples_are_all_chosen_once():
    assert sorted(samples.chosen(lines(7, 7, 7, 30))) == [0, 1, 2, 3]


class Letters:
    def pieces(self, ids):
        return [chr(i) for i in ids]


def test_a_sample_holds_text_pieces_weights_and_gold(tmp_path):
    weights = np.array([[1.0, 0.0], [0.33349, 0.66651]], dtype=np.float32)
    decoded = [
        SimpleNamespace(source=[97, 98], tokens=[120], weights=weights, finished=True),
        SimpleNamespace(source=[97], tokens=[121], weights=np.ones((1, 1)), finished=False),
    ]
    rows = {"source": ["a b", "ä"], "target": ["x </script>", "y"], "alignment": ["0-0 1p0", None]}
    found = samples.collect(decoded, ["x", "y"], rows, Letters(), Letters(), attends=True)
    assert [sample["index"] for sample in found] == [1, 0]  # by length
    assert found[1] == {
        "index": 0,
        "source": "a b",
        "reference": "x </script>",
        "hypothesis": "x",
        "source_pieces": ["a", "b"],
        "pieces": ["x", "</s>"],
        "weights": [[1, 0], [0.333, 0.667]],
        "gold": "0-0 1p0",
    }
    assert found[0]["pieces"] == ["y"] and found[0]["gold"] == ""
    path = samples.write(tmp_path, found)
    assert json.loads(path.read_text(encoding="utf-8")) == found == samples.read(tmp_path)
    assert "ä" in path.read_text(encoding="utf-8") and path.read_text().count("\n") == 2
    without = {name: column for name, column in rows.items() if name != "alignment"}
    blind = samples.collect(decoded, ["x", "y"], without, Letters(), Letters(), attends=False)
    assert blind[0]["weights"] is blind[0]["gold"] is None


@pytest.mark.parametrize("content", ["", "[", "{}", "[1]"])
def test_a_file_of_something_else_is_refused_in_one_line(tmp_path, content):
    assert samples.read(tmp_path) is None
    (tmp_path / "samples.json").write_text(content)
    with pytest.raises(UserError, match=r"samples\.json") as told:
        samples.read(tmp_path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("mask", [0o022, 0o027])
def test_all_files_of_a_test_set_follow_the_umask_and_none_outlives_its_attempt(tmp_path, mask):
    from attnlab.evaluation import Scored, write
    from attnlab.segments import Segments

    one = np.zeros(1, dtype=int)
    kept = Segments(np.zeros((1, 10), dtype=int), None, one, one, one, one, None, None, None, "nrefs:1", None)
    decoded = [SimpleNamespace(index=0, source=[97], tokens=[120], weights=np.ones((1, 1)))]
    before = os.umask(mask)
    try:
        write(tmp_path, Scored({}, ["x"], [frozenset()], [], kept, []), decoded, Letters(), Letters())
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    always = {"hyp.txt", "align.txt", "segments.npz"}
    assert modes == dict.fromkeys(always | {"samples.json", "attention.safetensors"}, 0o666 & ~mask)
    again = Scored({}, ["x"], [frozenset()], [], kept, None)
    write(tmp_path, again, decoded, Letters(), Letters(), matrices=0)
    assert {path.name for path in tmp_path.iterdir()} == always
