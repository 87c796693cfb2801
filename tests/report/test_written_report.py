"""The files, the terminal and the verb."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from attnlab.metrics.seeds import Spread
from attnlab.report import compare, load, table
from attnlab.report.__main__ import main
from attnlab.report.evidence import evidence
from attnlab.report.rows import SYSTEM, Row, Tampered
from attnlab.report.write import _put

from .recorded import with_sentences

LISTS = ["effects.csv", "lengths.csv", "table.csv", "table.md", "table.tex", "tests.csv"]
FILES = sorted([*LISTS, "checklist.md", "index.html"])


def one(*records):
    return compare([(Path(f"runs/{number}"), record) for number, record in enumerate(records)]).comparisons[0]


def markdown(*records):
    return table.to_markdown(comparison := one(*records), evidence(comparison))


def printed(comparison, **console):
    out = io.StringIO()
    table.to_console(comparison, evidence(comparison), Console(file=out, **console))
    return out.getvalue()


@pytest.fixture
def plain(monkeypatch):
    """The verb without its figures, which take seconds and have tests of their own."""
    monkeypatch.setattr("attnlab.report.figures.write_all", lambda *_: [])


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.slow
def test_verb_writes_every_file_with_the_same_bytes_each_time(measured, tmp_path, capsys):
    top = measured(*(with_sentences(0.6, k, seed=k, scorer=name) for k in (1, 2) for name in ("dot", "a")))
    for out in ("a", "b"):
        assert main([str(top), "--out", str(tmp_path / out), "--samples", "50", "--trials", "50"]) == 0
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert set(FILES) < set(names) and "bleu_by_length.pdf" in names
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    out = capsys.readouterr().out
    assert "table.{csv,md,tex}" in out and f"open {tmp_path / 'b' / 'index.html'}" in out


def test_figures_have_their_captions_in_the_table_and_the_page_and_absent_ones_a_reason(
    make, save, tmp_path, monkeypatch
):
    calls = []
    monkeypatch.setattr("attnlab.report.figures.write_all", lambda *given: calls.append(given[3]) or [])
    assert main([str(save(make(), make(scorer="b"))), "--out", str(tmp_path)]) == 0
    assert [[one.name for one in planned] for planned in calls] == [["bleu_by_length", "quality_vs_cost"]]
    told = {one.stem: one.caption for one in calls[0]}
    text = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert f"- quality_vs_cost: {told['quality_vs_cost']}\n" in text and "- bleu_by_length: BLEU by " in text
    assert "- no figure aer_vs_bleu: no run has gold alignments" in text
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert json.dumps(told["quality_vs_cost"]) in page and "no figure training_curves" in page


def test_everything_but_the_figures_is_there_without_sentence_statistics(grid, save, plain, tmp_path, capsys):
    assert main([str(save(*grid)), "--out", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    out = capsys.readouterr().out
    assert "fixed_vector" in out and "baseline: fixed_vector" in out and "attnlab evaluate RUN" in out


def test_table_csv_holds_all_digits_and_provenance(grid):
    rows = read(table.to_csv(comparison := one(*grid), evidence(comparison)))
    assert len(rows) == 7
    row = next(row for row in rows if (row["scorer"], row["decoder"]) == ("general", "post_combine"))
    assert float(row["bleu"]) == 32.5 and float(row["bleu_sd"]) == pytest.approx(0.5**0.5)
    assert (row["seeds"], row["n_seeds"]) == ("1 2", "2")
    assert "tok:13a" in row["bleu_signature"] and row["fingerprint"] == "f00d"
    assert float(row["bleu_<=10"]) == 34.0 and float(row["bleu_>40"]) == 26.0
    assert rows[0]["scorer"] == "none" and rows[0]["bleu_sd"] == "" and rows[0]["missing_seeds"] == "2"
    assert (rows[0]["delta_bleu"], rows[0]["confounded"]) == ("", "no")
    assert row["key"] in {one.key for one in comparison.rows}  # as tests.csv and lengths.csv have it
    assert float(row["delta_bleu"]) == 2.5 and row["kind"] == "cell" and row["p_holm"] == ""


def test_names_from_a_configuration_break_neither_markdown_nor_the_terminal(make):
    comparison = one(
        make(scorer="a|b`[bold]<script>$x_1$", cell_id="1"),
        make(scorer="_hidden & \\", cell_id="2", settings={"lr": "long " * 60}),
    )
    text = table.to_markdown(comparison, evidence(comparison))
    assert (
        len({line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")}) == 1
    )
    assert "a\\|b\\`\\[bold\\]&lt;script&gt;" in text
    shown = printed(comparison, force_terminal=True, width=80, color_system=None)
    assert "a|b`[bold]<script>$x_1$" in shown


def test_without_a_terminal_every_row_is_one_plain_line(grid):
    shown = printed(one(*grid), width=40)
    lines = shown.splitlines()
    assert "\x1b" not in shown
    (row,) = [line for line in lines if line.startswith("general ") and "post_combine" in line]
    assert "32.50 ± 0.71" in row and "12.3M" in row and "0:12:34" in row and "+2.50" in row
    assert "all rows: encoder bilstm" in lines and not any(line.startswith("encoder ") for line in lines)


def test_a_terminal_gets_the_main_columns_in_parts_that_fit(grid):
    shown = printed(one(*grid), force_terminal=True, width=80, color_system=None)
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("none ") for line in lines) > 1
    assert "Δ BLEU" in shown and "perplexity" not in shown and "11-20" not in shown


def test_a_long_heading_is_not_cut_to_the_terminal(grid):
    comparison = one(*grid)
    comparison.rows[0].runs[0].data["source"] = "files in " + "corpus/" * 20
    assert all("…" not in line for line in printed(comparison, width=60).splitlines())


def test_rows_confounded_against_the_baseline_carry_a_dagger_and_their_factors(make):
    factors = {
        "current": {"asks": "current", "context_goes_to": "readout", "fed_back": "nothing"},
        "previous": {"asks": "previous", "context_goes_to": "both", "fed_back": "context"},
    }
    records = [make(scorer="a"), make(scorer="b"), make(scorer="a", decoder="input_feeding")]
    for record, name in zip(records, ("current", "current", "previous"), strict=True):
        record["factors"] = factors[name]
    comparison = one(*records)
    made = evidence(comparison, baseline="a, post_combine")
    text = table.to_markdown(comparison, made)
    lines = text.splitlines()
    assert [line.count("†") for line in lines if line.startswith("| ")][2:] == [1, 0, 0]
    assert any("† asks, context_goes_to, fed_back: a, input_feeding" in line for line in lines)
    assert "+0.00†" in text and "| baseline |" in text


def test_a_system_from_outside_is_marked_and_never_looks_like_a_cell(make):
    comparison = one(make(scorer="a"), make(scorer="b"))
    run = comparison.rows[0].runs[0]
    row = Row(dict.fromkeys(run.record["cell"]), "moses", {}, [run], kind=SYSTEM, controlled=False)
    comparison.rows.append(row)
    made = evidence(comparison)
    line = table.to_markdown(comparison, made).splitlines()
    (shown,) = [text for text in line if "moses" in text and text.startswith("|")]
    assert shown.startswith("| moses‡ | - | 30.00 |") and "†" not in shown
    assert any("‡ a system from outside: not controlled" in text for text in line)
    assert comparison.varying == ["scorer"] and made.differs[row.key] == ["not controlled"]
    fields = read(table.to_csv(comparison, made))[-1]
    assert (fields["kind"], fields["confounded"]) == ("system", "yes")


def test_several_outputs_of_a_system_are_counted_and_not_called_seeds(make):
    comparison = one(make(scorer="a"), make(scorer="b"))
    runs = [comparison.rows[0].runs[0], comparison.rows[1].runs[0]]
    cell = dict.fromkeys(runs[0].record["cell"])
    comparison.rows.append(Row(cell, "moses", {}, runs, kind=SYSTEM, controlled=False))
    text = table.to_markdown(comparison, evidence(comparison))
    assert "| moses‡ | 2 outputs | 30.00 ± 0.00 |" in text
    assert "over the seeds (of a system from outside: over its outputs)" in text


def test_the_difference_has_its_interval_in_markdown_and_buckets_their_sign(measured):
    runs = [with_sentences(0.5, k, scorer=name) for k, name in enumerate(("a", "b"))]
    (comparison,) = load([measured(*runs)]).comparisons
    made = evidence(comparison, baseline="a", samples=50, trials=50)
    test = made.of(comparison.rows[1]).test
    text = table.to_markdown(comparison, made)
    assert f"\\[{test.low:+.2f}, {test.high:+.2f}\\] |" in text and "| ≤10 (n=" in text


def test_against_a_system_from_outside_nothing_is_said_to_differ_in_so_many_factors(make):
    comparison = one(make(scorer="a"), make(scorer="b"))
    run = comparison.rows[0].runs[0]
    cell = dict.fromkeys(run.record["cell"])
    comparison.rows.append(Row(cell, "moses", {}, [run], kind=SYSTEM, controlled=False))
    text = table.to_markdown(comparison, evidence(comparison, baseline="moses"))
    assert "† the baseline is a system from outside" in text and "more than one factor" not in text
    assert text.count("+0.00†") == 2


def test_overrides_of_the_weights_are_columns(make):
    comparison = one(make(scorer="a"), make(scorer="b"))
    only = comparison.rows[0]
    only.overrides = {"uniform": Tampered(Spread(12.0, None, 1), Spread(-18.0, None, 1))}
    text = table.to_markdown(comparison, evidence(comparison))
    assert "| BLEU, uniform |" in text and "| 12.00 (-18.00) |" in text and "tampered with" in text
    row, other = read(table.to_csv(comparison, evidence(comparison)))
    assert (row["bleu_uniform"], row["delta_uniform"], other["bleu_uniform"]) == ("12.0", "-18.0", "")


def test_marks_are_explained_where_they_are_used(make):
    record = make()
    few = markdown(record)
    assert "| 26.0° |" in few
    assert "few sentences" in few and "no reference" not in few
    record["test"]["flickr"]["by_source_length"][0].update(bleu=None, ci=None, mark="too_short")
    short = markdown(record)
    assert "| short |" in short and "no reference in the bucket has a 4-gram" in short


def test_scores_that_no_record_has_make_no_column(make):
    record = make()
    for name in ("chrf", "ter"):
        record["test"]["flickr"][name] = None
    title = next(line for line in markdown(record).splitlines() if line.startswith("|"))
    assert "BLEU" in title and "chrF" not in title and "TER" not in title and "AER" not in title
    record["test"]["flickr"]["alignment"] = {credit: {"aer": 0.25} for credit in ("predicted", "input")}
    text = markdown(record)
    assert "| AER |" in text and "| AER input |" not in text
    assert "\n- AER: " in text and "of them attention: parameters of" in text
    assert read(table.to_csv(comparison := one(record), evidence(comparison)))[0]["aer_input"] == "0.25"


def test_tables_that_cannot_be_compared_are_separate_files(make, save, plain, tmp_path, capsys):
    top = save(make(), make(scorer="b", signature="nrefs:1|case:lc|eff:no|tok:none|smooth:exp|version:2.6.0"))
    assert main([str(top), "--out", str(tmp_path / "out")]) == 0
    tables = {
        path.name: read(path.read_text(encoding="utf-8")) for path in (tmp_path / "out").glob("table*.csv")
    }
    assert sorted(tables) == ["table.csv", "table_case-mixed-tok-13a.csv"]
    assert all(len({row["bleu_signature"] for row in rows}) == 1 for rows in tables.values())
    assert "kept apart because the BLEU signature differs" in capsys.readouterr().out


def test_each_of_several_tables_says_what_it_is_and_where_it_is_written(make, save, plain, tmp_path, capsys):
    top = save(
        make(), make(scorer="b"), make(scorer="b", fingerprint="beef0123456789", cell_id="x"),
        make(scorer="c", cell_id="never", error=ValueError("no luck")),
    )  # fmt: skip
    assert main([str(top), "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "flickr, de-en: 462 sentences (files in corpus; fingerprint f00d)\n" in printed
    assert "flickr, de-en: 462 sentences (files in corpus; fingerprint beef0123)\n" in printed
    assert "files: table_beef0123.{csv,md,tex}, tests_beef0123.csv, ...\n" in printed
    main_table, other = (tmp_path / name for name in ("table.md", "table_beef0123.md"))
    assert "files: table.{csv,md,tex}" in main_table.read_text() and "files: table_beef" in other.read_text()
    for text, times in [(printed, 1), (main_table.read_text(), 1), (other.read_text(), 0)]:
        assert text.count("failed: never seed 1: ValueError: no luck") == times
        assert text.count("never") == times


def test_a_single_table_needs_no_list_of_files(make):
    assert "files: " not in markdown(make())


def test_files_of_an_earlier_report_are_named_and_kept(make, save, plain, tmp_path, capsys):
    out = tmp_path / "out"
    assert main([str(save(make(), make(scorer="b", test_set="coco"))), "--out", str(out)]) == 0
    assert "an earlier one" not in capsys.readouterr().out
    (out / "notes.md").touch()
    before = sorted(path.name for path in out.iterdir())
    assert main([str(save(make(), under="fewer")), "--out", str(out)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "an earlier one" in line]
    old = sorted(f"{name.partition('.')[0]}_flickr.{name.partition('.')[2]}" for name in LISTS)
    assert line.endswith(f": {', '.join(old)}") and "notes.md" not in line
    assert sorted(path.name for path in out.iterdir()) == before


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_no_records_is_one_line_and_exit_2(name, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main([str(tmp_path / name), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and name in printed.err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_one_line(make, save, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main([str(save(make())), "--out", str(tmp_path / "file")]) == 2
    assert "--out" in capsys.readouterr().err


def test_a_report_that_is_stopped_leaves_the_earlier_one_whole(tmp_path, monkeypatch):
    page = tmp_path / "out" / "table.md"
    page.parent.mkdir()
    page.write_text("earlier")

    def stopped(half, other):
        assert half.read_text() and other.read_text() == "earlier"
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        _put(page, "new")
    assert [path.name for path in page.parent.iterdir()] == ["table.md"] and page.read_text() == "earlier"


def test_the_report_needs_no_torch(make, save, tmp_path):
    code = (
        "import sys; from attnlab.report.__main__ import main; "
        f"assert main([{str(save(make()))!r}, '--out', {str(tmp_path / 'out')!r}]) == 0; "
        "assert not {'torch', 'pandas', 'matplotlib.pyplot', 'hydra'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True)
