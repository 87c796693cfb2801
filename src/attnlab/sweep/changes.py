"""What has changed since a run was trained: the text of its data, and the code. No torch."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attnlab.errors import UserError

_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")


class Data:
    """Compares the fingerprints that a record holds with those of the text that its settings name now.

    Each corpus is read once, from this machine alone.
    """

    def __init__(self) -> None:
        self._now: dict[str, dict[str, str] | str] = {}

    def changed(self, record: Mapping[str, Any], values: Mapping[str, Any]) -> str:
        """The splits whose text is another one now, with commas; empty where none is, or none can be told.

        Args:
            record: of a finished run.
            values: the settings that would train it again.
        """
        before = (record.get("data") or {}).get("fingerprints")
        if not isinstance(before, Mapping) or not before:
            return ""
        now = self.now(values)
        if isinstance(now, str):
            return ""
        return ", ".join(name for name, mark in before.items() if name in now and now[name] != mark)

    def now(self, values: Mapping[str, Any]) -> dict[str, str] | str:
        """Fingerprints by split, or why there are none."""
        key = json.dumps(values.get("data"), sort_keys=True, default=str)
        if key not in self._now:
            self._now[key] = _fingerprints(values)
        return self._now[key]

    @property
    def unknown(self) -> list[str]:
        """Why some corpora were not compared, a line each."""
        return sorted({f"data not compared: {why}" for why in self._now.values() if isinstance(why, str)})


def _fingerprints(values: Mapping[str, Any]) -> dict[str, str] | str:
    with _offline():
        from attnlab.build import build_corpus

        try:
            corpus = build_corpus(values)
            return {name: corpus.fingerprint(name) for name in corpus.splits}
        except UserError as error:
            return str(error)
        except Exception as error:  # of a corpus of the user's own
            return " ".join(f"{type(error).__name__}: {error}".split())


@contextmanager
def _offline() -> Iterator[None]:
    """`datasets` reads these when it is imported; processes that are started later must not inherit them."""
    before = {name: os.environ.get(name) for name in _OFFLINE}
    os.environ.update(dict.fromkeys(_OFFLINE, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def other_code(record: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The commit that trained a run, where it is known and not the one of this code; else empty."""
    then = (record.get("code") or {}).get("commit")
    return str(then)[:8] if then and now.get("commit") and then != now["commit"] else ""
