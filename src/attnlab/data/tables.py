"""Tables that `datasets` reads, brought into the two columns of a corpus."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attnlab.errors import UserError

if TYPE_CHECKING:
    from datasets import Dataset

BOM = "\ufeff"


def load(where: str, remedy: str, *arguments: Any, **options: Any) -> Dataset:
    """`datasets.load_dataset` without progress bars, its errors in one line.

    Args:
        where: the place to name in an error.
        remedy: what the user can do about it.
        *arguments: those of `load_dataset`.
        **options: those of `load_dataset`; `split` is "train" unless given.
    """
    import datasets

    quiet = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        return datasets.load_dataset(*arguments, **{"split": "train", **options})
    except Exception as error:  # anything from OSError to pyarrow's own
        cause = error.__cause__ or error
        line = (str(cause) or type(cause).__name__).strip().splitlines()[0].rstrip(".")
        raise UserError(f"{where}: {line}; {remedy}") from error
    finally:
        if not quiet:
            datasets.enable_progress_bars()


def two_columns(rows: Dataset, source: str, target: str, where: str) -> Dataset:
    """Columns `source`, `target` and, if there is one, `alignment`, of strings on one line each.

    Raises:
        UserError: no columns of that name, or not text in them.
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
        if rows.features[name].dtype not in ("string", "large_string", "null"):
            raise UserError(f"{where}: column {name} holds {rows.features[name].dtype}, not text")
    rows = rows.select_columns(list(names)).rename_columns(names)
    quiet = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        features = datasets.Features(dict.fromkeys(names.values(), datasets.Value("string")))
        return rows.map(_clean, batched=True, features=features)
    finally:
        if not quiet:
            datasets.enable_progress_bars()


def _clean(batch: dict[str, list[str | None]]) -> dict[str, list[str]]:
    """No missing values, no line breaks within a sentence, no byte-order mark in front of one."""
    return {
        name: [re.sub(r"[\r\n]+", " ", (text or "").removeprefix(BOM)).strip(" ") for text in texts]
        for name, texts in batch.items()
    }
