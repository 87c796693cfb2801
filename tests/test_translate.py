"""`attnlab translate`: one line in, one line out, whatever the bytes."""

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import attnlab
from attnlab import translate as verb
from attnlab.errors import UserError
from attnlab.lines import read

TINY = [
    *(
        "data.train_pairs=80",
        "data.val_pairs=8",
        "data.test_pairs=5",
        "data.max_words=8",
        "data.vocabulary=20",
    ),
    *("data.batch_tokens=200", "tokenizer.min_frequency=2", "encoder.hidden_size=8", "decoder.hidden_size=8"),
    *("model.embedding_size=8", "optim.lr=0.02", "search.beam_size=3", "logger=none"),
    *("trainer.max_epochs=1", "trainer.accelerator=cpu", "metrics.bootstrap.samples=0"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("translate")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(top / "cache"))
        attnlab.train([*TINY, f"out={top}/out"])
    (found,) = Path(top / "out").glob("*/*/seed1")
    return found


@pytest.fixture(scope="module")
def loaded(folder):
    return attnlab.load(folder, device="cpu")


@pytest.fixture(scope="module")
def words(loaded):
    return [w for w in loaded.source_tokenizer.pieces(range(loaded.source_tokenizer.size)) if w.isalpha()]


def translated(capsysbinary, *arguments):
    status = verb.main([*map(str, arguments), "--device", "cpu"])
    out, err = capsysbinary.readouterr()
    return status, out.decode("utf-8"), err.decode("utf-8")


def test_a_line_in_is_a_line_out_and_empty_lines_stay_where_they_were(
    folder, loaded, words, tmp_path, capsysbinary
):
    lines = [f"{words[0]} {words[1]}", "", words[2], "   ", words[3]]
    path = tmp_path / "source.txt"
    path.write_bytes("\r\n".join(lines).encode())  # and no line end behind the last
    status, out, _ = translated(capsysbinary, folder, path)
    assert status == 0 and out == "".join(f"{line}\n" for line in loaded.translate(lines))
    assert out.split("\n")[1] == out.split("\n")[3] == ""


def test_gzip_and_a_byte_order_mark_change_nothing(folder, words, tmp_path, capsysbinary):
    text = f"{words[0]}\n{words[1]}\n".encode()
    results = []
    for name, data in (("a", text), ("b", gzip.compress(text)), ("c", b"\xef\xbb\xbf" + text)):
        (tmp_path / name).write_bytes(data)
        results.append(translated(capsysbinary, folder, tmp_path / name))
    assert results[0] == results[1] == results[2]
    assert results[0][1].count("\n") == 2


def test_standard_input_is_read_without_a_file(folder, words):
    source = Path(attnlab.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "attnlab.translate", str(folder), "--device", "cpu"],
        input=f"{words[0]}\n\n".encode(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(source)},
        timeout=120,
    )
    assert done.returncode == 0 and done.stdout.count(b"\n") == 2, done.stderr.decode()


def test_the_search_can_be_set(folder, loaded, words, tmp_path, capsysbinary):
    path = tmp_path / "source"
    path.write_text(f"{words[0]} {words[4]}\n{words[1]}\n")
    _, greedy, _ = translated(capsysbinary, folder, path, "--beam", 1)
    assert greedy.split("\n")[:-1] == loaded.translate(path.read_text().split("\n")[:-1], beam_size=1)
    _, listed, _ = translated(capsysbinary, folder, path, "--beam", 4, "--n-best", 2)
    parts = [line.split(" ||| ") for line in listed.split("\n")[:-1]]
    assert {part[0] for part in parts} == {"0", "1"}
    assert all(len(part) == 3 and float(part[2]) <= 0 for part in parts)


def test_more_lines_than_a_chunk_keep_their_order(folder, words, tmp_path, capsysbinary, monkeypatch):
    path = tmp_path / "source"
    path.write_text("".join(f"{words[n % 5]} {words[n % 3]}\n" for n in range(7)))
    _, whole, _ = translated(capsysbinary, folder, path, "--n-best", 1)
    monkeypatch.setattr(verb, "CHUNK", 2)
    _, chunks, _ = translated(capsysbinary, folder, path, "--n-best", 1)
    assert chunks == whole and [line.split()[0] for line in whole.splitlines()] == [str(n) for n in range(7)]


@pytest.mark.parametrize(
    ("data", "told"),
    [(b"ok\nschl\xe4ft\n", "line 2: not UTF-8"), (b"\x1f\x8bnothing", "cannot be read")],
)
def test_bytes_that_are_no_text_are_told_with_their_place(folder, tmp_path, capsysbinary, data, told):
    path = tmp_path / "source"
    path.write_bytes(data)
    status, _, err = translated(capsysbinary, folder, path)
    assert status == 2 and told in err and str(path) in err and err.count("\n") == 1


def test_other_mistakes_are_one_line_and_status_two(folder, tmp_path, capsysbinary):
    for arguments, told in (
        ([tmp_path, folder / "config.yaml"], "no run is here"),
        ([folder, tmp_path / "absent"], "cannot be read"),
        ([folder, folder / "config.yaml", "--beam", 0], "attnlab: --beam is 0: give at least 1\n"),
        ([folder, folder / "config.yaml", "--n-best", 0], "attnlab: --n-best is 0: give at least 1\n"),
        (
            [folder, folder / "config.yaml", "--n-best", 9],
            "--n-best is 9, but the beam is 3: give --beam 9 or",
        ),
    ):
        status, out, err = translated(capsysbinary, *arguments)
        assert (status, out) == (2, "") and told in err and err.count("\n") == 1


def test_text_of_unknown_words_is_warned_about_once(folder, words, tmp_path, capsysbinary, monkeypatch):
    monkeypatch.setattr(verb, "CHUNK", 1)
    path = tmp_path / "source"
    path.write_text(f"Zzz Qqq\n\n{words[0]} Zzz Qqq\n")
    status, out, err = translated(capsysbinary, folder, path)
    assert status == 0 and out.count("\n") == 3 and err.count("\n") == 1
    assert f"{path}: 80% of the pieces are unknown" in err and "data.unknown_limit=0.2" in err
    for text in (f"{words[0]} {words[1]}\n", "\n", ""):
        path.write_text(text)
        assert translated(capsysbinary, folder, path)[2] == ""


def test_unknown_words_can_be_replaced_by_the_source_word(loaded, monkeypatch):
    import torch

    from attnlab.text import detokenised

    tokenizer = loaded.target_tokenizer
    known = next(i for i in range(4, tokenizer.size))
    weights = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    given = {"source": "Anna Bo", "source_tokenizer": loaded.source_tokenizer, "target_tokenizer": tokenizer}
    ids = [known, tokenizer.unk]
    assert detokenised(ids, weights, replace_unknown=True, **given) == f"{tokenizer.decode([known])} Bo"
    assert detokenised(ids, weights, **given) == tokenizer.decode(ids)
    assert detokenised([known], weights, replace_unknown=True, **given) == tokenizer.decode([known])


def test_only_the_line_feed_ends_a_line():
    text = "a\u2028b\x0bc\x1cd\re\r\nf\n\n".encode()
    assert list(read(io.BufferedReader(io.BytesIO(text)), "x")) == ["a\u2028b\x0bc\x1cd\re", "f", ""]


def test_a_line_that_is_no_utf8_stops_the_reading_there():
    lines = read(io.BufferedReader(io.BytesIO(b"good\nb\xe4d\n")), "pipe")
    assert next(lines) == "good"
    with pytest.raises(UserError, match="pipe, line 2"):
        next(lines)
