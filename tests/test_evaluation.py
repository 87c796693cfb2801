"""Decoding of sets, loading of runs, and evaluations beside the record."""

import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import attnlab
from attnlab import evaluate as verb
from attnlab.data.batches import Batch
from attnlab.errors import UserError
from attnlab.evaluation import Sentence, decode, score
from attnlab.metrics import Metrics

TINY = [
    *(
        "data.train_pairs=80",
        "data.val_pairs=8",
        "data.test_pairs=10",
        "data.max_words=8",
        "data.vocabulary=20",
    ),
    *("data.batch_tokens=200", "tokenizer.min_frequency=1", "encoder.hidden_size=8", "decoder.hidden_size=8"),
    *("model.embedding_size=8", "optim.lr=0.02", "search.beam_size=3", "logger=none"),
    *("trainer.max_epochs=1", "trainer.accelerator=cpu", "metrics.bootstrap.samples=0"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("evaluation")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(top / "cache"))
        attnlab.train([*TINY, f"out={top}/out", "data.source_eos=true"])
        (found,) = Path(top / "out").glob("*/*/seed1")
        yield found


@pytest.fixture(scope="module")
def loaded(folder):
    return attnlab.load(folder, device="cpu")


# --- loading ----------------------------------------------------------------------------------------------


def test_a_loaded_run_translates_as_the_run_itself_did(folder, loaded):
    from attnlab import build

    sources = build.build_data(loaded.config).rows("test")["source"][:]
    written = (folder / "test/test/hyp.txt").read_text().split("\n")[:-1]
    assert loaded.translate(sources) == written
    assert loaded.translate([sources[3]]) == [written[3]]


def test_blank_lines_and_no_lines_give_the_same(loaded):
    assert loaded.translate(["", " \t "]) == ["", ""]
    assert loaded.translate([]) == []


def test_n_best_is_sorted_and_starts_with_the_translation(loaded):
    lines = ["ba de", "", "fo"]
    found = loaded.n_best(lines, n_best=2)
    assert all(1 <= len(best) <= 2 for best in found)
    for best in found:
        assert [s for _, s in best] == sorted((s for _, s in best), reverse=True)
    assert [best[0][0] for best in found] == loaded.translate(lines, n_best=2)


def test_attention_of_a_pair_has_a_row_a_piece_and_one_for_the_end_mark(loaded):
    source, target, weights = loaded.attend("a b c", "x y")
    assert source[-1] == target[-1] == "</s>"  # this run closes its sources
    assert weights.shape == (3, 4) and (len(target), len(source)) == weights.shape
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-6)
    own = loaded.attend("a b c")
    assert own[2].shape == (len(own[1]), 4)


def test_links_are_between_words_and_never_with_the_end_mark(loaded):
    (links,) = loaded.align(["a b c"], ["x y"])
    assert [j for _, j in links] == [0, 1] and all(0 <= i < 3 for i, _ in links)
    assert loaded.align(["", "a"], ["", ""]) == [[], []]


def test_lists_of_unequal_length_are_refused(loaded):
    with pytest.raises(UserError, match="1 source lines and 2 target lines"):
        loaded.align(["a"], ["x", "y"])


def test_a_string_alone_gives_one_result_and_a_list_a_list(loaded):
    sources, targets = ["a b c", "ba"], ["x y", "z"]
    assert loaded.translate(sources[0]) == loaded.translate(sources)[0]
    assert loaded.n_best(sources[0], n_best=2) == loaded.n_best(sources, n_best=2)[0]
    assert loaded.align(sources[0], targets[0]) == loaded.align(sources, targets)[0]
    for given in (targets, None):
        for row, (s, t, weights) in enumerate(loaded.attend(sources, given)):
            alone = loaded.attend(sources[row], given and given[row])
            assert (s, t) == alone[:2]
            np.testing.assert_allclose(weights, alone[2], atol=1e-6)
    assert loaded.translate(line for line in sources) == loaded.translate(sources)
    assert loaded.attend([]) == loaded.align([], []) == loaded.translate([]) == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda run: run.translate(3),
            "lines: give a sentence as a string, or a list of strings; this is int",
        ),
        (lambda run: run.translate(["a", None]), "this is list with NoneType"),
        (lambda run: run.translate([["a"]]), "this is list with list"),
        (lambda run: run.translate(b"ab"), "this is bytes"),
        (lambda run: run.align("a", ["x"]), "the source is a string and the target a list: give two strings"),
        (lambda run: run.align(["a"], "x"), "the source is a list and the target a string"),
        (lambda run: run.align(["a"], ["x"], "nope"), "credit='nope': there are: predicted"),
        (lambda run: run.attend(["a"], "x"), "the source is a list and the target a string"),
        (lambda run: run.attend(["a"], ["x", "y"]), "1 source lines and 2 target lines"),
        (lambda run: run.attend("a", 4), "target: give a sentence as a string"),
        (lambda run: run.translate("a", beem=1), "beem: no setting of the search; there are: beam_size, len"),
        (lambda run: run.n_best("a", n_best=9), "n_best is 9, but search.beam_size is 3: give search.beam_s"),
    ],
)
def test_what_is_no_text_or_no_setting_is_refused_in_one_line(loaded, call, words):
    with pytest.raises(UserError) as told:
        call(loaded)
    assert words in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize("missing", ["config.yaml", "checkpoints/best.ckpt"])
def test_a_folder_without_a_run_is_refused_by_name(tmp_path, missing):
    if missing != "config.yaml":
        (tmp_path / "config.yaml").write_text("{}")
    with pytest.raises(UserError, match=missing.split("/")[-1]):
        attnlab.load(tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        (
            "checkpoints/best.ckpt",
            b"no checkpoint",
            "this is no checkpoint, or only a part of one; copy it again",
        ),
        ("checkpoints/best.ckpt", None, "this is no checkpoint, or"),  # cut in the middle
        ("config.yaml", b"a: [b", "config.yaml: cannot be read"),
        ("config.yaml", b"[1]", "no settings of a run"),
        ("config.yaml", b"data: {}", "encoder, decoder, model, search, metrics is missing"),
        ("tokenizer/source.json", b"{}", "no tokeniser"),
    ],
)
def test_a_damaged_run_is_told_in_one_line(folder, tmp_path, file, content, words):
    shutil.copytree(folder, tmp_path / "seed1")
    path = tmp_path / "seed1" / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if content is None else content)
    with pytest.raises(UserError, match=words) as told:
        attnlab.load(tmp_path / "seed1", device="cpu")
    assert "\n" not in str(told.value) and str(path.name) in str(told.value)
    assert "torch" not in str(told.value) and "weights_only" not in str(told.value)


def test_a_checkpoint_of_another_model_is_told_so(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "seed1")
    path = tmp_path / "seed1/checkpoints/best.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    del checkpoint["state_dict"][next(key for key in checkpoint["state_dict"] if key.startswith("model."))]
    torch.save(checkpoint, path)
    with pytest.raises(UserError, match=r"another model than config\.yaml describes") as told:
        attnlab.load(tmp_path / "seed1", device="cpu")
    assert "\n" not in str(told.value)


def test_a_device_that_is_not_there_is_told_in_one_line(folder):
    with pytest.raises(UserError, match="--device nowhere") as told:
        attnlab.load(folder, device="nowhere")
    assert "\n" not in str(told.value)


# --- decoding ---------------------------------------------------------------------------------------------


class Model:
    """Just enough for `decode` with a search of our own."""

    pad, start, training = 0, 2, False


def toy_batch(indices):
    n = len(indices)
    ones = torch.ones(n, dtype=torch.long)
    return Batch(torch.tensor(indices), torch.full((n, 1), 4), ones, torch.tensor([[3]] * n), ones)


@pytest.mark.parametrize("batches", [[[0, 1], [1]], [[0], [2]], [[1]]])
def test_rows_that_come_twice_or_not_at_all_are_no_score(monkeypatch, batches):
    from attnlab.search import Forced, Hypothesis

    def forced(model, source, lengths, target):
        return Forced(torch.zeros(target.shape), torch.zeros(*target.shape, source.shape[1]))

    monkeypatch.setattr("attnlab.decoding.forced", forced)
    given = [toy_batch(indices) for indices in batches]

    def search(model, source, lengths, end):
        return [[Hypothesis([5], 0.0, 0.0, True, torch.ones(2, 1))] for _ in lengths]

    options = {"end": 3, "device": torch.device("cpu"), "gold": False}
    with pytest.raises(RuntimeError, match="not each one once"):
        decode(Model(), given, search, **options)
    in_order = decode(Model(), [toy_batch([2, 0]), toy_batch([1])], search, **options)
    assert [sentence.index for sentence in in_order] == [0, 1, 2]


def test_a_device_gets_the_text_and_the_host_keeps_rows_and_lengths(loaded, monkeypatch):
    """It reads them, and would wait for the device for each; `meta` has none to give back at all."""
    from attnlab.search import Forced, Hypothesis

    known, given = torch.device("meta"), toy_batch([1, 0])

    def forced(model, source, lengths, target):
        assert source.device == target.device == known and lengths is given.source_lengths
        return Forced(torch.zeros(target.shape), torch.zeros(*target.shape, source.shape[1]))

    def search(model, source, lengths, end):
        assert source.device == known and lengths is given.source_lengths
        return [[Hypothesis([5], 0.0, 0.0, True, torch.ones(2, 1))] for _ in lengths]

    monkeypatch.setattr("attnlab.decoding.forced", forced)
    found = decode(Model(), [given], search, end=3, device=known, gold=False)
    assert [(each.index, each.source, each.reference) for each in found] == [(0, [4], []), (1, [4], [])]

    elsewhere = copy.copy(loaded)
    elsewhere.device = known
    ((rows, batch),) = elsewhere.batches(loaded.source_ids(["a b", "c"]))
    assert batch.source.device == batch.target.device == known
    assert batch.index.tolist() == rows and batch.source_lengths.tolist() == [2, 3]


class Letters:
    """A tokeniser whose id is a letter and whose words are what spaces separate."""

    unk = 1

    def pieces(self, ids):
        return [chr(i) for i in ids]

    def words(self, ids):
        return list(range(len(ids)))

    def words_of(self, line):
        return list(range(len(line.split())))


def test_a_hand_made_set_is_scored_as_on_paper():
    # two sentences; losses 0.4 over 3 tokens and 1.5 over 5, end marks counted: exp(1.9 / 8)
    first = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], dtype=np.float32)
    second = np.eye(4, 4, dtype=np.float32)[[0, 1, 2, 3, 3]]
    sentences = [
        Sentence(0, [97, 98], [120, 121], first, True, [120, 121], 0.4, first),
        Sentence(1, [97] * 4, [120] * 5, second, False, [120] * 4, 1.5, second),
    ]
    rows = {
        "source": ["a b", "a a a a"],
        "target": ["x y", "x x x x"],
        "alignment": ["0-0 1-1", "0-0 1-1 2-2 3-2"],
    }
    metrics = Metrics([10], 1, {"tokenize": "none"}, None, None, {"samples": 0, "level": 0.95, "seed": 1})
    scored = score(
        sentences,
        rows,
        source_tokenizer=Letters(),
        target_tokenizer=Letters(),
        scorer=metrics,
        search={"beam_size": 2},
        attends=True,
        show=True,
        hypotheses=["x y", "x x x x x"],
    )
    result = scored.result
    assert result["perplexity"] == pytest.approx(1.268, abs=5e-4)
    assert (result["truncated"], result["n"], result["search"]) == (1, 2, {"beam_size": 2})
    assert scored.links[0] == {(0, 0), (1, 1)}
    # predicted: rows t = 0..: links 0-0 1-1 | 0-0 1-1 2-2 3-3: 5 of 6 right, 5 of 6 gold found
    assert result["alignment"]["predicted"]["aer"] == pytest.approx(1 - 10 / 12)
    # input: one row later. First: rows 1, 2 -> 1-0 and (tie: the first) 0-1. Second: 1-0 2-1 3-2 3-3: one right.
    assert result["alignment"]["input"]["precision"] == pytest.approx(1 / 6)
    assert [example.hypothesis for example in scored.examples] == [["x", "y", "</s>"], ["x"] * 5]


def test_sentences_that_may_not_be_shown_reach_no_logger(folder, loaded):
    sentence = Sentence(0, [97], [120], np.ones((2, 1), dtype=np.float32), True, [120], 0.1, None)
    metrics = Metrics([10], 1, {"tokenize": "none"}, None, None, {"samples": 0, "level": 0.95, "seed": 1})
    scored = score(
        [sentence],
        {"source": ["a"], "target": ["x"]},
        source_tokenizer=Letters(),
        target_tokenizer=Letters(),
        scorer=metrics,
        search={},
        attends=True,
        show=False,
        hypotheses=["x"],
    )
    assert scored.examples == [] and scored.result["alignment"] is None


# --- the verb ---------------------------------------------------------------------------------------------


def test_an_evaluation_lies_beside_the_record_and_leaves_it_alone(folder, capsys):
    before = (folder / "result.json").read_bytes()
    assert verb.main([str(folder), "search.beam_size=1", "--device", "cpu"]) == 0
    assert (folder / "result.json").read_bytes() == before
    record = json.loads((folder / "evaluations/search.beam_size_1.json").read_text())
    assert record["test"]["test"]["search"]["beam_size"] == 1
    assert record["overrides"] == ["search.beam_size=1"] and record["command"].startswith("attnlab evaluate")
    assert len((folder / "evaluations/search.beam_size_1/test/hyp.txt").read_text().splitlines()) == 10
    *scores, written, hypotheses = capsys.readouterr().out.splitlines()
    assert all("BLEU" in line for line in scores)
    assert written == f"record: {folder}/evaluations/search.beam_size_1.json"
    assert hypotheses == f"hypotheses: {folder}/evaluations/search.beam_size_1/test/hyp.txt"


def test_metrics_that_see_case_are_warned_about_once_an_evaluation(folder, tmp_path, caplog):
    copy = tmp_path / "run"
    shutil.copytree(folder, copy)
    settings = (copy / "config.yaml").read_text()
    (copy / "config.yaml").write_text(settings.replace("lowercase: false\n", "lowercase: true\n", 1))
    assert attnlab.load(copy, device="cpu").config["data"]["lowercase"] is True
    verb.evaluate(copy, ["data.test=[test,test2]"], device="cpu")
    assert caplog.text.count("data.lowercase=true, but metrics.bleu.lowercase=false") == 1


def test_a_second_evaluation_of_one_name_loses_nothing_of_the_first(folder, capsys):
    first = verb.evaluate(folder, ["search.beam_size=2"], device="cpu")
    path = folder / "evaluations/search.beam_size_2.json"
    before = path.read_bytes()
    verb.evaluate(folder, ["search.beam_size=2"], device="cpu")
    assert path.read_bytes() == before
    second = json.loads((folder / "evaluations/search.beam_size_2-2.json").read_text())
    assert second["test"] == first["test"]
    assert (folder / "evaluations/search.beam_size_2-2/test/hyp.txt").is_file()
    assert (
        verb.main([str(folder), "search.beam_size=1", "--name", "search.beam_size_2", "--device", "cpu"]) == 2
    )
    told = capsys.readouterr().err
    assert "an evaluation of this name" in told and "--name" in told and told.count("\n") == 1
    assert path.read_bytes() == before


def test_an_evaluation_that_fails_leaves_its_name_free(folder, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="in the middle"):
        patch.setattr(
            "attnlab.results.build_evaluation",
            lambda **_: (_ for _ in ()).throw(RuntimeError("in the middle")),
        )
        verb.evaluate(folder, name="halfway", device="cpu")
    assert not (folder / "evaluations/halfway").exists()


def test_another_source_of_text_keeps_what_the_model_was_trained_with(folder):
    """The run closes its sources (`data.source_eos`); an option named by group would take that back."""
    config = attnlab.load(folder, device="cpu").config
    changed = verb.changed(config, ["data=files", "data.dir=x"])
    assert changed["data"]["source_eos"] is True and changed["data"]["dir"] == "x"
    for refused in ("data.source_eos=false", "data.lowercase=true"):
        with pytest.raises(UserError, match="the run was trained with"):
            verb.changed(config, [refused])


def test_files_are_evaluated_with_a_run_that_batches_by_sentences(folder, tmp_path):
    """`data.batch_sentences` ships as null; the demo's runs have a number."""
    from attnlab.data import ToyCorpus

    copy = tmp_path / "run"
    shutil.copytree(folder, copy)
    settings = (copy / "config.yaml").read_text()
    assert "batch_sentences: null\n" in settings and "cache_dir: null\n" in settings
    own = settings.replace("batch_sentences: null", "batch_sentences: 3").replace(
        "cache_dir: null", f"cache_dir: {tmp_path}/cache"
    )
    (copy / "config.yaml").write_text(own)
    ToyCorpus(train_pairs=1, val_pairs=1, test_pairs=4, max_words=5, vocabulary=20).write(tmp_path / "text")
    files = ["data=files", f"data.dir={tmp_path}/text", "data.source=src", "data.target=tgt"]
    record = verb.evaluate(copy, files, device="cpu")
    assert record["test"]["test"]["n"] == 4
    data = record["config"]["data"]
    assert (data["batch_sentences"], data["batch_tokens"]) == (3, 200)
    assert data["cache_dir"] == f"{tmp_path}/cache"
    # and null can be said, with a source of text named or without
    assert verb.evaluate(copy, ["data.batch_sentences=null"], device="cpu")["test"]["test"]["n"] == 10
    assert verb.evaluate(copy, [*files, "data.batch_sentences=null"], device="cpu")["test"]["test"]["n"] == 4
    for wrong in ("data.batch_sentences=0", "data.batch_sentences=many", "data.workers=-1"):
        with pytest.raises(UserError, match=wrong):
            verb.evaluate(copy, [*files, wrong], device="cpu")


def test_help_into_a_closed_pipe_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "attnlab.evaluate", "--help"],
            stdout=writing,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(attnlab.__file__).parents[1])},
            timeout=120,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_same_settings_give_the_same_scores_again(folder):
    again = verb.evaluate(folder, name="again", device="cpu")
    assert again["test"] == json.loads((folder / "result.json").read_text())["test"]


def test_the_step_of_an_evaluation_is_that_of_the_checkpoint(folder, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(folder, copy)
    path = copy / "checkpoints/best.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    torch.save({**checkpoint, "global_step": 4321}, path)
    assert verb.evaluate(copy, ["search.beam_size=1"], device="cpu")["checkpoint"]["step"] == 4321


def test_another_set_and_another_kind_of_score(folder):
    record = verb.evaluate(folder, ["data.test=[test2,test]", "metrics=tokenized_lowercase"], device="cpu")
    assert list(record["test"]) == ["test2", "test"] and record["test"]["test2"]["n"] == 10
    assert "case:lc|eff:no|tok:none" in record["test"]["test"]["bleu"]["signature"]
    assert record["test"]["test"]["search"]["beam_size"] == 3  # the run's own, as it was not changed


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["search.beem_size=1"], "search.beem_size: no such option; search has beam_size"),
        (["model.dropout=0"], "an evaluation can change data, search, metrics"),
        (["decoder=dot"], "an evaluation can change data, search, metrics"),
        (["metrics=nonsense"], "tokenized_lowercase"),
        (["beam"], "no override"),
        (["search.beam_size=many"], "search.beam_size=many: must be a whole number"),
        (["search.replace_unknown=maybe"], "must be true or false"),
        (["search.beam_size=1,2"], "one value an option"),
        (["~search.beam_size"], "one value an option"),
        (["data.test=[]"], "nothing to evaluate"),
        (["data.test=[nope]"], "there is no split nope; there are: train, val, test"),
        (["--name", ".."], "no '.' in front"),  # the run's own test/ would be written over
    ],
)
def test_what_cannot_be_changed_is_refused_in_one_line(folder, capsys, overrides, words):
    assert verb.main([str(folder), *overrides]) == 2
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1


def test_names_from_overrides_stay_apart_from_the_runs_own_folders_and_short():
    assert verb.title(["../x=1"]) == "x_1"
    long = [f"metrics.length_edges=[{','.join(map(str, range(k, 90)))}]" for k in (1, 2)]
    names = [verb.title([one]) for one in long]
    assert len(set(names)) == 2 and all(len(name) < 200 for name in names)


def test_a_run_without_a_record_is_not_evaluated(tmp_path, capsys):
    assert verb.main([str(tmp_path)]) == 2
    assert "no finished run" in capsys.readouterr().err
