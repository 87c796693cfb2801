"""Which cells a study asked for: from its file, and from what its sweeps planned to train."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import attnlab
from attnlab.errors import UserError
from attnlab.report.rows import MISSING, Comparison, Row, seed_label
from attnlab.results import DONE, Record
from attnlab.sweep import state, status
from attnlab.sweep.identity import AXES

RECORDS = "records"
"""The folder in which a study's folder under `experiments/` keeps its records."""
FILE = "study.yaml"


class Cell(NamedTuple):
    """A cell that a study asked for, with all its seeds."""

    cell_id: str
    cell: dict[str, str | None]
    config: Record
    seeds: list[str]


class Folder(NamedTuple):
    """The folder of a study's cells: the question of its file, and the cells that were asked for.

    `cells` names those of which at least one seed has no finished run, with the seeds that have none.
    """

    path: Path
    question: str | None
    cells: list[Cell]


def studies(
    runs: Iterable[Path], tops: Sequence[Path], records: Sequence[tuple[Path, Record]], notes: list[str]
) -> list[Folder]:
    """The studies at or below the folders that were asked for.

    Args:
        runs: every run folder that was found, finished or not.
        tops: the folders asked for; a study above one of them is none of the reader's concern.
        records: of the finished and failed runs.
        notes: what cannot be told is told here.
    """
    within = [top.resolve() for top in tops]
    found = []
    for path in dict.fromkeys(run.parent.parent for run in runs):
        home = path.parent if path.name == RECORDS else path
        if not any(home.resolve().is_relative_to(top) for top in within):
            continue
        file, sweeps = _file(home), path / status.SWEEPS
        if file is None and not sweeps.is_dir():
            continue
        own = [record for folder, record in records if folder.parent.parent == path]
        question, cells = (None, []) if file is None else _asked(file, home.name, own, notes)
        done = [record for record in own if record["status"] == DONE]
        there = {(str(record["cell_id"]), seed_label(record)) for record in done}
        known = {cell.cell_id for cell in cells} | ({one for one, _ in there} if file else set())
        cells += [cell for cell in _planned(sweeps, there) if cell.cell_id not in known]
        found.append(Folder(path, question, cells))
    return found


def add(comparison: Comparison, folder: Folder, ended: Sequence[tuple[Path, Record]], origin: str) -> None:
    """Makes the cells of a study without any finished run rows of the comparisons its runs are in.

    Args:
        comparison: gets the rows, and missing seeds in those it has.
        folder: the study.
        ended: the runs that failed or were stopped.
        origin: the label of the study's rows, where rows have one.
    """
    if not any(run.folder.parent.parent == folder.path for row in comparison.rows for run in row.runs):
        return
    rows = {row.key: row for row in comparison.rows}

    def row_of(cell_id: str, cell: dict[str, str | None], config: Record) -> Row:
        row = Row(cell, cell_id, config, [], kind=MISSING, origin=origin)
        if row.key not in rows:
            about = (config.get("about") or {}).get("factors") or {}
            row.factors = dict(about)
            rows[row.key] = row
            comparison.rows.append(row)
        return rows[row.key]

    for place, record in ended:
        if place.parent.parent != folder.path:
            continue
        cell = {axis: record["cell"][axis] for axis in AXES}
        row, seed = row_of(str(record["cell_id"]), cell, record["config"] or {}), seed_label(record)
        if row.kind == MISSING:
            (row.interrupted if state.stopped(record) else row.failed).append(seed)
    for asked in folder.cells:
        row = row_of(asked.cell_id, asked.cell, asked.config)
        known = {*(run.seed for run in row.runs), *row.failed, *row.interrupted, *row.missing}
        row.missing += [seed for seed in asked.seeds if seed not in known]


def _file(home: Path) -> Path | None:
    """The file of a study: in its folder, else by the folder's name under `experiments/`.

    As `sweep.study.find`, without Hydra, which few reports need.
    """
    tops = (Path(), Path(attnlab.__file__).parents[2])
    places = [home, *(top / "experiments" / home.name for top in tops)]
    return next((place / FILE for place in places if home.name and (place / FILE).is_file()), None)


def _asked(
    file: Path, name: str, records: Sequence[Record], notes: list[str]
) -> tuple[str | None, list[Cell]]:
    """The question of a study's file, and its cells that have seeds without a finished run.

    A cell is there if a record has its name, or was made with the overrides of one of its points: since names
    hold a hash of all settings, a later version of the settings gives every cell another.
    """
    from attnlab.sweep import study

    try:
        asked = study.read(file)
    except UserError as error:
        notes.append(f"which cells are missing is not known: {error}")
        return None, []
    of_point = _of_points(asked.points, records)

    def matching(point: Sequence[str]) -> list[Record]:
        return of_point[frozenset(point)]

    def lacking(own: Sequence[Record], seeds: Iterable[int]) -> list[str]:
        done = {str(record["seed"]) for record in own if record["status"] == DONE}
        return [str(seed) for seed in seeds if str(seed) not in done]

    if asked.seeds and not any(lacking(matching(point), asked.seeds) for point in asked.points):
        return asked.question, []
    try:
        points = list(_composed(asked, name))
    except UserError as error:
        notes.append(f"{file}: which of its cells are missing is not known: {error}")
        return asked.question, []
    known: dict[str, list[Record]] = {}
    for record in records:
        known.setdefault(str(record["cell_id"]), []).append(record)
    for point, cell, _ in points:  # the points of one cell are one
        known.setdefault(cell.cell_id, []).extend(matching(point))
    missing: dict[str, Cell] = {}
    for _, cell, seeds in points:
        own = known[cell.cell_id]
        if absent := lacking(own, seeds):
            called = str(own[0]["cell_id"]) if own else cell.cell_id
            missing.setdefault(called, cell._replace(cell_id=called, seeds=absent))
    return asked.question, list(missing.values())


def _of_points(
    points: Iterable[Sequence[str]], records: Sequence[Record]
) -> dict[frozenset[str], list[Record]]:
    """The records that were made with the overrides of each point, those with the fewest others first.

    Where one point's are part of another's, a record of both is the larger one's.
    """
    found: dict[frozenset[str], list[Record]] = {frozenset(point): [] for point in points}
    for record in sorted(records, key=lambda record: len(record["overrides"])):
        own = frozenset(map(str, record["overrides"]))
        fitting = [point for point in found if point <= own]
        largest = max(map(len, fitting), default=0)
        for point in fitting:
            if len(point) == largest:
                found[point].append(record)
    return found


def _composed(asked: Any, name: str) -> Iterable[tuple[list[str], Cell, list[int]]]:
    """Every point of a study's file: its overrides, its cell, its seeds less those that are excluded."""
    import hydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from attnlab.sweep import compose, identity, study

    with compose.composing() as loader:
        for point in asked.points:
            overrides = [*point, f"study={study.written(name)}"]
            try:
                config = hydra.compose("config", overrides=overrides, return_hydra_config=True)
                values, chosen = identity.plain(config), identity.choices(config)
                cell = Cell(identity.cell_name(config), identity.cell(config), values, [])
            except (HydraException, OmegaConfBaseException, ValueError) as error:
                raise UserError(compose.reason(error, loader, "config", overrides)) from error
            seeds = [
                seed
                for seed in asked.seeds or [int(values["seed"])]
                if not any(study.matches(rule, chosen, {**values, "seed": seed}) for rule in asked.exclude)
            ]
            yield point, cell, seeds


def _planned(sweeps: Path, done: set[tuple[str, str]]) -> list[Cell]:
    """The cells of the newest sweep, and of those that still run, less the finished runs."""
    cells: dict[str, Cell] = {}
    for folder in status.planned(sweeps):
        name, seed = folder.parent.name, folder.name.removeprefix("seed")
        words = name.split("-")
        if (name, seed) in done or len(words) != len(AXES) + 1:
            continue
        # `identity.cell_name`: scorer, decoder, window, encoder, hash.
        named = dict(zip(("scorer", "decoder", "window", "encoder"), words, strict=False))
        cell = {axis: None if named[axis] == str(None).lower() else named[axis] for axis in AXES}
        cells.setdefault(name, Cell(name, cell, {}, [])).seeds.append(seed)
    return list(cells.values())
