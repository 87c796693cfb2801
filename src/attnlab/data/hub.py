"""Sets of the Hugging Face hub that need no loading script."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attnlab.data.corpus import Corpus
from attnlab.data.tables import load, two_columns

if TYPE_CHECKING:
    from datasets import Dataset

REMEDY = (
    "with a network unset HF_HUB_OFFLINE and run once (HF_HOME keeps what it fetched); "
    "without one use data=files"
)


@dataclass(frozen=True, kw_only=True)
class HubCorpus(Corpus):
    """A set of the hub, or a folder laid out like one.

    Args:
        path: the repository, `owner/name`.
        config: its configuration, where it has several.
        revision: branch, tag or commit; None is the newest. The commit that was read is recorded.
        files: a pattern within the repository, with `{config}` and `{split}`, where it lacks a
            configuration that names its files.
        editions: by split and number of pairs, what a test set of that size is.
    """

    path: str
    config: str | None = None
    revision: str | None = None
    files: str | None = None
    editions: dict[str, dict[int, str]] | None = None

    @property
    def origin(self) -> str:
        """Repository and configuration."""
        return f"{self.path} ({self.config})" if self.config else self.path

    @property
    def version(self) -> str | None:
        """The revision asked for and the commit that was read."""
        return ", ".join(filter(None, [self.revision, *sorted(self._commits)])) or None

    @cached_property
    def _commits(self) -> set[str]:
        return set()

    def read(self, name: str) -> Dataset:
        """Fetch the split, or find it in the cache of `datasets`."""
        options: dict[str, Any] = {"revision": self.revision, "split": name}
        if self.files:
            options["data_files"] = {name: self.files.format(config=self.config, split=name)}
        else:
            options["name"] = self.config
        where = f"{self.origin}, split '{name}'"
        rows = load(where, REMEDY, self.path, **options)
        for url in rows.info.download_checksums or {}:
            self._commits.update(re.findall(r"@([0-9a-f]{40})/", str(url)))
        return two_columns(rows, self.source, self.target, where)

    def edition(self, name: str, pairs: int) -> str | None:
        """What a set of this size is, where sizes tell editions apart."""
        known = {int(size): text for size, text in ((self.editions or {}).get(name) or {}).items()}
        if not known:
            return None
        sizes = " or ".join(f"{size:,}" for size in sorted(known))
        return known.get(pairs, f"of unknown edition: {pairs:,} pairs instead of {sizes}")
