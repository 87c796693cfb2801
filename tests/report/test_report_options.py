"""The verb's options: what they take, and what they say of what they do not take."""

import csv
import io

import pytest

from attnlab.report.__main__ import main
from attnlab.report.options import parser

from .recorded import with_sentences

QUICK = ["--samples", "20", "--trials", "20", "--no-page"]


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """Without figures, which take seconds and have tests of their own."""
    monkeypatch.setattr("attnlab.report.figures.write_all", lambda *_: [])


@pytest.fixture
def top(measured):
    return measured(
        *(with_sentences(0.5 + 0.1 * k, k, scorer=name) for k, name in enumerate(("dot", "general", "mlp")))
    )


def lines_of(out, name="tests.csv"):
    return list(csv.DictReader(io.StringIO((out / name).read_text(encoding="utf-8"))))


def test_every_option_is_in_the_help_with_examples(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0 and "examples:" in text and "index.html" in text
    for action in parser()._actions:
        assert action.help and all(option in text for option in action.option_strings)


@pytest.mark.parametrize(
    "options, told",
    [
        (["--samples", "-1"], "--samples: '-1' is no whole number from 0"),
        (["--trials", "many"], "--trials: 'many' is no whole number"),
        (["--samples", "1000000000"], "--samples: 1000000000 are more than the 1,000,000"),
        (["--level", "95"], "--level: '95' must lie between 0 and 1, such as 0.95"),
        (["--seed", "1.5"], "--seed: '1.5' is no whole number"),
        (["--base", "dot"], "unrecognized arguments: --base"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["--baseline", "nobody"], "--baseline nobody: no row of flickr, de-en is called so"),
        (["--baseline", "bilstm"], "3 rows are called so: dot; general; mlp"),
        (["--test", "coco"], "no record has test set coco; there are: flickr"),
        (["--reference", "x.en"], "go with --system NAME=FILE"),
        (["--system", "moses"], "--system moses: give a name and a file"),
        (["--scores", "nowhere.tsv"], "nowhere.tsv"),
    ],
)
def test_a_bad_value_is_one_line_and_2(top, tmp_path, capsys, options, told):
    try:
        status = main([str(top), "--out", str(tmp_path / "out"), *QUICK, *options])
    except SystemExit as ended:
        status = ended.code
    error = capsys.readouterr().err
    assert status == 2 and told in error and error.count("\n") == 1 and error.startswith("attnlab: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--scores", "--system", "--reference"])
def test_what_is_read_is_never_written_over(top, tmp_path, capsys, option):
    file = tmp_path / "out" / "tests.csv"
    file.parent.mkdir()
    file.write_text("theirs")
    given = f"moses={file}" if option == "--system" else str(file)
    status = main([str(top), "--out", str(file.parent), *QUICK, option, given])
    assert status == 2 and file.read_text() == "theirs"
    error = capsys.readouterr().err
    assert error == f"attnlab: {file}: is read here, so it is not written over; choose another place\n"


def test_the_baseline_that_is_asked_for_is_told_and_tested_against(top, tmp_path, capsys):
    out = tmp_path / "out"
    assert main([str(top), "--out", str(out), *QUICK, "--baseline", "general"]) == 0
    assert "baseline: general\n" in capsys.readouterr().out
    assert {row["second_name"] for row in lines_of(out)} == {"general"}
    assert not (out / "index.html").exists()


def test_pairs_seed_level_and_draws_are_those_asked_for(top, tmp_path):
    out = tmp_path / "out"
    options = ["--pairs", "--seed", "3", "--level", "0.9"]
    assert main([str(top), "--out", str(out), *QUICK, *options]) == 0
    lines = [row for row in lines_of(out) if row["metric"] == "bleu"]
    assert len(lines) == 3
    assert {(row["samples"], row["trials"], row["seed"], row["level"]) for row in lines} == {
        ("20", "20", "3", "0.9")
    }


def test_a_baseline_need_not_be_in_every_table(measured, make, save, tmp_path, capsys):
    runs = [with_sentences(0.5, k, scorer=name) for k, name in enumerate(("dot", "general"))]
    other = [with_sentences(0.5, k, scorer=name, test_set="coco") for k, name in enumerate(("a", "b"))]
    top = measured(*runs, *other)
    assert main([str(top), "--out", str(tmp_path / "out"), *QUICK, "--baseline", "general"]) == 0
    printed = capsys.readouterr().out
    assert "baseline: general\n" in printed and "baseline: a\n" in printed


def test_systems_and_scores_need_one_test_set(measured, tmp_path, capsys):
    top = measured(with_sentences(0.5, 1), with_sentences(0.5, 2, scorer="b", test_set="coco"))
    scores = tmp_path / "comet.tsv"
    scores.write_text("system\tsegment\tscore\n", encoding="utf-8")
    assert main([str(top), "--out", str(tmp_path / "out"), *QUICK, "--scores", str(scores)]) == 2
    assert "choose one with --test NAME" in capsys.readouterr().err


def test_segment_scores_of_another_metric_are_tested_as_bleu_is(top, tmp_path, capsys):
    names = sorted(path.name for path in top.iterdir())
    lines = [f"{name}\t{k}\t{0.1 * number}" for number, name in enumerate(names) for k in range(462)]
    scores = tmp_path / "comet.tsv"
    scores.write_text("\n".join(["system\tsegment\tscore", *lines]) + "\n", encoding="utf-8")
    out = tmp_path / "out"
    assert main([str(top), "--out", str(out), *QUICK, "--scores", str(scores)]) == 0
    assert [row["metric"] for row in lines_of(out)].count("comet") == 2
    assert [float(row["comet"]) for row in lines_of(out, "table.csv")] == pytest.approx([0.0, 0.1, 0.2])
    assert "| comet |" in (out / "table.md").read_text(encoding="utf-8")


def test_an_anonymous_report_names_neither_user_nor_place(measured, tmp_path, capsys):
    runs = [with_sentences(0.5, k, scorer=name) for k, name in enumerate(("dot", "general"))]
    for record, _ in runs:
        record["data"]["source"] = "files in /home/ada/corpus"
        record["machine"]["hostname"] = "ada-laptop"
    out = tmp_path / "out"
    options = ["--samples", "20", "--trials", "20", "--anonymous"]
    assert main([str(measured(*runs)), "--out", str(out), *options]) == 0
    for path in out.iterdir():
        assert "/home/ada" not in path.read_text(encoding="utf-8"), path.name
    assert "/home/ada" not in capsys.readouterr().out
