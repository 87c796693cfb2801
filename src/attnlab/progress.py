"""`progress.json`: how far a run has come, for whoever watches it from outside. Standard library only."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

NAME = "progress.json"
SECONDS = 2.0
"""The least time between two writings within a phase."""


class ProgressFile:
    """Writes `progress.json` of one run, over all its attempts.

    `{phase, update, of, epoch, tokens_per_s, seconds, left_s, pid, host, at}`, and for the next attempt
    `training_s` (seconds in the training loop) and `resumed_at` (updates at which attempts took up).

    Args:
        folder: the run folder.
        first: whether this process is the one that writes.
    """

    def __init__(self, folder: Path, first: bool = True):
        self.path, self.first = Path(folder) / NAME, first
        before = read(self.path)
        self._seconds = _number(before.get("seconds"))
        self._training = _number(before.get("training_s"))
        points = before.get("resumed_at")
        self.resumed_at: list[int] = list(points) if isinstance(points, list) else []
        self._began = time.monotonic()
        self._trains: float | None = None
        self._last = float("-inf")
        self._state: dict[str, Any] = {
            "phase": "data",
            "update": 0,
            "of": None,
            "epoch": 0,
            "tokens_per_s": None,
            "left_s": None,
        }

    def seconds(self) -> float:
        """What the run has taken, over all attempts."""
        return self._seconds + time.monotonic() - self._began

    def training_s(self) -> float:
        """What it has taken in the training loop."""
        running = time.monotonic() - self._trains if self._trains is not None else 0.0
        return self._training + running

    def at_least(self, training_s: float) -> None:
        """Learns from a checkpoint what earlier attempts have taken, where this file was lost."""
        self._training = max(self._training, training_s)

    def phase(self, name: str, **state: Any) -> None:
        """A new phase: `data`, `training`, `testing`."""
        if name == "training":
            self._trains = time.monotonic()
        elif self._trains is not None:
            self._training, self._trains = self.training_s(), None
        self.write(phase=name, tokens_per_s=None, left_s=None, **state)

    def due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() - self._last >= SECONDS

    def note(self, update: int, epoch: int) -> None:
        """Keeps in mind how far the training is, for the next writing."""
        self._state.update(update=update, epoch=epoch)

    def tick(self) -> None:
        """Writes, if it is time: nothing new but the hour."""
        if self.due():
            self.write()

    def write(self, **state: Any) -> None:
        """Writes the state with these changes. A full disk or a lost folder must not end a training."""
        self._state.update(state)
        self._last = time.monotonic()
        if not self.first:
            return
        content = {
            **self._state,
            "seconds": round(self.seconds(), 2),
            "training_s": round(self.training_s(), 2),
            "resumed_at": self.resumed_at,
            "pid": os.getpid(),
            "host": os.uname().nodename,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        temporary = self.path.with_name(f".{NAME}")
        try:
            temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")
            temporary.replace(self.path)
        except OSError:
            pass

    def remove(self) -> None:
        """Takes the file away: the run has its record."""
        if self.first:
            self.path.unlink(missing_ok=True)


def read(path: Path) -> dict[str, Any]:
    """What the file says; empty where there is none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
