"""`attention.override` through the verb, and the sentence statistics and samples of each evaluation."""

import json
import shutil

import numpy as np
import pytest
import torch

import attnlab
from attnlab import bars, evaluating, results, samples, segments
from attnlab import evaluate as verb
from attnlab.altered import variants
from attnlab.attention import OVERRIDES
from attnlab.errors import UserError

TINY = [
    *("data.train_pairs=80", "data.val_pairs=8", "data.test_pairs=12", "data.max_words=8"),
    *("data.vocabulary=20", "data.batch_tokens=200", "tokenizer.min_frequency=1", "encoder.hidden_size=8"),
    *(
        "decoder.hidden_size=8",
        "model.embedding_size=8",
        "optim.lr=0.02",
        "search.beam_size=5",
        "logger=none",
    ),
    *("trainer.max_epochs=1", "trainer.accelerator=cpu", "metrics.bootstrap.samples=0"),
    *("metrics.length_edges=[3,6]", "search.min_length=3"),
]


def trained(top, *more):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(top / "cache"))
        place = top / f"out{len(list(top.iterdir()))}"
        attnlab.train([*TINY, f"out={place}", *more])
    (found,) = place.glob("*/*/seed1")
    return found


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    top = tmp_path_factory.mktemp("override")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(top / "cache"))
        yield top


@pytest.fixture(scope="module")
def run(cache):
    return trained(cache)


@pytest.fixture
def folder(run, tmp_path):
    shutil.copytree(run, tmp_path / "seed1")
    return tmp_path / "seed1"


# --- what lies beside the hypotheses ----------------------------------------------------------------------


def test_sums_of_the_sentences_are_the_scores_of_the_record(run):
    from attnlab import metrics

    record = results.read(run)
    test = record["test"]["test"]
    found = segments.read(run / "test" / "test", n=test["n"])
    assert (found.bleu_signature, found.chrf_signature) == (
        test["bleu"]["signature"],
        test["chrf"]["signature"],
    )
    bleu = metrics.Bleu(**{k: v for k, v in record["config"]["metrics"]["bleu"].items() if k[0] != "_"})
    assert bleu.from_statistics(found.bleu.sum(0)) == test["bleu"]["score"]
    produced, expected = found.bleu[:, :2].sum(0)
    assert produced / expected == test["length_ratio"]
    for kind, table in (("source", "by_source_length"), ("reference", "by_reference_length")):
        lengths = found.lengths(f"{kind}_words")
        for bucket in test[table]:
            inside = (lengths >= bucket["lo"]) & (lengths <= (bucket["hi"] or 10**9))
            assert inside.sum() == bucket["n"]
    for place, credit in enumerate(metrics.CREDITS):
        links, sure, in_sure, in_possible = found.alignment[:, place].sum(0).tolist()
        agreed = test["alignment"][credit]
        assert (links, sure) == (agreed["links"], agreed["sure"])
        assert 1 - (in_sure + in_possible) / (links + sure) == pytest.approx(agreed["aer"])
    assert np.nanmean(found.max_weight) <= 1 and found.entropy.shape == (12,)


def test_pieces_are_counted_without_marks(cache):
    closed = trained(cache, "data.source_eos=true", "tokenizer=bpe", "tokenizer.size=60")
    found = segments.read(closed / "test" / "test")
    config = attnlab.load(closed, device="cpu").config
    from attnlab import build
    from attnlab.data.tokenizer import Tokenizer

    rows = build.build_data(config, tokenizers=closed / "tokenizer").rows("test")
    for side, column in (("source", "source"), ("reference", "target")):
        tokenizer = Tokenizer.load(closed / "tokenizer" / f"{column}.json")
        encoded = tokenizer.encode(rows[column][:])
        assert found.lengths(f"{side}_pieces").tolist() == [len(ids) for ids in encoded]
        assert found.lengths(f"{side}_words").tolist() == [len(line.split()) for line in rows[column][:]]
    assert (found.source_pieces > found.source_words).any()
    sample = samples.read(closed / "test" / "test")[0]
    assert sample["source_pieces"][-1] == "</s>"
    assert np.shape(sample["weights"]) == (len(sample["pieces"]), len(sample["source_pieces"]))


def test_samples_are_those_of_the_set_and_only_where_they_may_be_shown(run, folder):
    found = samples.read(run / "test" / "test")
    hypotheses = (run / "test/test/hyp.txt").read_text(encoding="utf-8").split("\n")
    assert 0 < len(found) <= samples.COUNT
    for sample in found:
        assert sample["hypothesis"] == hypotheses[sample["index"]]
        assert np.shape(sample["weights"]) == (len(sample["pieces"]), len(sample["source_pieces"]))
        assert sample["gold"]
    record = verb.evaluate(folder, ["data.show_samples=false"], device="cpu", name="hidden")
    assert samples.read(folder / "evaluations/hidden/test") is None
    assert segments.read(folder / "evaluations/hidden/test", n=record["test"]["test"]["n"]) is not None
    shown = verb.evaluate(folder, ["search=greedy"], device="cpu", name="greedy")
    assert [s["index"] for s in samples.read(folder / "evaluations/greedy/test")] == [
        s["index"] for s in found
    ]
    assert shown["test"]["test"]["search"]["beam_size"] == 1


def test_sharpness_by_length_counts_every_sentence(run):
    attention = results.read(run)["test"]["test"]["attention"]
    table = attention["by_source_length"]
    assert [(b["lo"], b["hi"]) for b in table] == [(0, 3), (4, 6), (7, None)]
    assert sum(bucket["n"] for bucket in table) == 12
    filled = [bucket for bucket in table if bucket["n"]]
    for name in ("max_weight", "diagonal_distance"):
        values = [bucket[name] for bucket in filled]
        assert min(values) <= attention[name] <= max(values)
    masses = [bucket["gold_mass"] for bucket in filled]
    assert min(masses) <= attention["references"]["gold_mass"] <= max(masses)


def test_a_run_evaluated_twice_writes_the_same_bytes(folder):
    for name in ("one", "two"):
        verb.evaluate(folder, name=name, device="cpu")
    for file in ("segments.npz", "samples.json", "hyp.txt"):
        first, second, own = (
            (place / file).read_bytes()
            for place in (
                folder / "evaluations/one/test",
                folder / "evaluations/two/test",
                folder / "test/test",
            )
        )
        assert first == second == own


# --- tampering --------------------------------------------------------------------------------------------


def test_all_overrides_in_one_command_load_the_model_once(folder, capsys, monkeypatch):
    from attnlab import loading

    loads = []
    load = loading.load
    monkeypatch.setattr(loading, "load", lambda *given: loads.append(given) or load(*given))
    before = (folder / "result.json").read_bytes()
    names = [name for name in OVERRIDES if name != "none"]
    assert verb.main([str(folder), f"attention.override={','.join(names)}", "--device", "cpu"]) == 0
    assert len(loads) == 1 and (folder / "result.json").read_bytes() == before
    records = results.evaluations(folder)
    assert {r["attention_override"]: name for name, r in records.items()} == {
        name: f"attention.override_{name}" for name in names
    }
    own = results.read(folder)["test"]["test"]
    told = capsys.readouterr().out
    for name, record in ((r["attention_override"], r) for r in records.values()):
        assert record["overrides"] == [f"attention.override={name}"]
        test = record["test"]["test"]
        assert f"test, attention.override={name}: BLEU {test['bleu']['score']:.2f}" in told
        assert test["perplexity"] != own["perplexity"]  # the references were read with these weights, too
        found = segments.read(folder / f"evaluations/attention.override_{name}/test", n=12)
        assert found.bleu_signature == own["bleu"]["signature"]
    sharp = records["attention.override_only_max"]["test"]["test"]["attention"]
    assert sharp["max_weight"] == pytest.approx(1) and sharp["entropy"] == pytest.approx(0, abs=1e-6)
    flat = records["attention.override_uniform"]["test"]["test"]["attention"]
    assert flat["entropy_normalised"] == pytest.approx(1, abs=1e-5)


def test_the_identity_is_the_run_itself(folder):
    record = verb.evaluate(folder, ["attention.override=none"], device="cpu")
    assert record["attention_override"] == "none"
    assert record["test"] == results.read(folder)["test"]
    place = folder / "evaluations/attention.override_none/test"
    for file in ("hyp.txt", "align.txt", "segments.npz", "samples.json"):
        assert (place / file).read_bytes() == (folder / "test/test" / file).read_bytes()
    assert "attention_override" not in verb.evaluate(folder, name="plain", device="cpu")


def test_a_tampered_model_is_itself_again_afterwards(folder, monkeypatch):
    from attnlab import loading

    model = loading.load(folder, "cpu")
    monkeypatch.setattr(loading, "load", lambda *given: model)
    verb.evaluate(folder, ["attention.override=permute"], device="cpu")
    assert model.model.decoder.attention.override is None
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="halfway"):
        patch.setattr(evaluating, "_scored", lambda *_: (_ for _ in ()).throw(RuntimeError("halfway")))
        verb.evaluate(folder, ["attention.override=permute"], device="cpu")
    assert model.model.decoder.attention.override is None


def test_an_override_may_meet_other_data_and_search(folder):
    given = ["data.test=[test2]", "attention.override=only_max,uniform", "search.beam_size=1"]
    found = list(evaluating.placed(folder, given, name="both", device="cpu", command=None))
    assert [place.name for _, place in found] == ["both-only_max", "both-uniform"]
    for record, _ in found:
        assert list(record["test"]) == ["test2"] and record["test"]["test2"]["search"]["beam_size"] == 1
    assert found[0][0]["overrides"] == [given[0], "attention.override=only_max", given[2]]


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            ["attention.override=unifrom"],
            "there are: uniform, permute, only_max, zero_max, none; did you mean",
        ),
        (["attention.override=uniform,3"], "attention.override=3: there are"),
        (["attention.override=null"], "attention.override=None: there are"),
        (["attention.override=range(1,3)"], "only attention.override=NAME"),
        (["attention.overide=uniform"], "only attention.override=NAME"),
        (["attention=uniform"], "only attention.override=NAME"),
        (["~attention.override"], "only attention.override=NAME"),
        (["attention.override=uniform", "attention.override=permute"], "given twice"),
        (["scorer=dot"], "can change data, search, metrics, attention.override"),
        (["search.beam_size=1,2", "attention.override=uniform"], "one value an option"),
    ],
)
def test_what_is_no_override_is_refused_in_one_line_before_anything_is_written(run, capsys, overrides, words):
    assert verb.main([str(run), *overrides]) == 2
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1
    assert not (run / "evaluations").exists()


def test_a_model_without_attention_cannot_be_tampered_with(cache, capsys):
    blind = trained(cache, "decoder=fixed_vector")
    assert verb.main([str(blind), "attention.override=uniform", "--device", "cpu"]) == 2
    told = capsys.readouterr().err
    assert "no attention to tamper with" in told and told.count("\n") == 1
    found = segments.read(blind / "test/test")
    assert found.entropy is found.max_weight is found.alignment is None and found.chrf is not None
    assert all(sample["weights"] is None for sample in samples.read(blind / "test/test"))


def test_one_record_is_not_two(run):
    with pytest.raises(UserError, match="one at a time"):
        verb.evaluate(run, ["attention.override=uniform,permute"])
    assert [v.tampered for v in variants(["attention.override=uniform,permute,uniform"])] == [
        "uniform",
        "permute",
    ]
    assert variants(["search.beam_size=1"])[0].tampered is None


def test_a_report_reads_runs_with_tampered_evaluations_and_runs_without_segments(folder, tmp_path):
    from attnlab.report.__main__ import main

    verb.evaluate(folder, ["attention.override=uniform"], device="cpu")
    assert main([str(folder), "--out", str(tmp_path / "with")]) == 0
    for file in folder.rglob("segments.npz"):
        file.unlink()
    assert main([str(folder), "--out", str(tmp_path / "without")]) == 0


# --- the bar ----------------------------------------------------------------------------------------------


def test_a_bar_appears_only_on_a_terminal_and_only_when_it_takes_long(monkeypatch):
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def shown(stream, seconds, wanted=True):
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setattr(bars, "AFTER", seconds)
        with bars.bar("test, [x]", 3, wanted) as tell:
            for _ in range(3):
                tell(1)
        return stream.getvalue()

    assert "test, [x]" in shown(Terminal(), -1.0)
    assert shown(Terminal(), 1e9) == shown(io.StringIO(), -1.0) == shown(Terminal(), -1.0, wanted=False) == ""


def test_help_has_an_example_of_an_override(capsys):
    with pytest.raises(SystemExit):
        verb.main(["--help"])
    told = capsys.readouterr().out
    assert "attention.override=uniform,permute,only_max,zero_max" in told
    assert all(f"  {name} " in told for name in OVERRIDES)


def test_a_record_of_before_is_read_as_it_is(run, tmp_path):
    record = json.loads((run / "result.json").read_text())
    del record["test"]["test"]["attention"]["by_source_length"], record["test"]["test"]["alignment"]["search"]
    (tmp_path / "result.json").write_text(json.dumps(record))
    assert results.read(tmp_path) == record
    assert torch.is_inference_mode_enabled() is False
