"""The walkthrough of runs: its numbers are those of the model, whatever scorer, window and decoder order it has."""

import math
import shutil

import numpy as np
import pytest
import torch

import attnlab
from attnlab.explain.__main__ import main
from attnlab.explain.following import TOP
from attnlab.explain.reading import LONGEST, read
from attnlab.explain.run_tables import run_tables
from attnlab.explain.runs_text import runs_text
from attnlab.explain.sentence import Sentence
from attnlab.explain.trained import trained

from .alone import check_alone

SCORERS = ("dot", "scaled_dot", "general", "additive", "concat", "location")
WINDOWS = ("global", "local_m", "local_p", "local_p_renorm", "local_p_on_scores")
ORDERS = ("input_feeding", "post_combine", "post_combine_feeding", "post_combine_previous")
CELLS = [
    *(
        f"scorer={scorer} decoder=post_combine window={window}"
        for scorer in ("general", "concat")
        for window in WINDOWS
    ),
    *(f"scorer={scorer} decoder={order} window=local_p" for scorer in SCORERS for order in ORDERS[:1]),
    *(f"scorer=additive decoder={order} window=global" for order in ORDERS),
]


def both(runs, sentence, options):
    run = attnlab.load(runs(options), device="cpu")
    return run, read(run, "it", sentence.source, sentence.target)


@pytest.mark.parametrize("options", CELLS)
def test_weights_are_the_models_and_follow_from_the_scores_that_are_shown(runs, sentence, options):
    run, found = both(runs, sentence, options)
    pieces, words, weights = run.attend(sentence.source, sentence.target)
    assert found.source == pieces and found.target == words
    shown = np.array([step["a"] for step in found.steps])
    assert shown == pytest.approx(weights, abs=1e-5)
    renormalised = "renorm" in options
    for step in found.steps:
        inside = [j for j, score in enumerate(step["e"]) if score is not None]
        assert (step["scored"], step["first"], step["last"]) == (len(inside), inside[0] + 1, inside[-1] + 1)
        e = np.array([step["e"][j] for j in inside])
        a = np.exp(e) / np.exp(e).sum()
        if "gauss" in step and "on_scores" not in options:
            a = a * np.array(step["gauss"])[inside]
            a = a / a.sum() if renormalised else a
        assert np.array(step["a"])[inside] == pytest.approx(a, abs=1e-5)
        assert sum(step["a"]) == pytest.approx(sum(a), abs=1e-5) == pytest.approx(step["sum"], abs=1e-5)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("scorer", SCORERS)
def test_the_parts_of_a_score_add_up_to_what_the_scorer_gives(runs, sentence, scorer, window):
    _, found = both(runs, sentence, f"scorer={scorer} decoder=post_combine window={window}")
    for step in found.steps:
        heaviest = max(range(len(step["a"])), key=step["a"].__getitem__)
        assert step["whole"] == step["raw"][heaviest]
        assert step["entering"] == step["e"][heaviest]
        rows, rest = step["units"]["rows"], step["units"]["rest"]
        parts = sum(row["value"] for row in rows) + rest["value"]
        assert parts == pytest.approx(step["raw"][heaviest], abs=1e-5)


@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_that_acts_on_scores_is_shown_before_and_after(runs, sentence, window):
    _, found = both(runs, sentence, f"scorer=general decoder=post_combine window={window}")
    acts = window == "local_p_on_scores"
    assert found.facts["on_scores"] == acts
    assert found.facts["on_weights"] == (window in ("local_p", "local_p_renorm"))
    for step in found.steps:
        gauss = np.array(step["gauss"]) if acts else np.ones(len(step["e"]))
        there = [j for j, score in enumerate(step["e"]) if score is not None]
        for j in there:
            assert step["e"][j] == pytest.approx(step["raw"][j] * gauss[j], abs=1e-6)
    text = " ".join(runs_text(Sentence(sentence.source), [found]).split())
    assert ("in window" in text) == acts


@pytest.mark.parametrize("window", WINDOWS)
def test_a_slope_is_what_a_small_rise_of_the_score_does_to_the_weight(runs, sentence, window):
    _, found = both(runs, sentence, f"scorer=general decoder=post_combine window={window}")
    for step in found.steps:
        there = [j for j, score in enumerate(step["raw"]) if score is not None]
        gauss = np.array(step.get("gauss", np.ones(len(step["a"]))))[there]

        def weights(scores, gauss=gauss):
            if window == "local_p_on_scores":
                scores = scores * gauss
            a = np.exp(scores) / np.exp(scores).sum()
            if window in ("local_p", "local_p_renorm"):
                a = a * gauss
            return a / a.sum() if window == "local_p_renorm" else a

        scores = np.array([step["raw"][j] for j in there])
        order = sorted(range(len(there)), key=lambda k: -step["a"][there[k]])[:TOP]
        for j, column in enumerate(order):
            rise = np.zeros(len(there))
            rise[column] = 1e-4
            slope = (weights(scores + rise) - weights(scores - rise)) / 2e-4
            for i, row in enumerate(order):
                assert step["slopes"]["rows"][i][j] == pytest.approx(slope[row], abs=1e-5)
        assert step["slope"] == step["slopes"]["rows"][0][0]


def test_the_context_is_where_its_cosines_and_distances_say(runs, sentence):
    run, found = both(runs, sentence, "scorer=general decoder=input_feeding window=local_p")
    ids = run.source_ids([sentence.source])
    with torch.no_grad():
        memory, _ = run.model.encode(torch.tensor(ids), torch.tensor([len(ids[0])]))
    states = memory.states[0].double().numpy()
    for step in found.steps:
        c = np.array(step["a"]) @ states
        assert step["norm"] == pytest.approx(np.linalg.norm(c), abs=1e-5)
        cosines = states @ c / np.linalg.norm(states, axis=1) / np.linalg.norm(c)
        assert step["cosine"] == pytest.approx(cosines, abs=1e-4)
        assert step["distance"] == pytest.approx(np.abs(states - c).mean(1), abs=1e-5)
        assert np.array(step["chain"][0]) == pytest.approx([0, 0])


def test_a_monotonic_window_stays_at_the_last_word(runs, sentence):
    _, found = both(runs, sentence, "scorer=dot decoder=post_combine window=local_m")
    size = len(found.source)
    assert [step["centre"] for step in found.steps] == [min(t + 1, size) for t in range(len(found.steps))]


def test_the_gold_alignment_is_shown_where_the_translation_is_the_reference(runs, sentence):
    folder = runs("scorer=dot decoder=post_combine window=global")
    walk = trained([folder], sentence.source, None, None, True, "cpu")
    (found,) = walk.readings
    links = {tuple(map(int, link.split("-"))) for link in sentence.alignment.split()}
    assert {(j, i) for i, j in found.gold} == links  # every word of this language is one piece
    rows = [line for line in walk.text().splitlines() if line.endswith("|")]
    assert sum(line.count("[") for line in rows) == len(links)
    outlined = walk.page().count('stroke="var(--gold)" stroke-width="1.8"')
    assert outlined == len(links) + 1  # the scale below the map says what such an outline is
    (other,) = trained([folder], sentence.source, None, sentence.target + " x", False, "cpu").readings
    assert other.gold is None and "another" in other.note


def test_the_table_of_the_corners_has_a_row_a_step_and_nothing_that_a_slider_would_have_to_move(
    runs, sentence
):
    _, found = both(runs, sentence, "scorer=dot decoder=post_combine window=local_p")
    (table,) = run_tables("corners", found)
    assert [row[0] for row in table.rows] == [str(step["t"]) for step in found.steps]
    for row, step in zip(table.rows, found.steps, strict=True):
        assert len(row) == len(table.head) and not any("{" in cell for cell in row)
        assert row[table.head.index("peak")] == f"{step['corners']['peak']:.3f}"


def test_a_model_without_attention_stands_beside_the_others(runs, sentence):
    folders = [runs("decoder=fixed_vector"), runs("scorer=dot decoder=post_combine window=global")]
    walk = trained(folders, sentence.source, None, sentence.target, False, "cpu")
    without, with_it = walk.readings
    assert not without.attends and without.facts["numbers"] == 8
    assert with_it.facts["numbers"] == 8 * len(with_it.source)
    page = walk.page()
    assert page.count("No attention: its decoder") == 7  # steps 2 to 5 and 7 to 9
    assert "no attention, so no map" in walk.text()


def names(folders, sentence):
    walk = trained(folders, sentence.source, None, sentence.target, False, "cpu")
    return [reading.name for reading in walk.readings]


def test_two_seeds_of_one_cell_are_told_apart_by_their_seeds(runs, sentence):
    options = "scorer=dot decoder=post_combine window=global"
    folders = [runs(options), runs(f"{options} seed=2", 2), runs("scorer=general decoder=post_combine")]
    cell = "dot, post_combine, global"
    assert names(folders, sentence) == [f"{cell}, seed 1", f"{cell}, seed 2", "general, post_combine, global"]


def test_two_runs_of_one_seed_are_told_apart_by_their_folders(runs, sentence, tmp_path):
    folder = runs("scorer=dot decoder=post_combine window=global")
    other = tmp_path / "again" / "seed1"
    shutil.copytree(folder, other)
    cell = "dot, post_combine, global"
    assert names([folder, other], sentence) == [f"{cell}, {folder}", f"{cell}, {other}"]


def test_the_words_of_a_search_are_followed_as_it_found_them(runs, sentence):
    folder = runs("scorer=additive decoder=input_feeding window=global")
    run = attnlab.load(folder, device="cpu")
    found = read(run, "it", sentence.source, None)
    search = attnlab.build.build_search(run.config, n_best=1)
    source = torch.tensor(run.source_tokenizer.encode([sentence.source]))
    ((best,),) = search(run.model, source, torch.tensor([source.shape[1]]), end=run.target_tokenizer.end)
    assert found.tokens == [*best.tokens, *([run.target_tokenizer.end] if best.finished else [])]
    assert found.text == run.translate(sentence.source)
    assert np.array([step["a"] for step in found.steps]) == pytest.approx(best.weights.numpy(), abs=1e-5)
    assert ("without an end" in found.cut) == (not best.finished)
    chances = [math.log(step["chance"]) for step in found.steps]
    assert sum(chances) == pytest.approx(best.log_prob, abs=1e-3)


def test_a_source_that_is_closed_has_one_column_more(runs, sentence):
    run, found = both(runs, sentence, "scorer=dot decoder=post_combine data.source_eos=true")
    pieces, _, weights = run.attend(sentence.source, sentence.target)
    assert found.source == pieces and len(pieces) == len(sentence.source.split()) + 1
    assert np.array([step["a"] for step in found.steps]) == pytest.approx(weights, abs=1e-5)


def test_words_that_are_there_twice_have_their_places(runs, sentence):
    word, other = sentence.source.split()[:2]
    run = attnlab.load(runs("scorer=dot decoder=post_combine window=global"), device="cpu")
    found = read(run, "it", f"{word} {other} {word}", sentence.target)
    assert found.source == [word, other, word]
    assert found.labels == [f"{word} (1)", other, f"{word} (3)"]
    assert {step["heaviest"] for step in found.steps} <= set(found.labels)


def test_unknown_words_are_told(runs, sentence):
    run = attnlab.load(runs("scorer=dot"), device="cpu")
    found = read(run, "it", "nobody said this", sentence.target)
    assert found.cut == "3 of 3 source pieces are unknown to this model, marked ?."
    assert found.source == ["?nobody", "?said", "?this"]
    assert read(run, "it", sentence.source, sentence.target).cut == ""


@pytest.mark.parametrize(
    ("encoder", "places"), [("bilstm", "both"), ("lstm", "last"), ("lstm_reversed", "first")]
)
def test_the_final_state_is_drawn_where_the_encoder_ends(runs, sentence, encoder, places):
    _, found = both(runs, sentence, f"decoder=fixed_vector encoder={encoder}")
    last = len(found.source) - 1
    assert found.facts["final"] == {"both": [0, last], "last": [last], "first": [0]}[places]


def test_a_model_that_does_not_stop_is_shown_for_so_many_steps(runs, sentence):
    run = attnlab.load(runs("scorer=dot"), device="cpu")
    found = read(run, "it", sentence.source, " ".join(["x"] * 200))
    assert len(found.steps) == LONGEST
    assert found.cut == f"The first {LONGEST} of 201 steps are shown."


def test_pictures_of_a_run_are_files_that_stand_alone(runs, sentence, tmp_path, capsys):
    folder = runs("scorer=additive decoder=input_feeding window=global")
    assert main([str(folder), "--sentence", sentence.source, "--svg", str(tmp_path), "--device", "cpu"]) == 0
    assert "pictures in" in capsys.readouterr().out
    files = sorted(tmp_path.glob("*.svg"))
    assert {path.name.split("_")[2] for path in files} >= {
        "bottleneck",
        "question",
        "score",
        "softmax",
        "lanes",
    }
    for path in files:
        check_alone(path.read_text(encoding="utf-8"))


def test_pictures_of_the_worked_example_are_files_that_stand_alone(tmp_path):
    assert main(["--svg", str(tmp_path)]) == 0
    files = sorted(tmp_path.glob("*.svg"))
    assert {path.name[0] for path in files} == set("123456789")
    for path in files:
        check_alone(path.read_text(encoding="utf-8"))
