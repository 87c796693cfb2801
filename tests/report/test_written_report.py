"""The files, the terminal and the verb."""

import csv
import io
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from rich.console import Console

from attnlab.report import compare, figure, table
from attnlab.report.__main__ import main

FILES = ["bleu_by_length.csv", "bleu_by_length.png", "bleu_by_length.svg", "table.csv", "table.md"]


def one(*records):
    return compare([(Path(f"runs/{number}"), record) for number, record in enumerate(records)]).comparisons[0]


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def grid(make):
    records = [
        make(scorer=scorer, decoder=decoder, seed=seed, bleu=bleu + seed)
        for bleu, scorer in enumerate(("dot", "general", "additive"), 30)
        for decoder in ("input_feeding", "post_combine")
        for seed in (1, 2)
    ]
    return [
        *records,
        make(scorer=None, window=None, decoder="fixed_vector", scores=(30.0, 25.0, 20.0, 12.0, 5.0)),
    ]


def test_verb_writes_every_file_with_the_same_bytes_each_time(grid, save, tmp_path, capsys):
    top = save(*grid)
    for out in ("a", "b"):
        assert main([str(top), "--out", str(tmp_path / out)]) == 0
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == FILES
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert "fixed_vector" in capsys.readouterr().out


def test_table_csv_holds_all_digits_and_provenance(grid):
    rows = read(table.to_csv(one(*grid)))
    assert len(rows) == 7
    row = next(row for row in rows if (row["scorer"], row["decoder"]) == ("general", "post_combine"))
    assert float(row["bleu"]) == 32.5 and float(row["bleu_sd"]) == pytest.approx(0.5**0.5)
    assert (row["seeds"], row["n_seeds"]) == ("1 2", "2")
    assert "tok:13a" in row["bleu_signature"] and row["fingerprint"] == "f00d"
    assert float(row["bleu_<=10"]) == 34.0 and float(row["bleu_>40"]) == 26.0
    assert rows[0]["scorer"] == "none" and rows[0]["bleu_sd"] == "" and rows[0]["missing_seeds"] == "2"


def test_figure_csv_has_every_point_with_its_n(make):
    lines = read(
        figure.curve_csv(one(make(scores=(34.0, None, 30.0, 28.0, 26.0), counts=[120, 0, 90, 40, 12])))
    )
    assert [(line["centre"], line["n"], line["bleu"], line["mark"]) for line in lines] == [
        ("5.0", "120", "34.0", ""),
        ("15.0", "0", "", "empty"),
        ("25.0", "90", "30.0", ""),
        ("35.0", "40", "28.0", ""),
        ("45.0", "12", "26.0", "few"),
    ]
    assert (lines[0]["ci_low"], lines[0]["ci_high"]) == ("33.0", "35.0")


def test_a_bucket_without_score_is_a_gap_in_the_line(make, monkeypatch, tmp_path):
    from matplotlib.axes import Axes

    drawn = []
    plot = Axes.plot
    monkeypatch.setattr(
        Axes, "plot", lambda self, x, y, **look: (drawn.append((x, y)), plot(self, x, y, **look))[1]
    )
    comparison = one(make(scores=(34.0, None, 30.0, 28.0, 26.0), counts=[120, 0, 90, 40, 12]))
    figure.draw(comparison, [tmp_path / "x.svg"])
    ((places, values),) = drawn
    assert places == [5, 15, 25, 35, 45]
    assert values[1] != values[1] and values[2] == 30.0
    assert "-" in table.to_markdown(comparison).splitlines()[-4].split("|")[9]


def test_cells_look_different_and_the_baseline_unlike_all(grid):
    rows = one(*grid).rows
    looks = figure.styles(rows, one(*grid).varying)
    assert len({str(look) for look in looks}) == len(rows)
    assert [look["color"] == "black" for look in looks] == [not row.attends for row in rows]
    by_scorer = {row.cell["scorer"]: look["color"] for row, look in zip(rows, looks, strict=True)}
    for row, look in zip(rows, looks, strict=True):
        assert look["color"] == by_scorer[row.cell["scorer"]]


def test_many_cells_of_any_kind_can_be_drawn_apart(make):
    cells = [
        make(scorer=f"s{k % 9}", decoder=f"d{k % 2}", cell_id=f"c{k}", settings={"lr": k}) for k in range(18)
    ]
    looks = figure.styles(one(*cells).rows, ["scorer", "decoder"])
    assert len({str(look) for look in looks}) == 18


def test_names_from_a_configuration_break_neither_markdown_nor_figure(make, tmp_path):
    comparison = one(
        make(scorer="a|b`[bold]<script>$x_1$", cell_id="1"),
        make(scorer="_hidden & \\", cell_id="2", settings={"lr": "long " * 60}),
    )
    text = table.to_markdown(comparison)
    assert (
        len({line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")}) == 1
    )
    assert "a\\|b\\`\\[bold\\]&lt;script&gt;" in text
    figure.draw(comparison, [tmp_path / "x.svg", tmp_path / "x.png"])
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(drawn)
    assert "&lt;script&gt;$x_1$" in drawn and "_hidden" in drawn
    out = io.StringIO()
    table.to_console(comparison, Console(file=out, force_terminal=True, width=80, color_system=None))
    assert "a|b`[bold]<script>$x_1$" in out.getvalue()


def test_without_a_terminal_every_row_is_one_plain_line(grid):
    out = io.StringIO()
    table.to_console(one(*grid), Console(file=out, width=40))
    lines = out.getvalue().splitlines()
    assert "\x1b" not in out.getvalue()
    (row,) = [line for line in lines if line.startswith("general") and "post_combine" in line]
    assert "32.50 ± 0.71" in row and "12.3M" in row and "0:12:34" in row
    assert "all rows: encoder bilstm" in lines and not any(line.startswith("encoder ") for line in lines)


def test_a_terminal_gets_parts_that_fit(grid):
    out = io.StringIO()
    table.to_console(one(*grid), Console(file=out, force_terminal=True, width=90, color_system=None))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 90
    assert sum("fixed_vector" in line for line in lines) > 1
    assert all("…" not in line for line in lines)


def test_marks_are_explained_where_they_are_used(make):
    record = make()
    few = table.to_markdown(one(record))
    assert "26.0\\*" in few or "26.0*" in few
    assert "few sentences" in few and "no reference" not in few
    record["test"]["flickr"]["by_source_length"][0].update(bleu=None, ci=None, mark="too_short")
    short = table.to_markdown(one(record))
    assert "| short |" in short and "no reference in the bucket has a 4-gram" in short


def test_scores_that_no_record_has_make_no_column(make):
    record = make()
    for name in ("chrf", "ter"):
        record["test"]["flickr"][name] = None
    title = next(line for line in table.to_markdown(one(record)).splitlines() if line.startswith("|"))
    assert "BLEU" in title and "chrF" not in title and "TER" not in title and "AER" not in title
    record["test"]["flickr"]["alignment"] = {credit: {"aer": 0.25} for credit in ("predicted", "input")}
    assert "| AER predicted | AER input |" in table.to_markdown(one(record))


def test_tables_that_cannot_be_compared_are_separate_files(make, save, tmp_path, capsys):
    top = save(make(), make(scorer="b", signature="nrefs:1|case:lc|eff:no|tok:none|smooth:exp|version:2.6.0"))
    assert main([str(top), "--out", str(tmp_path / "out")]) == 0
    tables = {
        path.name: read(path.read_text(encoding="utf-8")) for path in (tmp_path / "out").glob("table*.csv")
    }
    assert sorted(tables) == ["table.csv", "table_case-mixed-tok-13a.csv"]
    assert all(len({row["bleu_signature"] for row in rows}) == 1 for rows in tables.values())
    assert "kept apart because the BLEU signature differs" in capsys.readouterr().out


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


def test_the_report_needs_no_torch(make, save, tmp_path):
    code = (
        "import sys; from attnlab.report.__main__ import main; "
        f"assert main([{str(save(make()))!r}, '--out', {str(tmp_path / 'out')!r}]) == 0; "
        "assert not {'torch', 'pandas', 'matplotlib.pyplot', 'hydra'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True)
