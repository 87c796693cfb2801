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
    assert re.findall(r"\\(begin|end)\{(\w+)\}", text) == [
        ("begin", "table"), ("begin", "tabular"), ("end", "tabular"), ("end", "table")
    ]  # fmt: skip
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
    assert line[2].startswith("\\textbf{") and "$\\pm$" in line[2]
    assert "$^{*}$" in line[3]
    assert sum(cell.startswith("\\textbf") for one in rows_of(text) for cell in one[2:3]) == 1
    assert "$-$" in text or "+" in text


def test_columns_of_tampered_weights_are_explained_and_no_slope_is_called_best(found):
    comparison, made = found
    assert "tampered with" not in latex.to_latex(comparison, made)
    comparison.rows[0].overrides = {"uniform": Tampered(Spread(12.0, None, 1), Spread(-18.0, None, 1))}
    text = latex.to_latex(comparison, made)
    assert "BLEU, uniform" in text.split("\\midrule")[0]
    assert "tampered with at test time" in text.split("\\bottomrule")[1]
    titles = text.split("\\toprule\n")[1].split(" \\\\")[0].split(" & ")
    slope = titles.index("slope")
    assert not any("textbf" in line[slope] for line in rows_of(text))


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
