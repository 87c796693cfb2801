"""`attnlab align`: links of a text and its translation, by force and by search, in one direction and in two."""

import gzip
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

import attnlab
from attnlab import bars, build, metrics
from attnlab.align import __main__ as verb
from attnlab.align import linking
from attnlab.align.files import read_text
from attnlab.data.recipes import BPE, Words
from attnlab.search.ready import Ready

TINY = [
    *(
        "data.train_pairs=80",
        "data.val_pairs=8",
        "data.test_pairs=12",
        "data.max_words=8",
        "data.vocabulary=20",
    ),
    *("data.batch_tokens=200", "tokenizer.min_frequency=1", "encoder.hidden_size=8", "decoder.hidden_size=8"),
    *(
        "model.embedding_size=8",
        "optim.lr=0.02",
        "search.beam_size=2",
        "search.min_length=3",
    ),  # or it says nothing
    *("logger=none", "data.source_eos=true"),
    *("trainer.max_epochs=1", "trainer.accelerator=cpu", "metrics.bootstrap.samples=0"),
]


@pytest.fixture(scope="module")
def top(tmp_path_factory):
    return tmp_path_factory.mktemp("align")


@pytest.fixture(scope="module")
def folder(top):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(top / "cache"))
        attnlab.train([*TINY, f"out={top}/out"])
    (found,) = Path(top / "out").glob("*/*/seed1")
    return found


@pytest.fixture(scope="module")
def loaded(folder):
    return attnlab.load(folder, device="cpu")


@pytest.fixture(scope="module")
def opposite(folder, loaded, top):
    """The same model under the name of one that translates the other way."""
    there = shutil.copytree(folder, top / "opposite" / "seed1")
    text = (there / "config.yaml").read_text()
    swapped = text.replace("  source: src\n", "  source: X\n").replace("  target: tgt\n", "  target: src\n")
    assert swapped.count("  source: X\n") == swapped.count("  target: src\n") == 1
    (there / "config.yaml").write_text(swapped.replace("  source: X\n", "  source: tgt\n"))
    return there


@pytest.fixture(scope="module")
def rows(loaded):
    found = build.build_data(loaded.config).rows("test")
    return {name: list(found[name][:]) for name in ("source", "target", "alignment")}


@pytest.fixture
def files(rows, tmp_path):
    """The run's own test set as three files."""
    paths = {}
    for name, lines in rows.items():
        paths[name] = tmp_path / name
        paths[name].write_text("".join(f"{line}\n" for line in lines))
    return paths


@pytest.fixture
def align(capsys, tmp_path):
    """The verb into `out`: the status, the record, the lines of links, what was printed and complained of."""

    def run(*arguments, out="out"):
        status = verb.main([*map(str, arguments), "--out", str(tmp_path / out), "--device", "cpu"])
        printed, complained = capsys.readouterr()
        if status:
            return status, None, None, printed, complained
        record = json.loads((tmp_path / out / "alignment.json").read_text())
        lines = (tmp_path / out / "align.txt").read_text().split("\n")
        assert lines.pop() == ""
        return status, record, lines, printed, complained

    return run


def pharaoh(links):
    return [metrics.format_links(each) for each in links]


def test_the_test_set_gets_the_numbers_of_the_runs_own_record(folder, files, align):
    _, record, lines, printed, complained = align(
        folder, files["source"], files["target"], "--gold", files["alignment"]
    )
    own = json.loads((folder / "result.json").read_text())
    for credit, expected in own["test"]["test"]["alignment"].items():
        if credit in metrics.CREDITS:
            there = record["alignment"][credit]
            assert {name: there[name] for name in expected} == pytest.approx(expected)
            assert there["counts"][:2] == [expected["links"], expected["sure"]]
    references = own["test"]["test"]["attention"]["references"]
    for name in ("entropy", "gold_mass", "diagonal_distance", "words"):
        assert record["attention"][name] == pytest.approx(references[name], abs=1e-6)
    assert sum(bucket["n"] for bucket in record["attention"]["by_source_length"]) == 12 == len(lines)
    assert [record[name] for name in ("cell_id", "seed", "by")] == [own["cell_id"], 1, "forced"]
    assert record["gold"]["sha256"] == hashlib.sha256(files["alignment"].read_bytes()).hexdigest()
    assert record["source"]["lines"] == 12 and record["checkpoint"]["step"] == own["train"]["best_step"]
    aer = record["alignment"]["input"]["aer"]
    assert f"{100 * aer:.1f}" in next(line for line in printed.split("\n") if line.startswith("input"))
    assert complained == ""


@pytest.mark.parametrize("credit", metrics.CREDITS)
def test_the_links_of_the_chosen_credit_are_written(folder, loaded, files, rows, align, credit, monkeypatch):
    monkeypatch.setattr(linking, "CHUNK", 5)
    _, record, lines, printed, _ = align(folder, files["source"], files["target"], "--credit", credit)
    assert lines == pharaoh(loaded.align(rows["source"], rows["target"], credit))
    assert record["credit"] == credit and record["alignment"] is None and record["gold"] is None
    assert f"{credit}*" in printed and "AER" not in printed


def test_gold_links_count_the_same_however_they_are_written(folder, files, rows, align, tmp_path):
    gold = [metrics.parse(line).sure for line in rows["alignment"]]
    forms = {
        "one": ("\n".join(" ".join(f"{i + 1}-{j + 1}" for i, j in g) for g in gold), ["--one-based"]),
        "turned": ("\n".join(pharaoh(metrics.transpose(g) for g in gold)), ["--gold-reversed"]),
        "naacl": ("\n".join(f"{n} {i + 1} {j + 1}" for n, g in enumerate(gold, 1) for i, j in g), []),
    }
    wanted = align(folder, files["source"], files["target"], "--gold", files["alignment"])[1]
    for name, (text, options) in forms.items():
        path = tmp_path / f"{name}.gz"
        path.write_bytes(gzip.compress(f"{text}\n".encode()))
        found = align(folder, files["source"], files["target"], "--gold", path, *options, out=name)[1]
        assert found["alignment"] == wanted["alignment"], name
        assert found["attention"] == wanted["attention"], name
    assert found["gold"]["format"] == "naacl" and found["gold"]["one_based"] is True


def test_threshold_links_are_those_of_the_written_matrices(folder, files, rows, align, tmp_path):
    path = tmp_path / "more" / "weights.safetensors"
    _, record, lines, _, _ = align(
        folder, files["source"], files["target"], "--threshold", "0.25", "--matrices", path
    )
    assert record["links"] == {"kind": "threshold", "threshold": 0.25}
    with safe_open(path, "numpy") as stored:
        words = stored.metadata()
        assert words.pop("credit") == "predicted" and len(words) == 12
        for n, line in enumerate(lines):
            matrix = stored.get_tensor(f"{n:05d}")
            assert json.loads(words[f"{n:05d}"]) == [rows["source"][n].split(), rows["target"][n].split()]
            assert matrix.shape == (len(rows["target"][n].split()), len(rows["source"][n].split()))
            assert metrics.parse(line).sure == metrics.threshold_links(matrix, 0.25)


@pytest.mark.parametrize("how", [None, "intersection", "union"])
def test_two_directions_are_joined_word_by_word(folder, opposite, loaded, files, rows, align, tmp_path, how):
    path = tmp_path / "weights.safetensors"
    chosen = [] if how is None else ["--symmetrise", how]
    _, record, lines, printed, _ = align(
        folder, files["source"], files["target"], "--reverse", opposite, *chosen, "--matrices", path
    )
    assert f"both directions joined by {how or 'grow-diag-final-and'}\n" in printed
    forward = loaded.align(rows["source"], rows["target"])
    backward = loaded.align(rows["target"], rows["source"])
    joined = [
        metrics.symmetrise(f, metrics.transpose(b), how or "grow-diag-final-and")
        for f, b in zip(forward, backward, strict=True)
    ]
    assert lines == pharaoh(joined)
    assert record["reverse"]["symmetrise"] == (how or "grow-diag-final-and")
    assert record["reverse"]["run"] == str(opposite)
    with safe_open(path, "numpy") as stored:
        back = stored.get_tensor("00003.reverse")
        assert back.shape == stored.get_tensor("00003").shape
    assert metrics.transpose(metrics.arg_max_links(back.T)) == metrics.transpose(backward[3])


def test_search_links_the_hypotheses_and_scores_those_that_equal_the_target(
    folder, loaded, files, rows, align, tmp_path
):
    hypotheses = loaded.translate(rows["source"])
    # every second target is what the model says itself; the gold links are the model's own, for all
    targets = [h if n % 2 else t for n, (h, t) in enumerate(zip(hypotheses, rows["target"], strict=True))]
    same = [h.split() == t.split() for h, t in zip(hypotheses, targets, strict=True)]
    assert 6 <= sum(same) < 12
    files["target"].write_text("".join(f"{line}\n" for line in targets))
    own = loaded.align(rows["source"], targets)
    files["alignment"].write_text("".join(f"{line}\n" for line in pharaoh(own)))
    _, record, lines, printed, _ = align(
        folder, files["source"], files["target"], "--gold", files["alignment"], "--by", "search"
    )
    assert (tmp_path / "out" / "hyp.txt").read_text() == "".join(f"{line}\n" for line in hypotheses)
    assert lines == pharaoh(loaded.align(rows["source"], hypotheses))
    predicted = record["alignment"]["predicted"]
    assert (predicted["n"], predicted["aer"]) == (sum(same), 0)
    assert f"scored: {sum(same)} of 12 sentences" in printed


def test_blank_lines_keep_their_place(folder, files, rows, align, tmp_path):
    source, target = [rows["source"][0], "", " ", rows["source"][1]], [rows["target"][0], "", "x y", ""]
    files["source"].write_text("\n".join(source) + "\n")
    files["target"].write_text("\n".join(target) + "\n")
    files["alignment"].write_text("0-0\n\n\n\n")
    for by in ("forced", "search"):
        status, record, lines, _, _ = align(
            folder, files["source"], files["target"], "--gold", files["alignment"], "--by", by,
            "--matrices", tmp_path / "w.safetensors", out=by,
        )  # fmt: skip
        assert status == 0 and len(lines) == 4 and lines[0] and lines[1] == lines[2] == ""
        assert bool(lines[3]) == (by == "search")  # there the line has a hypothesis
        assert record["alignment"]["predicted"]["n"] == (4 if by == "forced" else 1)


@pytest.mark.parametrize("recipe", [Words(min_frequency=1), BPE(size=60)])
def test_lower_casing_keeps_the_places_of_words(recipe):
    lines = ["DIE Straße , \u0130stanbul und ΣΑΣ .", "Die STRASSE in \u0130\u0130 , Ja !"]
    tokenizer = recipe.train(lines, lowercase=True)
    for line in lines:
        words = tokenizer.words_of(line)
        assert words == sorted(words) and set(words) == set(range(len(line.split())))
        assert len(words) == len(tokenizer.encode([line])[0])


def test_a_run_that_lower_cases_equals_a_target_in_capitals(loaded, monkeypatch):
    from attnlab.align.record import comparable

    assert comparable(loaded, ["a b", "a b"], ["A b", "a  b"]) == [False, True]
    monkeypatch.setitem(loaded.config["data"], "lowercase", True)
    assert comparable(loaded, ["a b", "a c"], ["A b", "a b"]) == [True, False]


def test_words_without_a_piece_have_no_weight():
    assert linking._filled(np.ones((1, 2)), (2, 3)).tolist() == [[1, 1, 0], [0, 0, 0]]
    assert linking._filled(np.ones((1, 2)), (1, 2)).tolist() == [[1, 1]]


def test_without_out_each_call_has_a_place_of_its_own_in_the_run(opposite, files, capsys, tmp_path):
    (opposite / "result.json").rename(tmp_path / "result.json")  # a run that has not finished
    try:
        for name in ("target", "target-2"):
            assert verb.main([str(opposite), str(files["source"]), str(files["target"])]) == 0
            record = json.loads((opposite / "alignments" / name / "alignment.json").read_text())
            assert record["cell_id"] is None and record["seed"] == 1
            assert f"written: {opposite}/alignments/{name}/align.txt" in capsys.readouterr().out
    finally:
        (tmp_path / "result.json").rename(opposite / "result.json")


def test_progress_is_shown_on_a_terminal_only(folder, files, align, monkeypatch):
    assert align(folder, files["source"], files["target"])[4] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(bars, "AFTER", 0.0)
    assert "aligning" in align(folder, files["source"], files["target"])[4]


def test_text_of_another_kind_is_warned_about(folder, files, align):
    files["target"].write_text("Zzz Qqq\n" * 12)
    _, record, _, _, complained = align(folder, files["source"], files["target"])
    assert record["target"]["unknown"] == 1 and record["source"]["unknown"] < 0.2
    assert f"{files['target']}: 100% of the pieces are unknown" in complained and complained.count("\n") == 1


def test_mistakes_are_one_line_and_leave_nothing(folder, opposite, files, align, tmp_path):
    source, target, gold = files["source"], files["target"], files["alignment"]
    for name, text in (("short", "a\n"), ("empty", ""), ("beyond", "99-0\n" * 12), ("bytes", None)):
        (tmp_path / name).write_bytes(b"\xff\n" * 12 if text is None else text.encode())
    short, empty, beyond, wrong = (tmp_path / name for name in ("short", "empty", "beyond", "bytes"))
    bare = shutil.copytree(folder, tmp_path / "bare", ignore=shutil.ignore_patterns("best.ckpt"))
    for arguments, told in (
        ([tmp_path, source, target], "no run is here"),
        ([bare, source, target], "best.ckpt is missing"),
        ([folder, tmp_path / "absent", target], "absent: cannot be read (No such file"),
        ([folder, source, tmp_path], "cannot be read (Is a directory)"),
        ([folder, source, short], "short has 1: line n of one must be the translation"),
        ([folder, empty, empty], "are empty: give a sentence a line"),
        ([folder, wrong, target], "bytes, line 1: not UTF-8"),
        ([folder, source, target, "--gold", tmp_path / "none"], "none: cannot be read"),
        ([folder, source, target, "--gold", short], "short, line 1: neither links"),
        ([folder, source, target, "--gold", beyond], "beyond, line 1: '99-0' points beyond the sentence"),
        ([folder, source, target, "--gold", gold, "--one-based"], "has a 0, but words count from 1"),
        ([folder, source, target, "--one-based"], "give --gold FILE"),
        ([folder, source, target, "--links", "threshold"], "needs a weight, such as --threshold 0.2"),
        ([folder, source, target, "--threshold", "3"], "threshold 3.0: weights lie between 0 and 1"),
        ([folder, source, target, "--links", "argmax", "--threshold", ".2"], "takes no --threshold"),
        ([folder, source, target, "--symmetrise", "union"], "give the other one with --reverse RUN2"),
        ([folder, source, target, "--reverse", folder], "translates from src to tgt, as"),
    ):
        status, _, _, printed, complained = align(*arguments)
        assert (status, printed) == (2, "") and told in complained, (told, complained)
        assert complained.count("\n") == 1 and complained.startswith("attnlab: ")
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").write_text("a file in the way")
    for arguments, out, option in (
        ([folder, source, target], "out", "--out"),
        ([folder, source, target], "out/below", "--out"),
        ([folder, source, target, "--matrices", tmp_path], "other", "--matrices"),
        ([folder, source, target, "--matrices", tmp_path / "out" / "w"], "other", "--matrices"),
    ):
        status, _, _, printed, complained = align(*arguments, out=out)
        assert (status, printed) == (2, "") and complained.count("\n") == 1
        assert "cannot be written" in complained and complained.endswith(f"another place with {option}\n")
    assert not (tmp_path / "other").exists()


def test_what_is_read_is_never_written_over(folder, files, align, tmp_path):
    source, target = files["source"], files["target"]
    gold = tmp_path / "links" / "align.txt"
    gold.parent.mkdir()
    gold.write_bytes(files["alignment"].read_bytes())
    before = {path: path.read_bytes() for path in (source, target, gold)}
    for arguments, out, name in (
        ([folder, source, target, "--matrices", source], "out", "source"),
        ([folder, source, target, "--gold", gold], "links", "align.txt"),
        ([folder, source, target, "--gold", gold], "links/../links", "align.txt"),
    ):
        status, _, _, printed, complained = align(*arguments, out=out)
        assert (status, printed) == (2, "") and complained.count("\n") == 1
        assert f"{name}: is read here, so it is not written over; choose another place" in complained
    assert {path: path.read_bytes() for path in before} == before


def test_hypotheses_of_an_earlier_alignment_are_told_apart(folder, files, align, tmp_path):
    source, target = files["source"], files["target"]
    line = f"{tmp_path / 'out' / 'hyp.txt'}: not of this alignment, from an earlier one\n"
    assert line not in align(folder, source, target, "--by", "search")[3]
    assert line in align(folder, source, target)[3]
    assert (tmp_path / "out" / "hyp.txt").exists()


def test_all_batches_of_a_search_share_the_weights_made_ready(loaded, rows, monkeypatch):
    of, made = Ready.of, []

    def counted(weight, **options):
        made.append(weight.shape)
        return of(weight, **options)

    monkeypatch.setattr(Ready, "of", staticmethod(counted))
    monkeypatch.setattr(linking, "CHUNK", 5)
    linking.link(loaded, rows["source"][:5], None)
    once = list(made)
    linking.link(loaded, rows["source"][:10], None)
    assert once and made == once * 2


def test_a_model_without_attention_is_refused_before_it_reads(folder, files, align, monkeypatch):
    from attnlab import loading

    blind = attnlab.load(folder, device="cpu")
    blind.model.decoder.attention = None  # as fixed_vector has it
    monkeypatch.setattr(loading, "load", lambda *_: blind)
    for by in ("forced", "search"):
        status, _, _, _, complained = align(folder, files["source"], files["target"], "--by", by)
        assert status == 2 and "this model has no attention" in complained


def test_help_explains_itself_with_an_example(capsys):
    with pytest.raises(SystemExit) as ended:
        verb.main(["--help"])
    assert ended.value.code == 0
    assert "example: attnlab align outputs/" in capsys.readouterr().out


def test_a_pipe_is_read_once_and_its_hash_is_that_of_its_lines():
    reading, writing = os.pipe()
    os.write(writing, b"\xef\xbb\xbfa b\r\nc\n")
    os.close(writing)
    text = read_text(Path(f"/dev/fd/{reading}"))
    os.close(reading)
    assert text.lines == ["a b", "c"]
    assert text.sha256 == hashlib.sha256(b"\xef\xbb\xbfa b\r\nc\n").hexdigest()
