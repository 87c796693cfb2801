"""What every corpus offers, and the options that all of them share."""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import UserError

if TYPE_CHECKING:
    from datasets import Dataset

LINK = re.compile(r"(\d+)[-p](\d+)")


@dataclass(frozen=True, kw_only=True)
class Corpus(ABC):
    """Sentence pairs by split, and how they are to be loaded.

    Args:
        source, target: languages; also the names of columns or file endings.
        train, val: the splits to train on and to choose the checkpoint by.
        test: the splits that are decoded at the end.
        lowercase: the tokenisers see lower-cased text; the rows keep their case, so score with
            `metrics.bleu.lowercase`, which chrF follows.
        max_train_length: training pairs with more white-space words on either side are left out, counted.
        max_train_pairs: at most so many training pairs, drawn by `seed`; a smaller number draws a subset.
        seed: of everything that is drawn about the data; not the model's.
        batch_tokens: sentences x longest side of a batch, padding and end mark included, on each process.
        batch_sentences: most sentences of a batch; holds beside `batch_tokens`. At least one is set.
        source_eos: puts the end mark behind the source too.
        workers: processes that collate batches.
        cache_dir: tokenisers and encoded text, by content; None is `$ATTNLAB_CACHE`, then `~/.cache/attnlab`.
        licence: kept in the record.
        show_samples: whether sentences may be shown in reports and dashboards.
        unknown_limit: share of unknown pieces above which a split is warned about.
    """

    source: str
    target: str
    train: str = "train"
    val: str = "val"
    test: list[str] = field(default_factory=lambda: ["test"])
    lowercase: bool = False
    max_train_length: int | None = None
    max_train_pairs: int | None = None
    seed: int = 1
    batch_tokens: int | None = 4096
    batch_sentences: int | None = None
    source_eos: bool = False
    workers: int = 0
    cache_dir: str | None = None
    licence: str | None = None
    show_samples: bool = False
    unknown_limit: float = 0.2

    def __post_init__(self) -> None:
        test = [self.test] if isinstance(self.test, str) else [str(name) for name in self.test]
        object.__setattr__(self, "test", test)
        for name in ("max_train_length", "max_train_pairs", "batch_tokens", "batch_sentences"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"data.{name}={value}: must be at least 1, or null")
        if self.batch_tokens is None and self.batch_sentences is None:
            raise UserError("data.batch_tokens and data.batch_sentences are both null: set one of them")
        if self.source and self.source == self.target:
            raise UserError(f"data.source and data.target are both {self.source}: name the two sides")
        for name in test:
            # A set's name is a folder of the run: nothing may be written outside it.
            if not name.strip() or Path(name).is_absolute() or ".." in Path(name).parts:
                raise UserError(
                    f"data.test={test}: '{name}' is no name of a split; set data.dir to the folder instead"
                )
        if len(set(test)) < len(test):
            raise UserError(f"data.test={test}: a test set is named twice")

    @abstractmethod
    def read(self, name: str) -> Dataset:
        """The split as it is stored: string columns `source`, `target`, and `alignment` where known."""

    @property
    @abstractmethod
    def origin(self) -> str:
        """Where the text comes from, for the record."""

    @property
    def version(self) -> str | None:
        """The version of the text, where its origin has one."""
        return None

    def edition(self, name: str, pairs: int) -> str | None:
        """Which edition of a test set one with so many pairs is, where sizes tell."""
        return None

    @property
    def splits(self) -> list[str]:
        """Every split of a run, each once: training, validation, test sets."""
        return list(dict.fromkeys([self.train, self.val, *self.test]))

    def split(self, name: str) -> Dataset:
        """The split `name`, read and checked once.

        Raises:
            UserError: it is absent, unreadable, empty, or a link points outside its sentence pair.
        """
        if name not in self._read:
            rows = self.read(name)
            if len(rows) == 0:
                raise UserError(f"{self.origin}: split '{name}' holds no sentence pairs")
            check_alignment(rows, f"{self.origin}, split '{name}'")
            self._read[name] = rows
        return self._read[name]

    @cached_property
    def _read(self) -> dict[str, Dataset]:
        return {}

    def fingerprint(self, name: str) -> str:
        """A hash of the split's text, so that a cache can't outlive a change in place."""
        if name not in self._fingerprints:
            rows = self.split(name)
            self._fingerprints[name] = content_hash(
                text for column in ("source", "target") for text in rows[column][:]
            )
        return self._fingerprints[name]

    @cached_property
    def _fingerprints(self) -> dict[str, str]:
        return {}

    def describe(self) -> dict[str, Any]:
        """Languages, licence, origin and revision, for the record."""
        return {
            "languages": {"source": self.source, "target": self.target},
            "licence": self.licence,
            "source": self.origin,
            "revision": self.version,
        }

    @property
    def cache(self) -> Path:
        """The folder of everything derived from text."""
        if self.cache_dir:
            return Path(self.cache_dir).expanduser()
        if named := os.environ.get("ATTNLAB_CACHE"):
            return Path(named).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "attnlab"


def content_hash(parts: Iterable[str]) -> str:
    """16 hex digits over strings and their borders (0xFF occurs in no UTF-8 text)."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\xff")
    return digest.hexdigest()


def check_alignment(rows: Dataset, where: str) -> None:
    """Raise UserError when a link isn't `i-j` (or `ipj`) or points outside the white-space words."""
    if "alignment" not in rows.column_names:
        return
    columns = (rows[name][:] for name in ("source", "target", "alignment"))
    for line, (source, target, links) in enumerate(zip(*columns, strict=True), start=1):
        limits = len(source.split()), len(target.split())
        for link in (links or "").split():
            match = LINK.fullmatch(link)
            if match is None:
                raise UserError(f"{where}, line {line}: '{link}' is no link; write i-j, words counted from 0")
            if int(match[1]) >= limits[0] or int(match[2]) >= limits[1]:
                raise UserError(
                    f"{where}, line {line}: link {link} points outside {limits[0]} source and {limits[1]} "
                    "target words; links count white-space words from 0"
                )
