"""Records -> comparisons: what may stand in one table, one row a cell, seeds aggregated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from attnlab import results
from attnlab.errors import UserError
from attnlab.report import beside, expected
from attnlab.report.origins import Origins
from attnlab.report.rows import Comparison, Report, Row, Run, seed_label
from attnlab.report.settings import differences
from attnlab.results import Record
from attnlab.sweep import state
from attnlab.sweep.identity import AXES


def load(folders: Iterable[Path], test_sets: Sequence[str] = ()) -> Report:
    """Finds and compares the records under the folders; `test_sets` keeps some test sets only.

    Where the same seed of a cell lies, with other numbers, in several of the folders, these are two versions
    of it: the rows are kept apart by folder. Cells that a study's file asks for are rows even without a run.

    Raises:
        UserError: a folder does not exist or holds no finished run, or no record has such a test set.
    """
    folders = [Path(folder) for folder in folders]
    found = results.find(folders)
    where = ", ".join(map(str, folders))
    if not found.records and found.problems:
        raise UserError(f"{where}: no readable record; {found.problems[0]}")
    if not found.records:
        raise UserError(
            f"{where}: no records (result.json) here; give folders of runs that attnlab train made"
        )
    notes = [f"left out: {problem}" for problem in found.problems]
    report = compare(found.records, test_sets, folders, found.unfinished)
    unscored = report.unscored + [f"{state.of(folder)}: {folder}: no record" for folder in found.unfinished]
    return report._replace(notes=notes + report.notes, unscored=unscored)


def compare(
    records: Sequence[tuple[Path, Record]],
    test_sets: Sequence[str] = (),
    folders: Sequence[Path] = (),
    unfinished: Sequence[Path] = (),
) -> Report:
    """Groups records into comparisons and rows.

    Args:
        records: run folders and their records.
        test_sets: keeps these only; all by default.
        folders: those that were asked for, by which versions of a cell are told apart.
        unfinished: run folders without a record.

    Raises:
        UserError: no finished run, or none with one of `test_sets`.
    """
    done = [(folder, record) for folder, record in records if record["status"] == results.DONE]
    ended = [(folder, record) for folder, record in records if record["status"] == results.FAILED]
    if not done:
        first = ended[0]
        kind = _state(*first)
        number = sum(_state(*one) == kind for one in ended)
        raise UserError(f"no finished run: {_count(number, 'run')} {kind} ({_failure(first[1])})")
    notes: list[str] = []
    groups = _groups(done, test_sets, notes)
    origins = Origins(folders)
    studies = expected.studies([*(folder for folder, _ in records), *unfinished], folders, records, notes)
    comparisons = [Comparison(*key, _rows(runs, origins, notes)) for key, runs in groups.items()]
    for comparison in comparisons:
        apart = any(row.origin for row in comparison.rows)
        _add_failed(comparison, ended, origins)
        for study in studies:
            expected.add(comparison, study, ended, origins.of(study.path) if apart else "")
        _add_missing(comparison)
        differences(comparison.rows)
        comparison.rows.sort(key=_order)
    comparisons.sort(key=_main_first)
    notes += _name_comparisons(comparisons)
    finished = {(str(record["cell_id"]), seed_label(record)) for _, record in done}
    unscored = [
        f"{_state(folder, record)}: {_failure(record)}"
        for folder, record in ended
        if (str(record["cell_id"]), seed_label(record)) not in finished
    ]
    commits = {json.dumps(record["code"], sort_keys=True) for _, record in done}
    if len(commits) > 1:
        notes.append(f"the records come from {len(commits)} states of the code (code.commit, code.dirty)")
    questions = list(dict.fromkeys(study.question for study in studies if study.question))
    return Report(
        comparisons,
        list(dict.fromkeys(notes)),
        list(dict.fromkeys(unscored)),
        origins.title(),
        questions[0] if len(questions) == 1 else None,
        [record for _, record in ended],
    )


def _groups(
    done: Sequence[tuple[Path, Record]], test_sets: Sequence[str], notes: list[str]
) -> dict[tuple[str, str, str, str], list[Run]]:
    """The runs by language pair, test set, its fingerprint and BLEU signature."""
    groups: dict[tuple[str, str, str, str], list[Run]] = {}
    for folder, record in done:
        for run, name in beside.tests(folder, record, notes):
            if run.test["bleu"]["score"] is None or run.test["n"] is None:
                notes.append(f"left out: {folder}: no BLEU of {name}; evaluate or train the run again")
            elif not test_sets or name in test_sets:
                signature = run.test["bleu"]["signature"]
                key = (_languages(run.data), name, _fingerprint(run.data, name), signature)
                groups.setdefault(key, []).append(run)
    if groups:
        return groups
    known = ", ".join(sorted({name for _, record in done for name in record["test"]})) or "none"
    if not test_sets:
        raise UserError("no record has a test set: the runs were made with data.test=[]")
    raise UserError(f"no record has test set {', '.join(test_sets)}; there are: {known}")


def natural(text: str) -> list[tuple[int, str]]:
    """A sorting key that puts 2 before 10."""
    return [(int(part) if part.isdecimal() else -1, part) for part in re.split(r"(\d+)", text)]


def _rows(runs: Sequence[Run], origins: Origins, notes: list[str]) -> list[Row]:
    """One row a cell, one run a seed: of several records of one seed the one that ended last.

    Rows of several versions (`Origins.several`) have an `origin`.
    """
    apart = origins.several(runs)
    cells: dict[tuple[str, str], dict[str, Run]] = {}
    for run in runs:
        origin = origins.of(run.folder) if apart else ""
        seeds = cells.setdefault((str(run.record["cell_id"]), origin), {})
        other = seeds.get(run.seed)
        if other is not None:
            kept, left = sorted((run, other), key=lambda one: (str(one.record["ended"]), str(one.folder)))[
                ::-1
            ]
            notes.append(
                f"seed {run.seed} of {run.record['cell_id']} counted once: {kept.folder}, not {left.folder}"
            )
            run = kept
        seeds[run.seed] = run
    rows = []
    for (cell_id, origin), seeds in cells.items():
        ordered = [seeds[label] for label in sorted(seeds, key=natural)]
        first = ordered[0].record
        cell = {axis: first["cell"][axis] for axis in AXES}
        row = Row(cell, cell_id, first["config"] or {}, ordered, origin=origin)
        row.factors = dict(first["factors"] or {})
        row.segments = {
            run.seed: found for run in ordered if (found := beside.statistics(run, notes)) is not None
        }
        row.overrides = beside.overrides(ordered)
        rows.append(row)
    return rows


def _add_failed(comparison: Comparison, failed: Sequence[tuple[Path, Record]], origins: Origins) -> None:
    """Names the seeds that gave no score beside those of their cell that did."""
    rows = {(row.cell_id, row.origin): row for row in comparison.rows}
    for folder, record in failed:
        cell_id = str(record["cell_id"])
        row = rows.get((cell_id, "")) or rows.get((cell_id, origins.of(folder)))
        seed = seed_label(record)
        if row is None or seed in {run.seed for run in row.runs} | set(row.failed) | set(row.interrupted):
            continue
        seeds = row.interrupted if state.stopped(record) else row.failed
        seeds.append(seed)
        seeds.sort(key=natural)


def _add_missing(comparison: Comparison) -> None:
    seeds = [
        {*(run.seed for run in row.runs), *row.failed, *row.interrupted, *row.missing}
        for row in comparison.rows
    ]
    for row, own in zip(comparison.rows, seeds, strict=True):
        row.missing = sorted({*row.missing, *(set().union(*seeds) - own)}, key=natural)


def _order(row: Row) -> tuple[Any, ...]:
    """The cells without attention first, as the baseline; then by encoder, order, window, scorer."""
    names = [str(row.cell[axis]) for axis in ("encoder", "decoder", "window", "scorer")]
    return (row.attends, *names, natural(row.settings), row.cell_id, row.origin)


def _main_first(comparison: Comparison) -> tuple[Any, ...]:
    runs = sum(len(row.runs) for row in comparison.scored)
    key = (comparison.test_set, comparison.languages, comparison.signature, comparison.fingerprint)
    return (-len(comparison.scored), -runs, *key)


def _name_comparisons(comparisons: Sequence[Comparison]) -> list[str]:
    """Gives every comparison but the main one a name for its files; says why there are several."""
    if len(comparisons) == 1:
        return []
    kinds = {
        "test set": lambda one: one.test_set,
        "language pair": lambda one: one.languages,
        "test set's content": lambda one: one.content,
        "BLEU signature": lambda one: one.signature,
    }
    differing = [kind for kind, pick in kinds.items() if len({pick(one) for one in comparisons}) > 1]
    shared = set.intersection(*(set(one.signature.split("|")) for one in comparisons))
    used: set[str] = set()
    for one in comparisons:
        one.several = True
    for one in comparisons[1:]:
        parts = [kinds[kind](one) for kind in differing if kind != "BLEU signature"]
        parts += [part for part in one.signature.split("|") if part not in shared]
        base = slug = re.sub(r"[^\w.-]+", "-", "-".join(parts)).strip("-.")
        while slug in used:
            slug = f"{base}-{len(used)}"
        used.add(slug)
        one.slug = slug
    return [
        f"{len(comparisons)} tables, kept apart because the {' and the '.join(differing)} "
        f"{'differs' if len(differing) == 1 else 'differ'}"
    ]


def _languages(data: Record) -> str:
    value = data.get("languages")
    if isinstance(value, dict):
        value = list(value.values())
    return "-".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _fingerprint(data: Record, name: str) -> str:
    value = (data.get("fingerprints") or {}).get(name)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, sort_keys=True)


def _state(folder: Path, record: Record) -> str:
    """`failed`, `interrupted` or (once more) `running`: the words of `attnlab status`."""
    if state.held(folder):
        return state.RUNNING
    return state.INTERRUPTED if state.stopped(record) else results.FAILED


def _failure(record: Record) -> str:
    """The run and why it ended; that of a stopped run tells no type, which is the same for all."""
    error = record["error"]
    told = str(error["message"]).strip().splitlines() or [""]
    kind = "" if state.stopped(record) else f"{error['type']}: "
    return f"{record['cell_id']} seed {seed_label(record)}: {kind}{told[0]}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
