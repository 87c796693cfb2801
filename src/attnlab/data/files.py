"""Local bitext: text pairs, TSV, JSONL and Parquet, plain or gzip-compressed.

Text and TSV are split here at line feeds and nowhere else: the `text` and `csv` readers of `datasets` 5.2
also break lines at a lone CR, keep a byte-order mark in the first word, and take a quotation mark at the
start of a field for the opening of a quoted one. JSONL and Parquet are read by `datasets`.
"""

from __future__ import annotations

import glob
import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab.data.corpus import Corpus
from attnlab.data.tables import BOM, check_parquet, load, two_columns
from attnlab.errors import UserError

if TYPE_CHECKING:
    from datasets import Dataset

GZIP = b"\x1f\x8b"  # no UTF-8 text begins so
TABLES = {"tsv": None, "jsonl": "json", "json": "json", "parquet": "parquet"}


@dataclass(frozen=True, kw_only=True)
class FilesCorpus(Corpus):
    """Sentence pairs in files of one folder.

    A split `train` from `de` to `en` is looked for as `train.de` with `train.en`, then as `train.tsv`,
    `.jsonl`, `.json`, `.parquet`; each but Parquet also with `.gz`. Columns are named by language, or
    `source` and `target`, or are the `translation` of the Hugging Face hub; a TSV may go without a header
    and then has source and target in this order. `train.align`, or a column `alignment`, holds gold links.

    Args:
        dir: the folder.
    """

    dir: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dir", "source", "target"):
            if not getattr(self, name):
                raise UserError(
                    f"data.{name} is not set: data=files needs data.dir=DIR data.source=de data.target=en"
                )
        if not self.folder.is_dir():
            raise UserError(
                f"{self.folder}: no such folder; set data.dir to the one that holds the sentence pairs"
            )

    @property
    def folder(self) -> Path:
        """The folder, with `~` resolved."""
        return Path(self.dir or "").expanduser()

    @property
    def origin(self) -> str:
        """The folder's name; its place is the machine's own affair."""
        return f"files in {self.folder.resolve().name}"

    def read(self, name: str) -> Dataset:
        """Read the split from whichever files there are."""
        sides = [self._find(f"{name}.{language}") for language in (self.source, self.target)]
        if all(sides):
            return self._text(name, [side for side in sides if side])
        for ending, reader in TABLES.items():
            if found := self._find(f"{name}.{ending}"):
                return self._table(found, reader) if reader else self._tsv(found)
        for side, language in zip(sides, (self.target, self.source), strict=True):
            if side:
                raise UserError(
                    f"{side}: its other side, {name}.{language} or {name}.{language}.gz, is missing"
                )
        raise UserError(
            f"{self.folder}: nothing for split '{name}': no {name}.{self.source} with {name}.{self.target}, "
            f"no {name}.tsv, .jsonl, .parquet; set data.train, data.val, data.test, data.source, data.target"
        )

    def _find(self, name: str) -> Path | None:
        for path in (self.folder / name, self.folder / f"{name}.gz"):
            try:
                if path.exists():
                    return path
            except OSError as error:
                raise _unreadable(path, error) from error
        return None

    def _text(self, name: str, sides: Sequence[Path]) -> Dataset:
        from datasets import Dataset

        paths = {"source": sides[0], "target": sides[1]}
        if links := self._find(f"{name}.align"):
            paths["alignment"] = links
        columns = {column: read_lines(path) for column, path in paths.items()}
        first = len(columns["source"])
        for column, path in paths.items():
            if len(columns[column]) != first:
                raise UserError(
                    f"{paths['source']} has {first} lines, {path} has {len(columns[column])}: line n of one "
                    "must belong to line n of the other; mend the files, nothing is cut to the shorter"
                )
        return Dataset.from_dict(columns)

    def _tsv(self, path: Path) -> Dataset:
        from datasets import Dataset

        rows = [line.split("\t") for line in read_lines(path)]
        names = ["source", "target"]
        start = 0
        if rows and any(
            set(pair) <= set(rows[0]) for pair in ((self.source, self.target), ("source", "target"))
        ):
            names, start = rows[0], 1
            if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
                raise UserError(f"{path}, line 1: two columns are named {twice[0]}; give each its own name")
        elif rows and {cell.strip().casefold() for cell in rows[0]} >= {self.source, self.target}:
            raise UserError(
                f"{path}, line 1: names columns, but not exactly {self.source} and {self.target}; "
                "write the header so, or set data.source and data.target"
            )
        for number, row in enumerate(rows[start:], start=start + 1):
            if len(row) != len(names):
                raise UserError(
                    f"{path}, line {number}: {len(row)} columns instead of {len(names)}; a TSV has two, or a "
                    f"first line that names them, among them {self.source} and {self.target}"
                )
        columns = {name: [row[i] for row in rows[start:]] for i, name in enumerate(names)}
        return two_columns(Dataset.from_dict(columns), self.source, self.target, str(path))

    def _table(self, path: Path, reader: str) -> Dataset:
        remedy = "is it complete, and what its ending says?"
        if reader == "parquet":
            check_parquet(path)
        files, cache = glob.escape(str(path)), str(self.cache / "datasets")
        rows = load(str(path), remedy, reader, data_files=files, cache_dir=cache)
        return two_columns(rows, self.source, self.target, str(path))


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, plain or gzip, without byte-order marks and CR LF.

    Raises:
        UserError: it can't be opened, decompressed or decoded, or has no line ends but lone CRs.
    """
    try:
        data = path.read_bytes()
        if path.suffix == ".gz" or data.startswith(GZIP):
            data = gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: broken gzip file ({error}); fetch or compress it again") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}, line {line}: not UTF-8 ({error.reason}); convert it, for instance with iconv"
        ) from error
    lines = text.removeprefix(BOM).split("\n")
    if lines[-1] == "":
        lines.pop()
    elif len(lines) == 1 and "\r" in lines[0].removesuffix("\r"):
        raise UserError(
            f"{path}: its lines end in lone carriage returns; convert it, for instance with tr '\\r' '\\n'"
        )
    # Files that were put together hold a mark in front of each part.
    return [line.removeprefix(BOM).removesuffix("\r") for line in lines]


def _unreadable(path: Path, error: OSError) -> UserError:
    return UserError(f"{path}: can't be read ({error.strerror}); check the path and its permissions")
