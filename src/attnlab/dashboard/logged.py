"""What runs have logged to W&B, from the `.wandb` files in their folders: keys, kinds and settings.

Such a file is a log of LevelDB's form behind a header of 7 bytes: blocks of 32 KiB, records of checksum,
length and kind (1 whole, 2 first, 3 middle, 4 last), each record a protobuf message of W&B's.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnlab.errors import UserError

_BLOCK, _FILE_HEADER, _HEADER = 32 * 1024, 7, 7
_TABLES = frozenset({"table-file", "incremental-table-file", "partitioned-table"})
_IMAGES = frozenset({"image-file", "images/separated"})


@dataclass
class Logged:
    """The keys of some runs, together.

    Attributes:
        runs: how many runs.
        rows: a key of a history, and the keys that stood in a row with it.
        summary: keys with a final number.
        settings: a key of the config, and its values.
        images, tables: keys of media.
    """

    runs: int = 0
    rows: dict[str, set[str]] = field(default_factory=dict)
    summary: set[str] = field(default_factory=set)
    settings: dict[str, set[str]] = field(default_factory=dict)
    images: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)

    def values(self, key: str) -> list[str]:
        """The values of a setting over the runs, sorted."""
        return sorted(self.settings.get(key, ()))

    def add(self, other: Logged) -> None:
        """Takes in the keys of other runs."""
        self.runs += other.runs
        for mine, theirs in ((self.rows, other.rows), (self.settings, other.settings)):
            for key, values in theirs.items():
                mine.setdefault(key, set()).update(values)
        self.summary |= other.summary
        self.images |= other.images
        self.tables |= other.tables


def of_folders(folders: Sequence[Path], study: str | None = None) -> Logged:
    """The keys of all runs under some folders, or of a study's alone.

    Raises:
        UserError: no folder, no W&B file in it, none of the study, or one that cannot be read.
    """
    paths = []
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; give one of runs with --runs FOLDER")
        paths += sorted(folder.rglob("wandb/*run-*/run-*.wandb"))
    if not paths:
        named = ", ".join(map(str, folders))
        raise UserError(f"{named}: no run has logged to W&B; train with logger=wandb, or give --runs FOLDER")
    found = Logged()
    studies = set()
    for path in dict.fromkeys(paths):
        one = of_file(path)
        studies.update(one.values("study"))
        if study is None or study in one.settings.get("study", ()):
            found.add(one)
    if not found.runs:
        there = ", ".join(sorted(studies - {"None"})) or "none"
        raise UserError(f"--study {study}: no run of it among {len(paths)}; studies there: {there}")
    return found


def of_file(path: Path) -> Logged:
    """The keys of one run.

    Raises:
        UserError: it is no file of W&B's.
    """
    found = Logged(runs=1)
    try:
        for record in _records(path):
            for update in (record.run.config.update, record.config.update):
                for item in update:
                    key, value = _item(item)
                    if not key.startswith("_"):
                        found.settings.setdefault(key, set()).add(str(value))
            _note_summary(found, record.summary.update)
            if record.HasField("history"):
                _note_row(found, record.history.item)
    except (OSError, ValueError, struct.error) as error:
        raise UserError(f"{path}: no file of W&B's: {error}; leave it out, or train the run again") from error
    return found


def _note_row(found: Logged, items: Sequence[Any]) -> None:
    row = set()
    for item in items:
        key, value = _item(item)
        _note_media(found, key, item, value)
        if isinstance(value, int | float) and not item.nested_key[1:]:
            row.add(key)
    for key in row:
        found.rows.setdefault(key, set()).update(row - {key})
    found.summary |= row  # W&B keeps the last value of each


def _note_summary(found: Logged, items: Sequence[Any]) -> None:
    for item in items:
        key, value = _item(item)
        _note_media(found, key, item, value)
        if isinstance(value, int | float):
            found.summary.add(key if not item.nested_key[1:] else ".".join(item.nested_key))


def _note_media(found: Logged, key: str, item: Any, value: Any) -> None:
    """A medium is a mapping with its kind under `_type`, written whole or a part an item."""
    kind = value.get("_type") if isinstance(value, dict) else None
    if list(item.nested_key[1:]) == ["_type"]:
        kind = value
    if kind in _TABLES:
        found.tables.add(key)
    elif kind in _IMAGES:
        found.images.add(key)


def _item(item: Any) -> tuple[str, Any]:
    return item.key or item.nested_key[0], json.loads(item.value_json)


def _records(path: Path) -> Iterator[Any]:
    """The messages of a file, up to one that was cut short when the run was killed."""
    from google.protobuf.message import DecodeError
    from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]

    data = path.read_bytes()
    if data[:4] != b":W&B":
        raise ValueError("its first bytes are not those of one")
    place = _FILE_HEADER
    parts: list[bytes] = []
    while place + _HEADER <= len(data):
        left = _BLOCK - place % _BLOCK
        if left < _HEADER:
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + _HEADER])
        part = data[place + _HEADER : place + _HEADER + length]
        if kind == 0 or len(part) < length:
            return
        parts = [part] if kind in (1, 2) else [*parts, part]
        place += _HEADER + length
        if kind in (1, 4):
            record = Record()
            try:
                record.ParseFromString(b"".join(parts))
            except DecodeError as error:
                raise ValueError("a record that cannot be read") from error
            yield record
