"""`attnlab explain` as its users meet it: options, files, and what cannot be."""

import json
import shutil
from pathlib import Path

import pytest

from attnlab import build
from attnlab.errors import UserError
from attnlab.explain.__main__ import main
from attnlab.explain.trained import trained


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sentence", "x"], "is of trained runs, and none is given"),
        (["RUN"], "a sentence is missing"),
        (["RUN", "--sentence", "x", "--test", "1"], "two ways to say one thing"),
        (["RUN", "--sentence", "  "], "is empty"),
        (["RUN", "--sentence", "x " * 61], "a picture holds 60"),
        (["RUN", "--test", "99"], "has the lines 0 to 4"),
        (["RUN", "--sentence", "nobody said this", "--reference"], "in no test or validation set"),
        (["nowhere", "--sentence", "x"], "no run is here"),
        (["RUN", "--sentence", "x", "--out", "FILE/below"], "cannot be written"),
        (["RUN", "--sentence", "x", "--test", "0"], "two ways to say one thing"),
        (["--test", "0"], "--test is of trained runs"),
        (["nowhere"], "no run is here (no such folder)"),
        (["RUN", "--sentence", "\udce9 bo"], "--sentence is no text in UTF-8"),
        (["RUN", "--sentence", "x", "--target", "\udce9"], "--target is no text in UTF-8"),
        (["EMPTY", "--sentence", "x"], "no settings of a run"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(runs, tmp_path, capsys, arguments, said):
    (tmp_path / "file").write_text("")
    empty = shutil.copytree(runs("scorer=dot"), tmp_path / "empty")
    (empty / "config.yaml").write_text("{}")
    places = {
        "RUN": str(runs("scorer=dot")),
        "FILE/below": str(tmp_path / "file" / "below"),
        "EMPTY": str(empty),
    }
    status = main([*(places.get(one, one) for one in arguments), "--device", "cpu"])
    error = capsys.readouterr().err
    assert status == 2 and said in error and error.count("\n") == 1


def test_an_option_that_is_not_there_ends_with_two(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--setence", "x"])
    assert end.value.code == 2 and capsys.readouterr().err.count("\n") == 1


def test_the_page_goes_where_it_is_asked_to_and_a_text_alone_leaves_none(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["--text"]) == 0
    assert list(tmp_path.iterdir()) == []
    assert main(["--out", "walk.html"]) == 0 and main(["--out", "there"]) == 0 and main([]) == 0
    pages = [Path("walk.html"), Path("there/index.html"), Path("explain/index.html")]
    assert len({path.read_text(encoding="utf-8") for path in pages}) == 1
    assert "open there/index.html" in capsys.readouterr().out


def test_a_device_without_a_run_is_told(capsys):
    assert main(["--device", "bogus"]) == 2
    assert "--device is of trained runs" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--out", "--svg"])
def test_an_empty_name_is_no_place(capsys, option):
    with pytest.raises(SystemExit) as end:
        main([option, ""])
    assert end.value.code == 2 and "an empty name is no place" in capsys.readouterr().err


def test_the_page_of_runs_does_not_replace_that_of_the_example(runs, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    assert main([str(runs("scorer=dot")), "--sentence", sentence.source, "--device", "cpu"]) == 0
    pages = sorted(path.name for path in Path("explain").iterdir())
    assert pages == ["index.html", "runs.html"]
    assert "The worked example translates" in Path("explain/index.html").read_text(encoding="utf-8")


def test_a_page_of_somebody_elses_is_left_alone_and_one_of_ours_replaced(tmp_path, capsys):
    page = tmp_path / "index.html"
    page.write_text("<p>mine</p>")
    assert main(["--out", str(tmp_path)]) == 2
    assert "not a page of attnlab explain" in capsys.readouterr().err
    assert page.read_text() == "<p>mine</p>"
    page.unlink()
    assert main(["--out", str(tmp_path)]) == 0 and main(["--out", str(tmp_path)]) == 0


def test_a_full_disk_leaves_the_page_that_was_there(tmp_path, monkeypatch, capsys):
    page = tmp_path / "walk.html"
    assert main(["--out", str(page)]) == 0
    before = page.read_bytes()
    write = Path.write_text

    def full(path, text, **options):
        write(path, text[:100], **options)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert main(["--out", str(page)]) == 2
    assert "cannot be written (No space left on device)" in capsys.readouterr().err
    assert page.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == ["walk.html"]


def test_a_record_that_is_damaged_is_left_out(runs, sentence, tmp_path):
    folder = shutil.copytree(runs("scorer=dot decoder=post_combine window=local_m"), tmp_path / "seed1")
    good = {"lo": 1, "hi": 5, "n": 3, "entropy_normalised": 0.5}
    rows = [good, {**good, "lo": None}, {"lo": 1, "n": 3, "entropy_normalised": 0.5, "hi": "x"}, 7]
    rows.append({"lo": 6, "n": 3, "entropy_normalised": 0.5})
    record = {"test": {"test": {"attention": {"by_source_length": rows}}}}
    (folder / "result.json").write_text(json.dumps(record))
    (found,) = trained([folder], sentence.source, None, sentence.target, False, "cpu").readings
    assert found.by_length == [good]


def test_the_same_run_given_again_has_a_name_of_its_own(runs, sentence):
    folder = runs("scorer=dot decoder=post_combine window=global")
    walk = trained([folder] * 3, sentence.source, None, sentence.target, False, "cpu")
    assert len({reading.name for reading in walk.readings}) == 3


@pytest.mark.parametrize("options", [["--sentence", "x", "--reference"], ["--test", "0"]])
def test_a_test_set_that_is_not_there_is_told_as_that(runs, monkeypatch, capsys, options):
    def gone(config):
        raise UserError("data/mine: no such folder; set data.dir")

    monkeypatch.setattr(build, "build_corpus", gone)
    assert main([str(runs("scorer=dot")), *options, "--device", "cpu"]) == 2
    error = capsys.readouterr().err
    assert "data/mine: no such folder" in error and "of the first run" in error and error.count("\n") == 1
