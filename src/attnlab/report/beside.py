"""What lies beside a record: sentence statistics, sample sentences, a training's curve, tampered scores."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlab import results, segments
from attnlab import samples as written
from attnlab.errors import UserError
from attnlab.metrics.seeds import spread
from attnlab.report.rows import Run, Tampered
from attnlab.results import Record

CURVE = "metrics.jsonl"
_VALIDATED = ("val/bleu", "val/loss")
OVERRIDE = "attention_override"
_NO_OVERRIDE = (None, "none")


def tests(folder: Path, record: Record, notes: list[str]) -> list[tuple[Run, str]]:
    """The test sets of a run, with those that `attnlab evaluate` added, and their names.

    An evaluation that repeats the run's own scores lends its sentence statistics to a run that has none.
    """
    problems: list[str] = []
    further = results.evaluations(folder, problems)
    notes += [f"left out: {problem}" for problem in problems]
    plain = {label: one for label, one in further.items() if _override(one) is None}
    counts = Counter(name for one in plain.values() for name in one["test"])
    found = {}
    for name, test in record["test"].items():
        tampered = _tampered(further, name, test, record["data"], folder, notes)
        found[name] = Run(folder, record, test, record["data"], folder / "test" / name, tampered)
    for label, evaluation in plain.items():
        for name, test in evaluation["test"].items():
            place = folder / results.EVALUATIONS / label / name
            own = found.get(name) if name in record["test"] else None
            if own is not None and all(own.test[key] == test[key] for key in ("bleu", "search")):
                if own.place is not None and not (own.place / segments.NAME).exists():
                    found[name] = own._replace(place=place)
            elif own is not None or counts[name] > 1:
                file = f"{folder}/{results.EVALUATIONS}/{label}.json"
                notes.append(f"left out: {file} scores {name} once more")
            else:
                tampered = _tampered(further, name, test, evaluation["data"], folder, notes)
                found[name] = Run(folder, record, test, evaluation["data"], place, tampered)
    return [(run, name) for name, run in found.items()]


def overrides(runs: Sequence[Run]) -> dict[str, Tampered]:
    """What tampered weights do to BLEU, over the seeds that were evaluated so."""
    found = {}
    for name in sorted({name for run in runs for name in run.tampered}):
        own = [run for run in runs if name in run.tampered]
        bleu = [run.tampered[name] for run in own]
        delta = [run.tampered[name] - run.test["bleu"]["score"] for run in own]
        found[name] = Tampered(spread(bleu), spread(delta))
    return found


def statistics(run: Run, notes: list[str]) -> segments.Segments | None:
    """The statistics of a run's sentences, if they are there and are those of the record's own score."""
    if run.place is None:
        return None
    path = run.place / segments.NAME
    try:
        found = segments.read(run.place, int(run.test["n"]))
    except UserError as error:
        notes.append(f"left out: {error}")
        return None
    if found is None:
        return None
    if found.bleu_signature != run.test["bleu"]["signature"]:
        notes.append(f"left out: {path} is of BLEU {found.bleu_signature}, the record of another")
        return None
    if not segments.fit(found):
        notes.append(f"left out: {path}: its statistics are not those of its signatures; evaluate RUN again")
        return None
    return found


def samples(run: Run, notes: list[str]) -> list[Record]:
    """The sample sentences of a run's test set; none where the data forbids to show them.

    What the page could not show is left out, and told in `notes`.
    """
    if run.place is None or not run.data.get("show_samples"):
        return []
    try:
        found = written.read(run.place) or []
    except UserError as error:
        notes.append(f"left out: {error}")
        return []
    whole = [one for one in found if _showable(one)]
    if len(whole) < len(found):
        notes.append(
            f"left out: {run.place / written.NAME}: {len(found) - len(whole)} of {len(found)} samples are "
            "not as a run writes them; remove it, and evaluate the run again"
        )
    return whole


def _showable(one: Record) -> bool:
    """Whether the page can show a sample: texts, lists of texts, weights that are numbers."""
    index, weights = one.get("index"), one.get("weights")
    try:
        json.dumps(one, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:  # not finite, or half a character
        return False
    return (
        isinstance(index, int)
        and not isinstance(index, bool)
        and all(isinstance(one.get(name), str) for name in ("source", "reference", "hypothesis"))
        and isinstance(one.get("gold"), str | None)
        and all(_are(one.get(name), str) for name in ("source_pieces", "pieces"))
        and (weights is None or (_are(weights, list) and all(_are(row, int | float) for row in weights)))
    )


def _are(values: Any, kind: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def curve(run: Run) -> list[tuple[int, float | None, float | None]]:
    """The validations of a training in the order of updates: updates, BLEU, loss.

    Of two values at one number of updates, which a resumed run has, the later holds. Lines that are no JSON
    (the last one of a run that was killed) and values that are no numbers are passed over.
    """
    found: dict[int, dict[str, float]] = {}
    try:
        text = (run.folder / CURVE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    for line in text.splitlines():
        if '"val/' not in line:
            continue
        try:
            point = json.loads(line)
            values = {key: value for key in _VALIDATED if (value := _real(point.get(key))) is not None}
            step = int(point["step"])
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            continue
        if values:
            found.setdefault(step, {}).update(values)
    return [(step, found[step].get("val/bleu"), found[step].get("val/loss")) for step in sorted(found)]


def _tampered(
    evaluations: Mapping[str, Record], name: str, test: Record, data: Record, where: Path, notes: list[str]
) -> dict[str, float]:
    """BLEU of a test set under each override of the attention weights; of several the one that ended last.

    Args:
        evaluations: the run's further evaluations by name.
        name: the test set.
        test: the run's own scores of it: what differs in search or signature is no test of the weights.
        data: what `test` was scored on: another text is none either.
        where: the run folder, for notes.
        notes: what is left out is told here.
    """
    found: dict[str, float] = {}
    for label, evaluation in sorted(evaluations.items(), key=lambda pair: (str(pair[1]["ended"]), pair[0])):
        override, other = _override(evaluation), evaluation["test"].get(name)
        if override is None or other is None:
            continue
        path = where / results.EVALUATIONS / f"{label}.json"
        if other["bleu"]["score"] is None:
            notes.append(f"left out: {path}: no BLEU of {name}; evaluate it again")
        elif other["bleu"]["signature"] != test["bleu"]["signature"] or other["search"] != test["search"]:
            notes.append(
                f"left out: {path}: its search or BLEU differs from the run's; evaluate it with both"
            )
        elif _content(evaluation["data"], name) != _content(data, name):
            notes.append(f"left out: {path}: another text of {name} than the run's; evaluate it on the same")
        else:
            found[override] = float(other["bleu"]["score"])
    return found


def _content(data: Record, name: str) -> Any:
    """The fingerprint of a test set's text."""
    return (data.get("fingerprints") or {}).get(name)


def _override(evaluation: Record) -> str | None:
    """The name of the override under which an evaluation was made; None for an ordinary one."""
    name = evaluation.get(OVERRIDE)
    return None if name in _NO_OVERRIDE else str(name)


def _real(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) else None
