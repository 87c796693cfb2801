"""Every test, every bucket, every effect as CSV; the table as LaTeX."""

import csv
import io
import re

import pytest

from attnlab.metrics.seeds import Spread
from attnlab.report import latex, lists, load
from attnlab.report.evidence import evidence
from attnlab.report.fairness import differing
from attnlab.report.rows import Tampered

from .recorded import with_sentences

DRAW = {"samples": 50, "trials": 50}


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def found(measured):
    runs = [
        with_sentences(quality, 10 * number + seed, seed=seed, scorer=name)
        for number, (name, quality) in enumerate([("dot", 0.6), ("general", 0.8), ("additive", 0.6)])
        for seed in (1, 2)
        if (name, seed) != ("additive", 2)
    ]
    (comparison,) = load([measured(*runs)]).comparisons
    return comparison, evidence(comparison, baseline="dot", **DRAW)


def test_every_test_is_a_line_with_both_p_its_correction_seeds_and_factors(found):
    comparison, made = found
    lines = read(lists.tests_csv(*found))
    assert [(line["metric"], line["first_name"]) for line in lines] == [
        ("bleu", "additive"), ("bleu", "general"), ("chrf", "additive"), ("chrf", "general")
    ]  # fmt: skip
    line = lines[1]
    test = made.of(next(row for row in comparison.rows if row.cell["scorer"] == "general")).test
    for name in ("delta", "p_bootstrap", "p_randomisation", "p_holm", "p_holm_bootstrap"):
        assert float(line[name]) == getattr(test, name)
    assert (float(line["delta_low"]), float(line["delta_high"])) == (test.low, test.high)
    assert (line["seeds_first"], line["seeds_second"], line["factors"]) == ("2", "2", "scorer")
    assert (line["samples"], line["trials"], line["seed"], line["level"]) == ("50", "50", "12345", "0.95")
    assert "tok:13a" in line["signature"]
    assert [one["mark"] for one in lines if one["significant"] == "yes" and "1" in one["seeds_first"]] == []


def test_lengths_have_every_kind_bucket_and_the_slope(found):
    comparison, made = found
    lines = read(lists.lengths_csv(*found))
    assert len(lines) == 3 * 4 * 5
    assert {line["kind"] for line in lines} == {
        "source_words", "reference_words", "source_pieces", "reference_pieces"
    }  # fmt: skip
    row = comparison.rows[2]
    own = [line for line in lines if (line["key"], line["kind"]) == (row.key, "source_words")]
    curve = made.of(row).lengths["source_words"]
    assert [line["label"] for line in own] == ["<=10", "11-20", "21-30", "31-40", ">40"]
    assert [float(line["score"]) for line in own] == [bucket.score for bucket in curve.buckets]
    assert [float(line["delta_low"]) for line in own] == [bucket.delta_low for bucket in curve.buckets]
    assert {float(line["slope"]) for line in own} == {curve.slope.value}
    assert sum(int(line["n"]) for line in own) == 462


def test_effects_are_terms_then_levels_or_only_a_header(found, measured):
    assert lists.effects_csv(found[1]).count("\n") == 1
    grid = [
        with_sentences(0.5 + 0.1 * a, 100 * a + 10 * b + seed, seed=seed, scorer=s, decoder=d)
        for a, s in enumerate(("dot", "general"))
        for b, d in enumerate(("input_feeding", "post_combine"))
        for seed in (1, 2)
    ]
    (comparison,) = load([measured(*grid, under="grid")]).comparisons
    lines = read(lists.effects_csv(evidence(comparison, **DRAW)))
    assert [line["factors"] for line in lines if line["what"] == "term"] == [
        "scorer", "decoder", "scorer x decoder"
    ]  # fmt: skip
    assert {line["options"] for line in lines if line["what"] == "level"} >= {"dot", "general"}


def test_fairness_of_the_tests_is_that_of_the_rows(found):
    comparison, _ = found
    assert differing(comparison.rows[0], comparison.rows[1]) == ["scorer"]


def rows_of(text):
    body = text.split("\\midrule\n")[1].split("\\bottomrule")[0]
    return [line.removesuffix(" \\\\").split(" & ") for line in body.strip().split("\n")]


def test_latex_is_a_booktabs_table_with_as_many_cells_as_columns(found):
    text = latex.to_latex(*found)
    for mark in ("\\toprule", "\\midrule", "\\bottomrule", "\\caption{", "\\label{tab:table}"):
        assert text.count(mark) == 1
    assert re.findall(r"\\(begin|end)\{([\w*]+)\}", text) == [
        ("begin", "table*"), ("begin", "tabular"), ("end", "tabular"), ("end", "table*")
    ]  # fmt: skip
    assert "$ sentences).}" in text and re.search(r"\.(csv|md|tex)", text.split("\\begin", 1)[1]) is None
    (rule,) = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", text)
    titles = text.split("\\toprule\n")[1].split(" \\\\")[0].split(" & ")
    assert {len(line) for line in rows_of(text)} == {len(rule)} == {len(titles)}
    assert depth(text) == 0


def depth(text):
    """Open braces, without those that are printed."""
    bare = re.sub(r"\\[{}$]", "", "\n".join(line for line in text.splitlines() if not line.startswith("%")))
    assert bare.count("$") % 2 == 0
    return bare.count("{") - bare.count("}")


def test_the_best_of_a_column_is_bold_and_significance_and_doubt_are_marked(found):
    comparison, made = found
    text = latex.to_latex(comparison, made)
    best = max(comparison.rows, key=lambda row: made.of(row).bleu.mean)
    (line,) = [line for line in rows_of(text) if line[0] == best.cell["scorer"]]
    assert line[1].startswith("\\textbf{") and "$\\pm$" in line[1]
    assert re.fullmatch(r"\$\+\d+\.\d\d\^\{\*\}\$", line[2])
    assert sum("\\textbf" in one[1] for one in rows_of(text)) == 1


def test_intervals_stand_below_their_numbers_and_signs_are_those_of_mathematics(found):
    comparison, made = found
    text = latex.to_latex(comparison, made)
    numbers, limits = rows_of(text)[:2]
    known = made.of(comparison.rows[0]).bleu
    assert "[" not in numbers[1] and limits[0].strip() == ""
    assert limits[1] == f"{{\\scriptsize {{[}}{known.low:.2f}, {known.high:.2f}]}}"
    body = "".join(cell for line in rows_of(text) for cell in line).replace("$-", "").replace("$+", "")
    assert "-" not in body.replace("--", "") and "+" not in body and "\u2212" not in body


def titles_of(text):
    return text.split("\\toprule\n")[1].split(" \\\\")[0].split(" & ")


def test_only_scores_are_called_best_and_no_column_is_of_seeds_cost_in_time_or_tampered_weights(found):
    comparison, made = found
    comparison.rows[0].overrides = {"uniform": Tampered(Spread(12.0, None, 1), Spread(-18.0, None, 1))}
    text = latex.to_latex(comparison, made)
    titles = titles_of(text)
    assert titles == ["scorer", "BLEU", "$\\Delta$ BLEU", "slope", "chrF", "parameters"]
    assert "tampered" not in text and "of them attention" not in text.lower()
    for title in ("slope", "parameters"):
        assert not any("textbf" in line[titles.index(title)] for line in rows_of(text))


def test_a_row_of_other_seeds_than_most_has_a_mark_and_a_note(found):
    text = latex.to_latex(*found)
    assert [line[0] for line in rows_of(text)[::2]] == ["additive$^{\\S}$", "dot", "general"]
    assert "$^{\\S}$ seeds 1; missing 2: additive." in text and "over the seeds 1, 2." in text


def test_many_axes_cost_columns_of_numbers_and_make_a_wide_table(measured):
    cells = [("a", "x", "p", "u"), ("b", "y", "q", "v")]
    names = ("encoder", "scorer", "decoder", "window")
    runs = [with_sentences(0.5, k, **dict(zip(names, cell, strict=True))) for k, cell in enumerate(cells)]
    for number, (record, _) in enumerate(runs):
        record["test"]["flickr"]["alignment"] = {
            name: {"aer": 0.2 + number} for name in ("predicted", "input")
        }
    (comparison,) = load([measured(*runs)]).comparisons
    text = latex.to_latex(comparison, evidence(comparison, **DRAW))
    titles = titles_of(text)
    assert len(titles) == 9 and titles[:4] == list(names) and titles[4:6] == ["BLEU", "$\\Delta$ BLEU"]
    assert "parameters" not in titles and "\\begin{table*}" in text and "\\end{table*}" in text


@pytest.mark.parametrize(
    "text, printed",
    [
        ("50 % & #1_x", r"50 \% \& \#1\_x"),
        ("{$x^2$} ~ \\cmd", r"\{\$x\textasciicircum{}2\$\} \textasciitilde{} \textbackslash{}cmd"),
        ("[bold]", "{[}bold]"),
        ("a\nb", "a b"),
        ("≤10 ± 2°", r"$\leq$10 $\pm$ 2$^{\circ}$"),
    ],
)
def test_text_is_escaped(text, printed):
    assert latex.escape(text) == printed


def test_names_from_a_configuration_do_not_break_the_table(measured):
    runs = [
        with_sentences(0.5, k, scorer=name, cell_id=str(k))
        for k, name in enumerate(("[bold] & \\\\", "{_%$#}~^"))
    ]
    (comparison,) = load([measured(*runs)]).comparisons
    text = latex.to_latex(comparison, evidence(comparison, **DRAW))
    assert depth(text) == 0 and len({len(line) for line in rows_of(text)}) == 1
    assert not any(line[0].startswith("[") for line in rows_of(text))
