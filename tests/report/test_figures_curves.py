"""Training curves from the files beside the records, and the entropy of the weights by length."""

import json

import pytest

from attnlab.report import figures, load
from attnlab.report.figures import entropy, numbers, paper, styles, training_curves


def log(folder, lines):
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)


def validated(*points, name="val/bleu"):
    return [{"step": step, name: value, "epoch": 0} for step, value in points]


@pytest.fixture
def written(save, make):
    """Saves three runs of two cells; gives the comparison and its folders by cell and seed."""
    top = save(make(scorer="a", seed=1), make(scorer="a", seed=2), make(scorer="b", seed=1))
    (comparison,) = load([top]).comparisons
    return comparison, {
        (row.cell["scorer"], run.seed): run.folder for row in comparison.rows for run in row.runs
    }


def drawn(module, comparison):
    lines = module.data(comparison)
    cast = styles.cast(comparison.rows, comparison.varying).only({line["key"] for line in lines})
    with paper.style():
        return module.draw(comparison, lines, cast)


def test_curves_are_the_validations_of_each_seed_and_their_mean_as_far_as_both_went(written):
    comparison, folders = written
    log(folders["a", "1"], [{"step": 5, "train/loss": 1.0}, *validated((10, 2.0), (20, 4.0))])
    log(folders["a", "2"], validated((10, 4.0), (20, 8.0), (30, 90.0)))
    lines = training_curves.data(comparison)
    assert [(line["seed"], line["updates"], line["val_bleu"], line["val_loss"]) for line in lines] == [
        ("1", 10, 2.0, None), ("1", 20, 4.0, None),
        ("2", 10, 4.0, None), ("2", 20, 8.0, None), ("2", 30, 90.0, None),
    ]  # fmt: skip
    curves = [
        list(zip(*map(list, line.get_data()), strict=True))
        for line in drawn(training_curves, comparison).axes[0].lines
    ]
    assert curves == [[(10, 2), (20, 4)], [(10, 4), (20, 8), (30, 90)], [(10, 3), (20, 6)]]


def test_the_title_names_the_validation_set_and_not_the_test_set(written):
    comparison, folders = written
    log(folders["a", "1"], validated((10, 2.0)))
    title = drawn(training_curves, comparison).axes[0].get_title(loc="left")
    assert title == f"validation set, {comparison.languages}" and "flickr" not in title


@pytest.mark.parametrize("name, value, expected", [("gold_mass", 0.9, (0.5, 1.0)), ("bleu", 0.3, (0.0, 0.7))])
def test_a_band_never_passes_what_the_score_can_be(name, value, expected):
    low, high, _ = numbers.ends({name: value, f"{name}_sd": 0.4}, name)
    assert (low, high) == pytest.approx(expected)


def test_runs_without_the_file_are_named_in_the_caption(written):
    comparison, folders = written
    log(folders["a", "1"], validated((10, 2.0)))
    caption = figures.captions(comparison)["training_curves"]
    assert "without metrics.jsonl: a seed 2; b seed 1." in caption
    assert "thin: seeds" not in caption


def test_of_a_resumed_run_the_later_validation_holds_and_a_torn_line_does_no_harm(written):
    comparison, folders = written
    log(
        folders["a", "1"],
        [*validated((10, 2.0), (20, 4.0), (20, 5.0), (30, float("nan"))), "[1]\n", '{"step": 40, "val/bl'],
    )
    points = [(line["updates"], line["val_bleu"]) for line in training_curves.data(comparison)]
    assert points == [(10, 2.0), (20, 5.0)]


def test_loss_and_bleu_of_one_validation_may_stand_in_two_lines(written):
    comparison, folders = written
    log(folders["a", "1"], [*validated((20, 2.5), name="val/loss"), *validated((20, 3.0))])
    assert [(line["val_bleu"], line["val_loss"]) for line in training_curves.data(comparison)] == [(3.0, 2.5)]


def test_loss_is_drawn_where_no_run_has_bleu(written):
    comparison, folders = written
    log(folders["a", "1"], validated((10, 2.0), (20, 1.5), name="val/loss"))
    assert drawn(training_curves, comparison).axes[0].get_ylabel() == "validation loss"
    assert "Validation loss" in figures.captions(comparison)["training_curves"]
    log(folders["a", "2"], validated((10, 2.0)))
    assert drawn(training_curves, comparison).axes[0].get_ylabel() == "validation BLEU"


def test_without_any_file_there_is_no_figure_and_a_note_says_so(written):
    planned, notes = figures.plan(written[0])
    assert "training_curves" not in {one.name for one in planned}
    assert any("training_curves: no metrics.jsonl" in note for note in notes)


def weighed(record, entropies, gold=None):
    buckets = record["test"]["flickr"]["by_source_length"]
    record["test"]["flickr"]["attention"] = {
        "by_source_length": [
            {"lo": bucket["lo"], "hi": bucket["hi"], "n": bucket["n"], "entropy_normalised": value,
             "gold_mass": gold, "max_weight": 0.5, "diagonal_distance": 0.1}
            for bucket, value in zip(buckets, entropies, strict=True)
        ]
    }  # fmt: skip
    return record


def test_entropy_by_length_is_the_mean_over_seeds_with_its_deviation(save, make):
    top = save(
        weighed(make(seed=1), (0.1, None, 0.3, 0.4, 0.5)), weighed(make(seed=2), (0.3, None, 0.3, 0.4, 0.5)),
        make(scorer=None, window=None, decoder="fixed_vector"),
    )  # fmt: skip
    (comparison,) = load([top]).comparisons
    lines = entropy.data(comparison)
    assert [line["entropy_normalised"] for line in lines] == pytest.approx([0.2, None, 0.3, 0.4, 0.5])
    assert lines[0]["entropy_normalised_sd"] == pytest.approx(0.02**0.5)
    (axes,) = drawn(entropy, comparison).axes
    assert axes.get_ylim()[0] == 0 and len(axes.lines) == 1
    assert "gold" not in figures.captions(comparison)["entropy"]


def test_mass_on_gold_words_is_a_second_panel_where_it_is_known(save, make):
    (comparison,) = load([save(weighed(make(), (0.1, 0.2, 0.3, 0.4, 0.5), gold=0.7))]).comparisons
    _, second = drawn(entropy, comparison).axes
    assert second.get_ylabel() == "mass on gold words" and set(second.lines[0].get_ydata()) == {0.7}
    assert "gold links" in figures.captions(comparison)["entropy"]


def test_old_records_have_no_figure_of_entropy_and_a_note_says_so(make, save):
    record = make()
    record["test"]["flickr"]["attention"] = {"entropy_normalised": 0.2}
    (comparison,) = load([save(record)]).comparisons
    assert any("no figure entropy" in note for note in figures.plan(comparison)[1])
