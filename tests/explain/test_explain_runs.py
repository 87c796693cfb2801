"""The walkthrough of runs: its numbers are those of the model, whatever scorer, window and decoder order it has."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

import attnlab
from attnlab.attention import Scorer
from attnlab.explain.__main__ import main
from attnlab.explain.reading import LONGEST, read
from attnlab.explain.trained import trained

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


@pytest.mark.parametrize("scorer", SCORERS)
def test_the_parts_of_a_score_add_up_to_it(runs, sentence, scorer):
    _, found = both(runs, sentence, f"scorer={scorer} decoder=post_combine window=global")
    for step in found.steps:
        best = step["e"][max(range(len(step["a"])), key=step["a"].__getitem__)]
        assert step["whole"] == pytest.approx(best, abs=1e-5)
        assert sum(row["value"] for row in step["terms"]) == pytest.approx(best, abs=1e-5)


def test_the_context_is_where_its_cosines_and_distances_say(runs, sentence):
    run, found = both(runs, sentence, "scorer=general decoder=input_feeding window=local_p")
    ids = run._source([sentence.source])
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
    assert walk.text().count("[") - 1 >= len(links)
    assert walk.page().count('stroke="var(--gold)" stroke-width="1.8"') == len(links)
    (other,) = trained([folder], sentence.source, None, sentence.target + " x", False, "cpu").readings
    assert other.gold is None and "another" in other.note


def test_a_model_without_attention_stands_beside_the_others(runs, sentence):
    folders = [runs("decoder=fixed_vector"), runs("scorer=dot decoder=post_combine window=global")]
    walk = trained(folders, sentence.source, None, sentence.target, False, "cpu")
    without, with_it = walk.readings
    assert not without.attends and without.facts["numbers"] == 8
    assert with_it.facts["numbers"] == 8 * len(with_it.source)
    page = walk.page()
    assert page.count("No attention: its decoder") == 6  # steps 2 to 5, 8 and 9
    assert "no attention, so no map" in walk.text()


def test_two_runs_of_one_cell_are_told_apart_by_their_seeds_and_folders(runs, sentence):
    options = "scorer=dot decoder=post_combine window=global"
    folders = [runs(options), runs(options), runs("scorer=general decoder=post_combine window=global")]
    names = [r.name for r in trained(folders, sentence.source, None, sentence.target, False, "cpu").readings]
    assert len(set(names)) == 2 or len(set(names)) == 3
    assert names[2] == "general, post_combine, global"


class Odd(Scorer):
    """A scorer of somebody else's."""

    def forward(self, query, keys):
        return -((query.unsqueeze(-2) - keys.unsqueeze(-3)) ** 2).sum(-1)


def test_a_scorer_of_ones_own_has_scores_and_no_parts(runs, sentence):
    run = attnlab.load(runs("scorer=dot decoder=post_combine window=local_p"), device="cpu")
    run.model.decoder.attention.scorer = Odd(8, 8)
    found = read(run, "it", sentence.source, sentence.target)
    assert found.facts["formula"] == "Odd" and found.steps[0]["terms"] == []
    assert max(score for score in found.steps[0]["e"] if score is not None) < 0


def test_a_model_that_does_not_stop_is_shown_for_so_many_steps(runs, sentence):
    run = attnlab.load(runs("scorer=dot"), device="cpu")
    assert len(read(run, "it", sentence.source, " ".join(["x"] * 200)).steps) == LONGEST


def test_pictures_of_a_run_are_files_that_stand_alone(runs, sentence, tmp_path, capsys):
    folder = runs("scorer=additive decoder=input_feeding window=global")
    assert main([str(folder), "--sentence", sentence.source, "--svg", str(tmp_path), "--device", "cpu"]) == 0
    assert "pictures in" in capsys.readouterr().out
    files = sorted(tmp_path.glob("*.svg"))
    assert {path.name.split("_")[1] for path in files} >= {
        "bottleneck",
        "question",
        "score",
        "softmax",
        "lanes",
    }
    for path in files:
        check_alone(path.read_text(encoding="utf-8"))


def check_alone(text):
    """Well-formed, named and described, with colours and no bindings."""
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    title, description = root.find(f"{space}title"), root.find(f"{space}desc")
    assert title.text and description.text and root.get("role") == "img"
    assert root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    assert not re.search(r"var\(|data-|\{|nan", text)


def test_pictures_of_the_worked_example_are_files_that_stand_alone(tmp_path):
    assert main(["--svg", str(tmp_path)]) == 0
    files = sorted(tmp_path.glob("*.svg"))
    assert {path.name[0] for path in files} == set("123456789")
    for path in files:
        check_alone(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sentence", "x"], "is of trained runs, and none is given"),
        (["RUN"], "a sentence is missing"),
        (["RUN", "--sentence", "x", "--test", "1"], "two ways to say one thing"),
        (["RUN", "--sentence", "  "], "is empty"),
        (["RUN", "--sentence", "x " * 61], "a picture holds 60"),
        (["RUN", "--test", "99"], "has the lines 0 to 4"),
        (["RUN", "--sentence", "nobody said this", "--reference"], "in no test set"),
        (["nowhere", "--sentence", "x"], "no run is here"),
        (["RUN", "--sentence", "x", "--out", "FILE/below"], "cannot be written"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(runs, tmp_path, capsys, arguments, said):
    (tmp_path / "file").write_text("")
    places = {"RUN": str(runs("scorer=dot")), "FILE/below": str(tmp_path / "file" / "below")}
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
