"""Tables that `datasets` reads, brought into the two columns of a corpus."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import UserError

if TYPE_CHECKING:
    from datasets import Dataset

BOM = "\ufeff"


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars of `datasets`, and no second telling of what its readers raise."""
    import datasets

    bars = datasets.are_progress_bars_disabled()
    readers = logging.getLogger("datasets.packaged_modules")
    level = readers.level
    datasets.disable_progress_bars()
    readers.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        readers.setLevel(level)
        if not bars:
            datasets.enable_progress_bars()


def load(where: str, remedy: str, *arguments: Any, **options: Any) -> Dataset:
    """`datasets.load_dataset` without progress bars, its errors in one line.

    Args:
        where: the place to name in an error.
        remedy: what the user can do about it.
        *arguments: those of `load_dataset`.
        **options: those of `load_dataset`; `split` is "train" unless given.
    """
    import datasets

    try:
        with _quiet():
            return datasets.load_dataset(*arguments, **{"split": "train", **options})
    except Exception as error:  # anything from OSError to pyarrow's own
        cause = error.__cause__ or error
        line = (str(cause) or type(cause).__name__).strip().splitlines()[0].rstrip(".")
        if isinstance(cause, StopIteration):  # how the JSON reader says it
            line = "holds no sentence pairs"
        raise UserError(f"{where}: {line}; {remedy}") from error


def check_parquet(path: Path) -> None:
    """Refuse what `datasets` tells in its own terms: a file without rows, and two columns of one name.

    Raises:
        UserError: one of these. A file that is no Parquet is left to `load`.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names, rows = file.schema_arrow.names, file.metadata.num_rows
    except (OSError, pyarrow.ArrowException):
        return
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise UserError(f"{path}: two columns are named {twice[0]}; give each its own name")
    if rows == 0:
        raise UserError(f"{path}: holds no sentence pairs")


def two_columns(rows: Dataset, source: str, target: str, where: str) -> Dataset:
    """Columns `source`, `target` and, if there is one, `alignment`, of strings on one line each.

    Raises:
        UserError: no columns of that name, or not text in them, or not UTF-8.
    """
    import datasets

    if "translation" in rows.column_names:
        rows = rows.flatten()
    found = set(rows.column_names)
    for pair in ((source, target), ("source", "target"), (f"translation.{source}", f"translation.{target}")):
        if found.issuperset(pair):
            break
    else:
        raise UserError(
            f"{where}: no columns {source} and {target} among {', '.join(sorted(found))}; "
            "set data.source and data.target"
        )
    names = {pair[0]: "source", pair[1]: "target"} | (
        {"alignment": "alignment"} if "alignment" in found else {}
    )
    for name in names:
        kind = getattr(rows.features[name], "dtype", "lists, objects or values of several kinds")
        if kind not in ("string", "large_string", "string_view", "null"):
            raise UserError(f"{where}: column {name} holds {kind}, not text; give it a string a row")
    rows = rows.select_columns(list(names)).rename_columns(names)
    features = datasets.Features(dict.fromkeys(names.values(), datasets.Value("string")))
    try:
        with _quiet():
            return rows.map(_clean, batched=True, features=features)
    except UnicodeDecodeError as error:
        raise UserError(
            f"{where}: not UTF-8 ({error.reason}); convert it, for instance with iconv"
        ) from error


def _clean(batch: dict[str, list[str | None]]) -> dict[str, list[str]]:
    """No missing values, no line breaks within a sentence, no byte-order mark in front of one."""
    return {
        name: [re.sub(r"[\r\n]+", " ", (text or "").removeprefix(BOM)).strip(" ") for text in texts]
        for name, texts in batch.items()
    }
