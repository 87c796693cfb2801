"""`segments.npz`: what is written comes back, in few bytes, the same bytes each time."""

import numpy as np
import pytest

from attnlab import segments
from attnlab.errors import UserError
from attnlab.segments import Segments


def some(n=3, **changes):
    rng = np.random.default_rng(n)
    lengths = rng.integers(0, 60, (4, n))
    fields = {
        "bleu": rng.integers(0, 90, (n, 10)),
        "chrf": rng.integers(0, 400, (n, 18)),
        **dict(zip(segments.LENGTHS, lengths, strict=True)),
        "alignment": rng.integers(0, 60, (n, 2, 4)),
        "entropy": rng.random(n).astype(np.float32),
        "max_weight": rng.random(n).astype(np.float32),
        "bleu_signature": "nrefs:1|version:2",
        "chrf_signature": "nrefs:1|nc:6",
    }
    return Segments(**{**fields, **changes})


def same(a, b):
    for name, left, right in zip(Segments._fields, a, b, strict=True):
        if isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right, err_msg=name)
        else:
            assert left == right, name


def test_what_was_written_comes_back_as_int64(tmp_path):
    given = some(5)
    path = segments.write(tmp_path / "test" / "set", given)
    assert path == tmp_path / "test/set/segments.npz"
    found = segments.read(path.parent, n=5)
    same(given, found)
    assert found.n == 5 and found.bleu.dtype == found.source_words.dtype == np.int64
    assert found.entropy.dtype == np.float32
    np.testing.assert_array_equal(found.lengths("source_pieces"), given.source_pieces)


def test_what_a_model_or_a_metric_lacks_is_none_again(tmp_path):
    lacking = ("chrf", "chrf_signature", "alignment", "entropy", "max_weight")
    given = some(2, **dict.fromkeys(lacking))
    segments.write(tmp_path, given)
    same(given, segments.read(tmp_path))


@pytest.mark.parametrize("largest", [255, 256, 65_536, 2**31])
def test_numbers_of_any_size_survive(tmp_path, largest):
    given = some(2, source_words=np.array([0, largest]), reference_words=np.array([-1, largest]))
    segments.write(tmp_path, given)
    same(given, segments.read(tmp_path))


def test_the_same_content_gives_the_same_bytes_at_another_time(tmp_path, monkeypatch):
    first = segments.write(tmp_path / "a", some()).read_bytes()
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    monkeypatch.setattr("time.localtime", lambda *_: (2040, 1, 2, 3, 4, 5, 0, 2, 0))
    assert segments.write(tmp_path / "b", some()).read_bytes() == first


def test_a_thousand_sentences_stay_well_below_100_kb(tmp_path):
    assert segments.write(tmp_path, some(1000)).stat().st_size < 70_000  # random digits: the worst case


def test_no_file_is_none(tmp_path):
    assert segments.read(tmp_path / "nowhere") is None


def test_other_numbers_of_sentences_are_refused(tmp_path):
    segments.write(tmp_path, some(3))
    with pytest.raises(UserError, match="holds 3 sentences, the record counts 4"):
        segments.read(tmp_path, n=4)
    with pytest.raises(UserError, match=r"source_words has the shape \[2\], but there are 3"):
        segments.write(tmp_path, some(3, source_words=np.zeros(2, int)))
    with pytest.raises(UserError, match="there are source_words"):
        some().lengths("letters")


DAMAGES = [
    *(lambda b: b"", lambda b: b[:100], lambda b: b"PK" + b[9:], None, "real"),
    lambda b: b[: (at := b.index(b"PK\x01\x02") + 8)] + b"\xff" + b[at + 1 :],  # flags: encrypted
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_told_in_one_line(tmp_path, damage):
    path = segments.write(tmp_path, some(3))
    if damage is None:
        np.savez_compressed(path, bleu=np.zeros((3, 10), int))
    elif damage == "real":
        arrays = dict(np.load(path))
        np.savez_compressed(path, **{**arrays, "bleu": np.full((3, 10), np.nan)})
    else:
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=r"segments\.npz: cannot be read") as told:
        segments.read(tmp_path)
    assert "\n" not in str(told.value)


def test_statistics_of_other_orders_than_the_signatures_have_do_not_fit():
    signatures = {"bleu_signature": "smooth:exp|version:2", "chrf_signature": "nc:6|nw:0"}
    good = some(3, **signatures)._replace(bleu=np.zeros((3, 10), int), chrf=np.zeros((3, 18), int))
    assert segments.fit(good) and segments.fit(good._replace(chrf=None, chrf_signature=None))
    assert not segments.fit(good._replace(bleu=np.zeros((3, 6), int)))
    assert not segments.fit(good._replace(chrf=np.zeros((3, 2), int)))
