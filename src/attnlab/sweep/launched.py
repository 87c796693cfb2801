"""A cell of a sweep as the local pool takes it: its folder, its command, and what has become of it."""

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from attnlab.errors import UserError
from attnlab.results import DONE, FAILED, FILES
from attnlab.sweep import compose, pool, process, state
from attnlab.sweep.slots import Need

_SHOWN, _KEPT = 5, 40  # last lines of a log: in the summary, and in `failed.json`


class Cell:
    """One cell, as the pool takes it.

    Args:
        name: as it is shown.
        overrides: those of its command line.
        composing: gives its configuration; asked once, when its turn comes, because it takes a while.
        limits: the launcher's.
    """

    def __init__(
        self,
        name: str,
        overrides: list[str],
        composing: Callable[[], DictConfig],
        limits: pool.Limits,
    ) -> None:
        self.name, self.overrides, self._composing, self._limits = name, overrides, composing, limits
        self._config: DictConfig | None = None
        self._launched = self._begun = time.time()
        self._before: dict[str, int | None] = {}
        self._spent, self._logged = 0.0, 0

    @property
    def composed(self) -> bool:
        """Whether its turn has come."""
        return self._config is not None

    @property
    def config(self) -> DictConfig:
        """Its configuration."""
        if self._config is None:
            self._config = self._composing()
        return self._config

    @property
    def folder(self) -> Path:
        """Its run folder."""
        return compose.sweep_folder(self.config)

    @property
    def need(self) -> Need:
        """What its trainer asks for."""
        ranks = _number(OmegaConf.select(self.config, "trainer.devices"))
        on_cpu = OmegaConf.select(self.config, "trainer.accelerator") == "cpu"
        return Need(max(ranks, 1), 0 if on_cpu else ranks, self.name)

    def look(self) -> pool.Verdict | None:
        """Not to be started: finished, or tried by another launcher, since this one began."""
        record, failed = state.finished(self.folder), state.failure(self.folder)
        if record is not None and (not self.config.rerun or self._since_launch(DONE)):
            return pool.Verdict(DONE, "by another process" + _scores(record))
        tried = not self._before and self._since_launch(FAILED)
        if failed is not None and tried and not state.stopped(failed):
            return pool.Verdict(FAILED, f"under another launcher: {_told(failed)}", self._tail(_SHOWN))
        return None

    def command(self, attempt: int) -> list[str]:
        """The command line of `attnlab train` for this cell alone."""
        self._begun = time.time()
        self._before = {name: _changed(self.folder / file) for name, file in FILES.items()}
        earlier = state.progress(self.folder)
        log = self.folder / state.LOG
        self._logged = log.stat().st_size if log.exists() else 0
        afresh = bool(self.config.rerun) and not attempt
        self._spent = 0.0 if afresh or earlier is None else _seconds(earlier)
        # What the process prints goes to the log that Hydra itself writes: no second copy by console.
        return [
            *(sys.executable, "-m", "attnlab.train", *compose.cell_arguments(self.config, self.folder)),
            "hydra.job_logging.root.handlers=[file]",
            *(["rerun=false"] if self.config.rerun and attempt else []),  # go on from where it failed
        ]

    def judge(self, end: process.End) -> pool.Verdict:
        """Done by its record; else failed, or stopped by us."""
        record, failed = state.finished(self.folder), state.failure(self.folder)
        if record is not None and self._new(DONE):
            after = f", but its process ended with {end.status} after that" if end.status else ""
            return pool.Verdict(DONE, _scores(record).removeprefix(", ") + after)
        if end.cause == process.STOPPED:
            return pool.Verdict(state.INTERRUPTED)
        own = failed is not None and self._new(FAILED) and not state.stopped(failed)
        if own and failed is not None and end.cause is None:
            return pool.Verdict(FAILED, f"ended with {end.status}: {_told(failed)}", self._tail(_SHOWN))
        kind, message = self._reason(end)
        try:
            cost, lines = self._cost(end), self._tail(_KEPT)
            state.mark_failed(self.folder, compose.cell_dict(self.config), kind, message, lines, cost)
        except (OSError, UserError) as error:
            message += f"; {FILES[FAILED]} cannot be written: {error}"
        return pool.Verdict(FAILED, message, self._tail(_SHOWN))

    def _reason(self, end: process.End) -> tuple[str, str]:
        """The type and the message of a failure of which its process has left no word."""
        if end.cause == process.TIMEOUT:
            return "Timeout", f"took longer than hydra.launcher.timeout={self._limits.timeout:g} s"
        if end.cause == process.STALLED:
            return (
                "Stalled",
                f"hydra.launcher.stall={self._limits.stall:g} s without a word in its log or progress",
            )
        number = -end.status if end.status < 0 else end.status - 128
        if number == signal.SIGKILL:
            if end.memory is not False:
                counted = "" if end.memory is None else "; the system has just counted such a kill"
                return "Killed", f"killed by SIGKILL, most likely for lack of memory{counted}"
            ranks = ", perhaps by Lightning because another rank died" if self.need.ranks > 1 else ""
            return "Killed", f"killed by SIGKILL, not for lack of memory and not by this launcher{ranks}"
        if number in {*signal.Signals}:
            return "Killed", f"ended by {signal.Signals(number).name}, which this launcher did not send"
        if end.status == 0:
            return "Exited", f"ended with 0, but left no {FILES[DONE]}"
        return "Exited", f"ended with {end.status}"

    def _cost(self, end: process.End) -> float:
        """Seconds of all attempts, as far as the cell has kept count."""
        found = state.progress(self.folder)
        changed = _changed(self.folder / state.PROGRESS)
        if found is not None and changed is not None and changed / 1e9 > self._begun:
            return max(_seconds(found) + time.time() - changed / 1e9, end.seconds)
        return self._spent + end.seconds

    def _since_launch(self, name: str) -> bool:
        changed = _changed(self.folder / FILES[name])
        return changed is not None and changed / 1e9 > self._launched

    def _new(self, name: str) -> bool:
        """Whether this attempt has written the file."""
        changed = _changed(self.folder / FILES[name])
        return changed is not None and changed != self._before.get(name)

    def _tail(self, count: int) -> str:
        """The last lines that this attempt has added to its log, indented."""
        try:
            with (self.folder / state.LOG).open("rb") as file:
                size = file.seek(0, 2)
                since = self._logged if size >= self._logged else 0
                file.seek(max(since, size - 64 * 1024))
                lines = file.read().decode(errors="replace").splitlines()
        except OSError:
            return "    (no log)"
        kept = [line for line in lines if line.strip() and "HYDRA_FULL_ERROR" not in line][-count:]
        return "\n".join(f"    {line}" for line in kept)


def _number(devices: Any) -> int:
    """How many devices `trainer.devices` asks for; -1 for all that there are."""
    if isinstance(devices, str) and devices.lstrip("-").isdigit():
        devices = int(devices)
    if isinstance(devices, int) and not isinstance(devices, bool):
        return devices if devices > 0 else -1
    if isinstance(devices, str) and "," in devices:
        return len([one for one in devices.split(",") if one.strip()])
    if OmegaConf.is_list(devices):
        return len(devices)
    return -1  # auto


def _told(record: dict[str, Any]) -> str:
    """The error of a failed record, in one line."""
    error = state.error(record)
    return " ".join(f"{error.get('type')}: {error.get('message')}".split())


def _scores(record: dict[str, Any]) -> str:
    scores = state.bleu(record)
    return f", BLEU {scores}" if scores else ""


def _seconds(progress: dict[str, Any]) -> float:
    seconds = progress.get("seconds")
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def _changed(path: Path) -> int | None:
    """When a file was last written, in ns; None where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
