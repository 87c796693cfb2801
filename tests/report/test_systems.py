"""Other people's translations as rows: scored as sacrebleu scores the same lines, refused where they don't fit."""

import gzip
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from attnlab.build import build_corpus, build_metrics
from attnlab.errors import UserError
from attnlab.metrics.scoring import chrf_statistics
from attnlab.report import compare
from attnlab.report.rows import SYSTEM
from attnlab.report.systems import add_systems, parse
from attnlab.segments import Segments

N = 24
METRICS = {
    "_target_": "attnlab.metrics.Metrics",
    "length_edges": [5, 10],
    "min_bucket": 3,
    "bleu": {"tokenize": "13a", "lowercase": False, "smooth_method": "exp"},
    "chrf": {"char_order": 6, "word_order": 0, "beta": 2},
    "ter": None,
    "bootstrap": {"samples": 0, "level": 0.95, "seed": 1},
}


def lines(seed, change=0.0):
    """Sentences of the same words for one seed; a share of them changed."""
    rng, other = random.Random(1), random.Random(seed)
    words = ["Ba", "bi", "bo", "bu,", "da", "di", "do", "du.", "ga", "gi", "go", "gu"]
    made = []
    for _ in range(N):
        sentence = rng.choices(words, k=rng.randint(1, 15))
        made.append(" ".join(other.choice(words) if other.random() < change else w for w in sentence))
    return made


SOURCES, REFERENCES = [line.lower() for line in lines(1)], lines(1)


def write(path, text):
    path.write_bytes("".join(line + "\n" for line in text).encode())
    return path


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for split in ("train", "val", "flickr"):
        write(folder / f"{split}.de", SOURCES)
        write(folder / f"{split}.en", REFERENCES)
    return folder


@pytest.fixture
def made(make, corpus):
    """A comparison of one cell on `flickr`, with the statistics of its sentences or without."""

    def _made(*, segments=True, metrics=METRICS, fingerprint=None, data=True, **more):
        config = {
            "_target_": "attnlab.data.files.FilesCorpus",
            **{"dir": str(corpus), "source": "de", "target": "en", "test": ["flickr"]},
        }
        own = build_metrics({"metrics": metrics})
        ours = lines(5, 0.4)
        found = own.score(SOURCES, ours, REFERENCES)
        record = make(
            **{"data": config, "metrics": metrics, **more} if data else {"metrics": metrics, **more},
            fingerprint=fingerprint or build_corpus({"data": config}).fingerprint("flickr"),
            signature=found["bleu"]["signature"],
        )
        record["test"]["flickr"] |= found
        comparison = compare([(Path("runs/1"), record)]).comparisons[0]
        if segments:
            comparison.rows[0].segments["1"] = Segments(
                bleu=own.bleu.statistics(ours, REFERENCES),
                chrf=chrf_statistics(ours, REFERENCES, **METRICS["chrf"]),
                source_words=np.array([len(line.split()) for line in SOURCES]),
                reference_words=np.array([len(line.split()) for line in REFERENCES]),
                source_pieces=np.arange(N),
                reference_pieces=np.arange(N) + 1,
                alignment=np.zeros((N, 2, 4), dtype=int),
                entropy=np.zeros(N),
                max_weight=np.zeros(N),
                bleu_signature=found["bleu"]["signature"],
                chrf_signature=found["chrf"]["signature"],
            )
        return comparison

    return _made


@pytest.mark.parametrize(
    "bleu",
    [
        {"tokenize": "13a"},
        {"tokenize": "intl", "lowercase": True},
        {"tokenize": "none", "smooth_method": "add-k", "smooth_value": 1},
    ],
)
def test_bleu_is_what_sacrebleu_gives_for_the_same_lines(made, tmp_path, bleu):
    comparison = made(metrics={**METRICS, "bleu": bleu})
    hypotheses = lines(9, 0.3)
    path = write(tmp_path / "hyp.txt", hypotheses)
    assert add_systems(comparison, [f"moses={path}"]) == []
    row = comparison.rows[-1]
    metric = sacrebleu.metrics.BLEU(**bleu)
    expected = metric.corpus_score(hypotheses, [REFERENCES]).score
    assert 0 < expected < 100
    assert row.runs[0].test["bleu"] == {"score": expected, "signature": comparison.signature}
    assert row.runs[0].test["chrf"]["score"] == sacrebleu.corpus_chrf(hypotheses, [REFERENCES]).score


def test_bleu_is_what_the_command_of_sacrebleu_prints(made, tmp_path, corpus):
    comparison = made()
    path = write(tmp_path / "hyp.txt", lines(9, 0.3))
    add_systems(comparison, [f"moses={path}"])
    command = [sys.executable, "-m", "sacrebleu", corpus / "flickr.en", "-i", path, "-b", "-w", "6"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"{comparison.rows[-1].runs[0].test['bleu']['score']:.6f}" == said.strip()


def test_a_system_is_a_row_of_its_own_kind_with_its_sentences_and_buckets(made, tmp_path):
    comparison = made()
    path = write(tmp_path / "hyp.txt", lines(9, 0.3))
    add_systems(comparison, [f"other  system={path}"])
    row = comparison.rows[-1]
    assert (row.kind, row.controlled, row.cell_id) == (SYSTEM, False, "other system")
    assert set(row.cell.values()) == {None} and row.name() == "other system"
    run = row.runs[0]
    own, ours = row.segments[run.seed], comparison.rows[0].segments["1"]
    assert own.n == N and own.bleu_signature == comparison.signature
    assert (own.alignment, own.entropy, own.max_weight) == (None, None, None)
    np.testing.assert_array_equal(own.bleu[:, 1], ours.bleu[:, 1])  # the same references
    for kind in ("source_words", "reference_words", "source_pieces", "reference_pieces"):
        np.testing.assert_array_equal(own.lengths(kind), ours.lengths(kind))
    assert [b["n"] for b in run.test["by_source_length"]] == [
        b["n"] for b in comparison.rows[0].runs[0].test["by_source_length"]
    ]
    assert run.record["code"]["commit"] is None and run.record["parameters"]["total"] is None


def test_the_same_name_again_is_another_seed_of_it_and_gzip_is_read(made, tmp_path):
    comparison = made()
    first = write(tmp_path / "a.txt", lines(9, 0.3))
    second = tmp_path / "b.txt.gz"
    second.write_bytes(gzip.compress("".join(f"{line}\r\n" for line in lines(10, 0.3)).encode()))
    add_systems(comparison, [f"moses={first}", f"moses={second}", f"other={first}"])
    moses, other = comparison.rows[-2:]
    assert [run.seed for run in moses.runs] == ["1", "2"] == list(moses.segments)
    assert [run.seed for run in other.runs] == ["-"]
    expected = sacrebleu.corpus_bleu(lines(10, 0.3), [REFERENCES]).score
    assert moses.runs[1].test["bleu"]["score"] == expected != moses.runs[0].test["bleu"]["score"]


def test_other_line_counts_are_refused_with_both(made, tmp_path):
    path = write(tmp_path / "hyp.txt", lines(9)[:-1])
    with pytest.raises(UserError, match=r"hyp.txt: 23 lines, but flickr, de-en has 24 sentences"):
        add_systems(made(), [f"moses={path}"])


@pytest.mark.parametrize("given", ["moses", "=hyp.txt", "moses=", " =x"])
def test_a_name_and_a_file_are_needed(given):
    with pytest.raises(UserError, match="give a name and a file"):
        parse(given)


def test_only_the_first_equals_sign_counts():
    assert parse("a=b=c.txt") == ("a", Path("b=c.txt"))


def test_a_name_that_a_row_has_is_refused(made, tmp_path):
    comparison = made()
    path = write(tmp_path / "hyp.txt", lines(9))
    name = comparison.rows[0].cell_id
    with pytest.raises(UserError, match="called so already"):
        add_systems(comparison, [f"{name}={path}"])


def test_references_from_files_are_checked_against_the_records(made, tmp_path, corpus):
    hyp = f"moses={write(tmp_path / 'hyp.txt', lines(9, 0.3))}"
    reference, source = corpus / "flickr.en", corpus / "flickr.de"
    bad = write(tmp_path / "bad.en", [*REFERENCES[:-1], REFERENCES[-1] + " more"])
    same_words = write(tmp_path / "lower.en", [line.lower() for line in REFERENCES])
    bleu = []
    for options in ({}, {"reference": reference}, {"reference": reference, "source": source}):
        comparison = made()
        add_systems(comparison, [hyp], **options)
        test = comparison.rows[-1].runs[0].test
        bleu.append((test["bleu"]["score"], [b["n"] for b in test["by_source_length"]], test["empty"]))
    assert bleu[0] == bleu[1] == bleu[2]
    with pytest.raises(UserError, match=r"bad.en, line 24: \d+ words, but the records were scored on"):
        add_systems(made(), [hyp], reference=bad)
    with pytest.raises(UserError, match="another text than flickr"):
        add_systems(made(), [hyp], reference=same_words, source=source)
    with pytest.raises(UserError, match="needs the references"):
        add_systems(made(), [hyp], source=source)


def test_without_sentence_statistics_the_sources_are_asked_for(made, tmp_path, corpus):
    hyp = f"moses={write(tmp_path / 'hyp.txt', lines(9, 0.3))}"
    with pytest.raises(UserError, match="--source FILE"):
        add_systems(made(segments=False), [hyp], reference=corpus / "flickr.en")
    comparison = made(segments=False)
    (note,) = add_systems(comparison, [hyp])
    assert "attnlab evaluate RUN" in note and comparison.rows[-1].segments == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"fingerprint": "0123456789abcdef"}, "another text than the records were scored on"),
        ({"data": False}, "no record holds the settings of its data"),
    ],
)
def test_references_that_are_not_to_be_had_are_asked_for(made, tmp_path, change, told):
    path = write(tmp_path / "hyp.txt", lines(9))
    with pytest.raises(UserError) as error:
        add_systems(made(**change), [f"moses={path}"])
    assert told in str(error.value) and "--reference FILE" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_corpus_that_is_gone_is_told_with_the_remedy(made, tmp_path, corpus):
    comparison = made()
    corpus.rename(tmp_path / "elsewhere")
    path = write(tmp_path / "hyp.txt", lines(9))
    with pytest.raises(UserError, match=r"no such folder.*--reference FILE"):
        add_systems(comparison, [f"moses={path}"])


def test_a_score_by_other_options_than_the_runs_own_is_refused(made, tmp_path):
    comparison = made()
    comparison.signature = comparison.signature.replace("tok:13a", "tok:intl")
    path = write(tmp_path / "hyp.txt", lines(9))
    with pytest.raises(UserError, match="--test NAME"):
        add_systems(comparison, [f"moses={path}"])


def test_pieces_and_lost_case_are_told(made, tmp_path):
    pieces = write(tmp_path / "bpe.txt", [line.replace("a", "@@ a") for line in lines(9)])
    lower = write(tmp_path / "lower.txt", [line.lower() for line in REFERENCES])
    notes = add_systems(made(), [f"bpe={pieces}", f"lower={lower}"])
    assert any(note.startswith("bpe: pieces of words") for note in notes)
    assert any(note.startswith("lower: all in lower case") for note in notes)
    lowercase = {**METRICS, "bleu": {**METRICS["bleu"], "lowercase": True}}
    assert add_systems(made(metrics=lowercase), [f"lower={lower}"]) == []


@pytest.mark.parametrize("name", ["\udcff", "\x1b[31m"])
def test_a_name_that_is_no_text_is_refused(name):
    with pytest.raises(UserError, match="the name holds what is no text"):
        parse(f"{name}=hyp.txt")
