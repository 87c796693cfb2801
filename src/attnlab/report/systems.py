"""Other people's translations of the test set as rows of a comparison (`--system NAME=FILE`).

They are scored on the references of the records, by the records' own options of BLEU and chrF, so their BLEU
is the one that sacrebleu gives for the same lines. Nothing is known of their training: they are marked as not
controlled.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.errors import UserError
from attnlab.report.rows import SYSTEM, Comparison, Row, Run
from attnlab.results import Record
from attnlab.sweep.identity import AXES

if TYPE_CHECKING:
    from attnlab.metrics import Metrics
    from attnlab.segments import Segments

_JOINED = ("@@ ", "\u2581")  # marks of pieces that a scorer should never see
_REMEDY = "give the test set's lines with --reference FILE (and --source FILE)"


class Spec(NamedTuple):
    """A system's name and one file with its translations."""

    name: str
    path: Path


class Text(NamedTuple):
    """The two sides of a test set; `sources` may be stand-ins of as many words (only lengths are used)."""

    sources: list[str]
    references: list[str]


def parse(text: str) -> Spec:
    """`NAME=FILE`, as `--system` takes it; only the first `=` counts.

    Raises:
        UserError: one of the two is missing.
    """
    name, mark, path = text.partition("=")
    name = " ".join(name.split())
    if not mark or not name or not path:
        raise UserError(
            f"--system {text}: give a name and a file of translations, such as --system moses=hyp.txt"
        )
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        raise UserError(
            f"--system {name!r}=...: the name holds what is no text in UTF-8; give it another one"
        )
    return Spec(name, Path(path))


def add_systems(
    comparison: Comparison,
    specs: Sequence[Spec | str],
    reference: Path | None = None,
    source: Path | None = None,
) -> list[str]:
    """Adds one row a name to the comparison, with scores, length buckets and `segments`.

    A name that comes again brings a further output of that system (another seed): several files of a name
    are its seeds `1`, `2`, ... in the order given; the seed of a single one is `-`.

    Args:
        comparison: rows of ours on the test set.
        specs: names and files; plain or gzip, one line a sentence, detokenised.
        reference: the references; by default those of the data that the records name.
        source: the sources, beside `reference`.

    Returns:
        Lines that the reader of the report should see.

    Raises:
        UserError: a file cannot be read or has another number of lines than the test set, a name is taken,
            the references are not to be had, are not those of the records, or are scored otherwise.
    """
    if not specs:
        return []
    files: dict[str, list[Path]] = {}
    for spec in (parse(one) if isinstance(one, str) else one for one in specs):
        files.setdefault(spec.name, []).append(spec.path)
    taken = {name for row in comparison.rows for name in (row.cell_id, row.name(), row.key)}
    for name in files:
        if name in taken:
            raise UserError(f"--system {name}=...: a row is called so already; give the system another name")
    metrics = _metrics(comparison)
    beside = next((one for row in comparison.rows for one in row.segments.values()), None)
    text = texts(comparison, reference, source, beside)
    notes = []
    for name, paths in files.items():
        row, told = _row(comparison, name, paths, text, metrics, beside)
        comparison.rows.append(row)
        notes += told
    return notes


def texts(
    comparison: Comparison, reference: Path | None, source: Path | None, beside: Segments | None
) -> Text:
    """The test set's text, from files or from the data of the records, checked against the records.

    From both files, or from the data, the fingerprint is computed again. From references alone their words
    are compared with the sentence statistics `beside` them, where a row has some.

    Raises:
        UserError: as `add_systems`.
    """
    if reference is None:
        if source is not None:
            raise UserError(f"--source {source}: needs the references as well, with --reference FILE")
        return _own(comparison)
    references = _lines(reference, comparison)
    if source is not None:
        sources = _lines(source, comparison)
        _check(comparison, sources, references, f"{source} and {reference}")
        return Text(sources, references)
    if beside is None:
        raise UserError(
            f"--reference {reference}: no row has sentence statistics to tell the sources' lengths; "
            "give the sources too, with --source FILE"
        )
    for line, (text, words) in enumerate(zip(references, beside.reference_words, strict=True), start=1):
        if len(text.split()) != words:
            raise UserError(
                f"{reference}, line {line}: {len(text.split())} words, but the records were scored on a "
                f"reference of {words}; give the references of {comparison.label}"
            )
    return Text([" ".join(["w"] * int(words)) for words in beside.source_words], references)


def _own(comparison: Comparison) -> Text:
    """From the data of the records: the first whose text has the fingerprint of the comparison."""
    from attnlab.build import build_corpus

    tried: set[str] = set()
    told = "no record holds the settings of its data"
    for run in (run for row in comparison.rows if row.controlled for run in row.runs):
        config = run.record.get("config") or {}
        said = json.dumps(config.get("data"), sort_keys=True, default=str)
        if not config.get("data") or said in tried:
            continue
        tried.add(said)
        try:
            corpus = build_corpus(config)
            rows = corpus.split(comparison.test_set)
            if corpus.fingerprint(comparison.test_set) == comparison.fingerprint:
                return Text(list(rows["source"][:]), list(rows["target"][:]))
            told = f"{corpus.origin} holds another text than the records were scored on"
        except Exception as error:  # a corpus of one's own may raise anything
            told = " ".join(str(error).split()) or type(error).__name__
    raise UserError(f"{comparison.label}: its references are not to be had here ({told}); {_REMEDY}")


def _check(comparison: Comparison, sources: Sequence[str], references: Sequence[str], files: str) -> None:
    from attnlab.data.corpus import content_hash

    if (found := content_hash([*sources, *references])) != comparison.fingerprint:
        raise UserError(
            f"{files}: fingerprint {found[:8]}, but the records were scored on {comparison.content}: another "
            f"text than {comparison.label}; give its raw lines"
        )


def _lines(path: Path, comparison: Comparison) -> list[str]:
    """The lines of a file, as many as the test set has sentences."""
    from attnlab.data.files import read_lines

    lines = read_lines(path)
    if len(lines) != (n := int(comparison.first.test["n"])):
        raise UserError(
            f"{path}: {len(lines)} lines, but {comparison.label} has {n} sentences; line k must belong to "
            "sentence k, blank where there is no translation"
        )
    return lines


def _metrics(comparison: Comparison) -> Metrics:
    """The metrics of the comparison's own runs, which must give its signature."""
    from attnlab.build import build_metrics

    config = comparison.first.record.get("config") or {}
    if not config.get("metrics"):
        raise UserError(
            f"{comparison.label}: the records do not hold the options of their metrics; "
            "a system can't be scored as they were"
        )
    metrics = build_metrics(config)
    if _options(metrics.bleu.signature) != _options(comparison.signature):
        raise UserError(
            f"{comparison.label}: scored with {comparison.signature}, but the settings of its runs give "
            f"{metrics.bleu.signature}; choose a test set that the runs decoded themselves, with --test NAME"
        )
    return metrics


def _options(signature: str) -> list[str]:
    return [part for part in signature.split("|") if not part.startswith("version:")]


def _row(
    comparison: Comparison,
    name: str,
    paths: Sequence[Path],
    text: Text,
    metrics: Metrics,
    beside: Segments | None,
) -> tuple[Row, list[str]]:
    cell: dict[str, str | None] = dict.fromkeys(AXES)
    row = Row(cell, name, {}, [], kind=SYSTEM, controlled=False)
    notes = []
    for number, path in enumerate(paths, start=1):
        lines = _lines(path, comparison)
        test = _scored(metrics, text, lines)
        seed = str(number) if len(paths) > 1 else "-"
        row.runs.append(_run(comparison, row, seed, path, test))
        if beside is not None:
            row.segments[seed] = _segments(metrics, text, lines, test, beside)
        notes += [f"{name}: {told}" for told in _doubts(metrics, text, lines)]
    version = comparison.signature.rpartition("|version:")[2]
    if version != (ours := metrics.bleu.signature.rpartition("|version:")[2]):
        notes.append(f"{name}: scored by sacrebleu {ours}, the records by {version}")
    if beside is None:
        notes.append(
            f"{name}: neither interval nor test, for no run has the statistics of its sentences; "
            "attnlab evaluate RUN writes them"
        )
    return row, list(dict.fromkeys(notes))


def _scored(metrics: Metrics, text: Text, lines: Sequence[str]) -> Record:
    """The scores in the shape of the record's `test.<set>`; null where a model would be asked."""
    unknown = ("search", "perplexity", "truncated", "alignment", "attention")
    return {**metrics.score(text.sources, lines, text.references), **dict.fromkeys(unknown)}


def _segments(
    metrics: Metrics, text: Text, lines: Sequence[str], test: Mapping[str, Any], beside: Segments
) -> Segments:
    from attnlab.metrics.scoring import chrf_statistics

    chrf = metrics.chrf
    return beside._replace(
        bleu=metrics.bleu.statistics(lines, text.references),
        chrf=None if chrf is None else chrf_statistics(lines, text.references, **chrf),
        alignment=None,
        entropy=None,
        max_weight=None,
        bleu_signature=test["bleu"]["signature"],
        chrf_signature=None if chrf is None else test["chrf"]["signature"],
    )


def _run(comparison: Comparison, row: Row, seed: str, path: Path, test: Record) -> Run:
    """A run without a record of its own: every field that a reader may ask for, null where nobody knows."""
    record: Record = {
        "status": "done",
        "ended": None,
        "cell": row.cell,
        "factors": {},
        "cell_id": row.cell_id,
        "study": None,
        "seed": seed,
        "overrides": [],
        "command": None,
        "config": {},
        "code": {"commit": None, "dirty": None},
        "versions": {},
        "machine": dict.fromkeys(("cpu", "memory", "device", "count")),
        "data": comparison.first.data,
        "parameters": {"total": None, "attention": None},
        "train": dict.fromkeys(("updates", "best_step", "tokens_per_s", "wall_s", "device_s", "peak_memory")),
        "val": dict.fromkeys(("bleu", "loss", "signature", "step")),
        "test": {comparison.test_set: test},
    }
    return Run(path, record, test, comparison.first.data)


def _doubts(metrics: Metrics, text: Text, lines: Sequence[str]) -> list[str]:
    """What makes a score mean less than it seems: pieces that were not joined, case that was lost."""
    doubts = []
    for mark in _JOINED:
        if sum(mark in line for line in lines) * 10 > len(lines):
            doubts.append(f"pieces of words ('{mark.strip()}') are scored as words; join them first")
    cased = any(line != line.lower() for line in text.references)
    if not metrics.bleu.lowercase and cased and all(line == line.lower() for line in lines):
        doubts.append("all in lower case, but this BLEU sees case")
    return doubts
