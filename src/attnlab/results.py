"""The record of one run: what it holds, how it is checked, written, read and found.

Standard library only, so that records can be read anywhere in no time. The fields are explained in
docs/results.md. A number without its signature, seed and configuration does not exist: `check` refuses it.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.errors import UserError
from attnlab.provenance import code_state, machine, versions
from attnlab.schema import DONE, FAILED, REQUIRED, SCHEMA, check

__all__ = [
    "DONE", "EVALUATIONS", "FAILED", "FILES", "REQUIRED", "SCHEMA",
    "Found", "Record", "attends", "build", "build_evaluation", "check", "code_state", "evaluations", "find",
    "machine", "plain", "read", "versions", "write", "write_evaluation", "write_json",
]  # fmt: skip

FILES = {DONE: "result.json", FAILED: "failed.json"}
EVALUATIONS = "evaluations"

Record = dict[str, Any]


def build(**fields: Any) -> Record:
    """A checked record of a finished or failed run, ready for `write`.

    Give `cell`, `factors`, `cell_id`, `seed`, `overrides`, `command`, `config`, and for a finished run
    `data`, `parameters`, `train`, `val`, `test`; for a failed one `error` (an exception, or
    `{type, message}`) and `train` (at least `wall_s`). `schema`, `status`, `ended`, `code`, `versions` and
    `machine` are filled in where they are not given.

    Raises:
        UserError: a required field is missing; the message names it.
    """
    record = _filled(fields)
    error = record.get("error")
    if isinstance(error, BaseException):
        record["error"] = {"type": type(error).__name__, "message": str(error)}
    record.setdefault("status", FAILED if error is not None else DONE)
    record = plain(record)
    check(record)
    return record


def build_evaluation(**fields: Any) -> Record:
    """A checked further evaluation of a finished run, for `write_evaluation`.

    Give `cell_id`, `seed`, `overrides`, `command`, `checkpoint`, `data` and `test`; the rest is filled in.

    Raises:
        UserError: a required field is missing; the message names it.
    """
    record = plain(_filled(fields))
    check(record, kind="evaluation")
    return record


def write(record: Record, folder: Path) -> Path:
    """Writes a run's record into its folder, `result.json` or, for a failed run, `failed.json`.

    A reader sees the old file, or the complete new one. A finished run takes away the record of an earlier
    failure in the same folder.
    """
    check(record)
    path = write_json(record, Path(folder) / FILES[record["status"]])
    if record["status"] == DONE:
        (Path(folder) / FILES[FAILED]).unlink(missing_ok=True)
    return path


def write_evaluation(record: Record, folder: Path, name: str) -> Path:
    """Writes `evaluations/<name>.json` into a run's folder; `result.json` stays as it is."""
    check(record, kind="evaluation")
    return write_json(record, Path(folder) / EVALUATIONS / f"{name}.json")


def write_json(value: Any, path: Path) -> Path:
    """Writes JSON under a temporary name in the same folder, then renames it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def read(path: Path, kind: str | None = None) -> Record:
    """Reads and checks one record; `path` is a file, or the folder of a run.

    Raises:
        UserError: no such file, no JSON, or a missing field; the message names the file.
    """
    path = Path(path)
    if path.is_dir():
        path = next((path / name for name in FILES.values() if (path / name).exists()), path / FILES[DONE])
    try:
        # `plain` writes null for what is not finite; so is read what another program wrote as NaN.
        record = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda name: None)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: no valid JSON ({error}); the run must write it again") from error
    check(record, kind, where=str(path))
    return record


class Found(NamedTuple):
    """What `find` saw: records with their run folders, complaints of a line each, runs without a record."""

    records: list[tuple[Path, Record]]
    problems: list[str]
    unfinished: list[Path]


def find(folders: Iterable[Path]) -> Found:
    """All records under the folders, at any depth, each once, in order of their paths.

    A file that cannot be read becomes a line in `problems`. A run folder that holds a configuration but
    no record (running, or killed) is listed as `unfinished`. A folder with both records counts as done.

    Raises:
        UserError: a folder does not exist.
    """
    seen: set[Path] = set()
    records, problems, unfinished = [], [], []
    for top in map(Path, folders):
        if not top.is_dir():
            reason = "this is a file" if top.exists() else "no such folder"
            raise UserError(f"{top}: {reason}; give the folder of a run or one above it")
        for place, below, names in os.walk(top):
            below.sort()
            folder = Path(place)
            name = next((name for name in FILES.values() if name in names), None)
            if name is None and not ("config.yaml" in names and folder.name.startswith("seed")):
                continue
            below.clear()  # a run holds no further runs
            if folder.resolve() in seen:
                continue
            seen.add(folder.resolve())
            if name is None:
                unfinished.append(folder)
                continue
            try:
                records.append((folder, read(folder / name)))
            except UserError as error:
                problems.append(str(error))
    records.sort(key=lambda pair: str(pair[0]))
    return Found(records, problems, sorted(unfinished))


def evaluations(folder: Path, problems: list[str] | None = None) -> dict[str, Record]:
    """The further evaluations of a run by name.

    Args:
        folder: the run's.
        problems: gets a line for each file that cannot be read, which is then left out.

    Raises:
        UserError: one of them cannot be read, and there are no `problems`.
    """
    found = {}
    for path in sorted((Path(folder) / EVALUATIONS).glob("*.json")):
        try:
            found[path.stem] = read(path, kind="evaluation")
        except UserError as error:
            if problems is None:
                raise
            problems.append(str(error))
    return found


def plain(value: Any) -> Any:
    """The value as JSON can hold it: plain containers and numbers, null for NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "tolist"):  # numpy and torch, without importing either
        return plain(value.tolist())
    return str(value)


def attends(record: Mapping[str, Any]) -> bool:
    """Whether the run's decoder attends at all: a cell without attention records its scorer as null."""
    return record["cell"]["scorer"] not in (None, "none")


def _filled(fields: Mapping[str, Any]) -> Record:
    record: Record = {"schema": SCHEMA, **fields}
    record.setdefault("ended", datetime.now(UTC).isoformat(timespec="seconds"))
    for name, ask in (("code", code_state), ("versions", versions), ("machine", machine)):
        if name not in record:
            record[name] = ask()
    return record
