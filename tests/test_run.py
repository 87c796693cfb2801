"""One cell, end to end, on the generated language: what it leaves, and what it leaves when it fails."""

import json
import logging
import math
import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from sacrebleu.metrics import BLEU
from safetensors.numpy import load_file

import attnlab
from attnlab import build, results, run
from attnlab.errors import UserError
from attnlab.loading import load
from attnlab.sweep import identity

TINY = [
    *(
        "data.train_pairs=80",
        "data.val_pairs=8",
        "data.test_pairs=12",
        "data.max_words=8",
        "data.vocabulary=20",
    ),
    *("data.batch_tokens=200", "tokenizer.min_frequency=1", "encoder.hidden_size=8", "decoder.hidden_size=8"),
    *("model.embedding_size=8", "optim.lr=0.02", "search.beam_size=2"),
    *("trainer.max_epochs=2", "trainer.accelerator=cpu", "trainer.log_every_n_steps=2"),
    *("metrics.bootstrap.samples=5", "metrics.length_edges=[4,6]"),
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def train(out, *overrides):
    return attnlab.train([*TINY, f"out={out}", *overrides])


def only(out):
    (folder,) = Path(out).glob("*/*/seed*")
    return folder


@pytest.fixture(scope="module")
def trained(cache, tmp_path_factory):
    out = tmp_path_factory.mktemp("trained")
    record = train(out, "seed=3")
    return record, only(out)


def test_the_record_is_complete_and_is_what_was_written(trained):
    record, folder = trained
    results.check(record)
    assert results.read(folder) == record
    assert record["status"] == "done" and record["seed"] == 3
    assert record["cell"] == {
        "encoder": "bilstm",
        "scorer": "additive",
        "decoder": "post_combine",
        "window": "global",
    }
    assert record["cell_id"] == folder.parent.name
    assert record["overrides"][-1] == "seed=3" and record["command"].startswith("attnlab train")
    assert record["config"]["optim"]["lr"] == 0.02
    assert record["train"]["best_step"] == record["val"]["step"] <= record["train"]["updates"]
    assert record["train"]["device_s"] == record["train"]["wall_s"] > 0
    assert record["machine"]["device"] == "cpu"  # what was asked for, whatever the machine has
    assert record["parameters"]["attention"] > 0
    assert record["val"]["signature"] == record["test"]["test"]["bleu"]["signature"]


def test_the_folder_holds_what_the_architecture_says(trained):
    _, folder = trained
    expected = {
        *("result.json", "config.yaml", "metrics.jsonl", "train.log", "csv/metrics.csv"),
        *("checkpoints/best.ckpt", "checkpoints/last.ckpt", "tokenizer/source.json", "tokenizer/target.json"),
        *("test/test/hyp.txt", "test/test/align.txt", "test/test/attention.safetensors"),
        *("test/test/segments.npz", "test/test/samples.json"),
    }
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert expected <= found
    assert found - expected <= {".lock"}
    # Whoever may read one file beside the record may read the others.
    assert len({path.stat().st_mode for path in (folder / "test" / "test").iterdir()}) == 1


def test_the_score_is_that_of_the_written_hypotheses(trained):
    record, folder = trained
    rows = read_test(record)
    hypotheses = (folder / "test/test/hyp.txt").read_text().split("\n")[:-1]
    assert len(hypotheses) == 12
    expected = BLEU().corpus_score(hypotheses, [rows["target"][:]]).score
    assert record["test"]["test"]["bleu"]["score"] == pytest.approx(expected)


def read_test(record):
    from attnlab import build

    return build.build_data(record["config"]).rows("test")


def test_perplexity_and_links_are_those_of_the_references_read_one_by_one(trained):
    record, folder = trained
    loaded, rows = attnlab.load(folder, device="cpu"), read_test(record)
    loss = tokens = 0
    for source, target in zip(rows["source"][:], rows["target"][:], strict=True):
        (s,), (t,) = loaded.source_tokenizer.encode([source]), loaded.target_tokenizer.encode([target])
        target_ids = torch.tensor([[*t, loaded.target_tokenizer.end]])
        with torch.no_grad():
            decoded = loaded.model(torch.tensor([s]), torch.tensor([len(s)]), target_ids)
            log_p = loaded.model.logits(decoded.readouts)[0].double().log_softmax(-1)
        loss -= float(log_p.gather(1, target_ids[0, :, None]).sum())
        tokens += target_ids.shape[1]
    assert record["test"]["test"]["perplexity"] == pytest.approx(math.exp(loss / tokens), rel=1e-5)

    from attnlab.metrics import agreement, parse

    gold = [parse(line) for line in rows["alignment"][:]]
    for credit in ("predicted", "input"):
        links = loaded.align(rows["source"][:], rows["target"][:], credit)
        assert record["test"]["test"]["alignment"][credit] == agreement(links, gold)


def test_the_attention_of_each_sentence_is_kept_with_its_pieces(trained):
    from safetensors import safe_open

    record, folder = trained
    path = folder / "test/test/attention.safetensors"
    matrices, hypotheses = load_file(path), (folder / "test/test/hyp.txt").read_text().split("\n")
    assert sorted(matrices) == [f"{n:05d}" for n in range(12)]
    with safe_open(path, "numpy") as file:
        pieces = {key: json.loads(text) for key, text in file.metadata().items()}
    for n, source in enumerate(read_test(record)["source"][:]):
        key = f"{n:05d}"
        known = [w == p or p == "<unk>" for w, p in zip(source.split(), pieces[key][0], strict=True)]
        assert all(known)  # words are pieces: the generated language has no punctuation
        rows, columns = matrices[key].shape
        assert columns == len(pieces[key][0]) and rows - len(pieces[key][1]) in (0, 1)
        assert len(pieces[key][1]) == len(hypotheses[n].split())
        np.testing.assert_allclose(matrices[key].astype(float).sum(1), 1, atol=5e-3)


def test_the_links_of_hypotheses_are_the_arg_max_of_the_kept_matrices(trained):
    _, folder = trained
    matrices = load_file(folder / "test/test/attention.safetensors")
    lines = (folder / "test/test/align.txt").read_text().split("\n")[:-1]
    hypotheses = (folder / "test/test/hyp.txt").read_text().split("\n")
    for n, line in enumerate(lines):
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert [j for _, j in links] == list(range(len(hypotheses[n].split())))
        for i, j in links:  # words are pieces here; float16 may hide a tie
            assert matrices[f"{n:05d}"][j, i] == matrices[f"{n:05d}"][j].max()


def test_every_validation_and_the_test_are_in_the_log_of_metrics(trained):
    record, folder = trained
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert sum("val/loss" in row for row in rows) == 2
    (last,) = [row for row in rows if "test/test/bleu" in row]
    assert last["test/test/bleu"] == record["test"]["test"]["bleu"]["score"] and last is rows[-1]


def test_the_log_says_what_is_trained_and_over_how_many_sentences_it_is_validated(trained):
    log = (trained[1] / "train.log").read_text()
    for words in ("80 pairs", "val/bleu: 8 of 8 sentences, beam 1", "scorer additive", "test/test/bleu"):
        assert words in log


def test_the_same_seed_gives_the_same_run_and_another_one_does_not(trained, tmp_path):
    record, _ = trained
    again, other = train(tmp_path / "a", "seed=3"), train(tmp_path / "b", "seed=4")
    assert again["test"] == record["test"] and again["val"] == record["val"]
    assert other["val"]["loss"] != record["val"]["loss"]
    assert other["cell_id"] == record["cell_id"]


def test_without_attention_nothing_is_aligned(cache, tmp_path):
    record = train(tmp_path, "decoder=fixed_vector", "trainer.max_epochs=1", "scorer.units=4")
    test = record["test"]["test"]
    assert (test["alignment"], test["attention"]) == (None, None)
    assert record["cell"]["scorer"] is None and record["parameters"]["attention"] == 0


def test_bf16_and_a_wall_clock_limit_are_lightnings_own_options(cache, tmp_path):
    record = train(
        tmp_path,
        "trainer.precision=bf16-mixed",
        "trainer.max_time='00:00:00:01'",
        "trainer.max_epochs=100000",
    )
    assert 0 < record["train"]["best_step"] <= record["train"]["updates"]


def test_the_monitor_can_be_the_loss_and_attention_files_can_be_left_out(cache, tmp_path):
    options = (
        "callbacks.monitor=val/loss",
        "callbacks.validation_sentences=0",
        "callbacks.attention_matrices=0",
    )
    record = train(tmp_path, *options, "logger=none", "trainer.max_epochs=1")
    assert record["val"]["bleu"] is None and record["val"]["loss"] > 0
    assert not (only(tmp_path) / "test/test/attention.safetensors").exists()


# --- runs that come to nothing ----------------------------------------------------------------------------


def failed(out):
    folder = only(out)
    assert not (folder / "result.json").exists()
    return json.loads((folder / "failed.json").read_text())


def test_a_run_that_fails_leaves_the_reason_and_the_cost(cache, tmp_path, monkeypatch, caplog):
    def broken(*args, **kwargs):
        raise RuntimeError("no memory left")

    monkeypatch.setattr("attnlab.evaluation.decode", broken)
    with pytest.raises(RuntimeError, match="no memory left"):
        train(tmp_path, "trainer.max_epochs=1")
    record = failed(tmp_path)
    assert record["error"]["message"] == "no memory left"
    assert record["error"]["traceback"] == "RuntimeError: no memory left"
    assert record["train"]["wall_s"] > 0
    assert "no memory left" in (only(tmp_path) / "train.log").read_text()


def test_a_rerun_that_fails_takes_the_old_record_away(cache, tmp_path, monkeypatch):
    train(tmp_path, "trainer.max_epochs=1")
    further = only(tmp_path) / "evaluations" / "again.json"  # of the checkpoint that goes
    further.parent.mkdir()
    further.touch()
    monkeypatch.setattr("attnlab.evaluation.decode", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(tmp_path, "trainer.max_epochs=1", "rerun=true")
    assert failed(tmp_path)["error"]["type"] == "ZeroDivisionError"
    assert not further.exists()


@pytest.fixture
def handlers():
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_second_epoch_leaves_no_score(cache, tmp_path, monkeypatch, handlers, number):
    from attnlab.training import TranslationModule

    step = TranslationModule.training_step

    def interrupted(self, batch, batch_idx):
        if self.current_epoch == 1:
            signal.raise_signal(number)
        return step(self, batch, batch_idx)

    monkeypatch.setattr(TranslationModule, "training_step", interrupted)
    monkeypatch.setattr(
        "attnlab.evaluation.decode", lambda *a, **k: pytest.fail("a half-trained model was tested")
    )
    with pytest.raises((SystemExit, KeyboardInterrupt)) as ended:
        train(tmp_path, "trainer.max_epochs=5")
    # `SystemExit(None)`, which Lightning raises, would be a status of 0: a success to whoever started us.
    assert getattr(ended.value, "code", 130) == 128 + number
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # the next Ctrl-C counts
    assert failed(tmp_path)["error"]["type"] == "Stopped"
    assert not (only(tmp_path) / "test").exists()


def test_a_signal_while_the_test_sets_are_decoded_leaves_no_score(cache, tmp_path, monkeypatch, handlers):
    monkeypatch.setattr("attnlab.evaluation.decode", lambda *a, **k: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(SystemExit) as ended:
        train(tmp_path, "trainer.max_epochs=1")
    assert ended.value.code == 128 + signal.SIGTERM
    assert failed(tmp_path)["error"]["type"] == "Stopped"


def test_the_loggers_are_closed_as_failed_when_the_run_fails(cache, tmp_path, monkeypatch):
    closed = []

    class Watching:
        """A logger that notes how it was closed."""

        def close(self, code):
            closed.append(code)

    def broken(*args):
        raise RuntimeError

    monkeypatch.setattr("attnlab.build.rehearse", lambda config: None)
    monkeypatch.setattr("attnlab.build.build_loggers", lambda *a: [Watching()])
    monkeypatch.setattr("attnlab.build.build_trainer", broken)
    with pytest.raises(RuntimeError):
        train(tmp_path)
    assert closed == [1]


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("callbacks.validation_sentences=0", "callbacks.monitor=val/bleu"),
        ("callbacks.monitor=val/x", "val/x"),
        ("trainer.precision=12-mixed", "trainer: "),
        ("trainer.max_time=ten", "trainer: "),
        ("trainer.check_val_every_n_epoch=9", "no validation took place"),
        ("trainer.val_check_interval=999", "trainer.val_check_interval=999"),
    ],
)
def test_settings_that_cannot_work_are_told_in_one_line(cache, tmp_path, override, words):
    with pytest.raises(UserError) as told:
        train(tmp_path, override, "trainer.max_epochs=1")
    assert words in str(told.value) and "\n" not in str(told.value)


def test_fewer_processes_than_devices_are_refused():
    config = {"trainer": {"devices": 2, "num_nodes": 1}}
    with pytest.raises(UserError, match=r"trainer\.devices=2 .* sees 1 process"):
        run._check_world(config, SimpleNamespace(world_size=1))
    run._check_world(config, SimpleNamespace(world_size=2))
    run._check_world({"trainer": {"devices": "auto"}}, SimpleNamespace(world_size=1))


def test_the_threads_of_a_cell_are_its_option(cache, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("attnlab.build.rehearse", lambda config: None)
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr("attnlab.build.build_data", lambda config: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(tmp_path, "trainer.threads=1")
    assert asked == [1]


def test_subnormal_numbers_are_0_before_the_first_part_is_made_and_when_a_run_is_loaded(trained, monkeypatch):
    _, folder = trained
    happened = []
    monkeypatch.setattr("attnlab.threads.set_up", lambda *given: happened.append("set up"))
    monkeypatch.setattr("attnlab.build.build_metrics", lambda *given: happened.append("part") or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build.rehearse(identity.plain(OmegaConf.load(folder / "config.yaml")))
    monkeypatch.setattr("attnlab.build.build_data", lambda *given: happened.append("part") or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run._run({"trainer": {}}, folder, SimpleNamespace(phase=lambda *given: None))
    monkeypatch.setattr("attnlab.build.build_model", lambda *given: happened.append("part") or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        load(folder)
    assert happened == ["set up", "part"] * 3


def test_logging_is_left_as_it_was(trained):
    ours = logging.getLogger("attnlab")
    assert not [h for h in ours.handlers if isinstance(h, logging.FileHandler)]
