"""A queue of cells over a machine's slots: each a command, claimed, run, watched, judged, tried again.

What a cell is, and whether it went well, is the business of `Work`; this module knows commands, folders and
locks alone.
"""

import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from attnlab.errors import UserError
from attnlab.sweep import guard, process, state
from attnlab.sweep.process import End, Process
from attnlab.sweep.slots import Need, Share, Slots

_POLL = 0.1  # seconds
_LOOK_AGAIN = 1.0  # seconds between two looks at a cell that somebody else has


@dataclass(frozen=True)
class Verdict:
    """What has become of a cell."""

    state: (
        str  # of `state`: DONE, FAILED; INTERRUPTED for one that was stopped, PENDING for one never started
    )
    words: str = ""  # in one line
    detail: str = ""  # last lines of its log


class Work(Protocol):
    """One cell."""

    @property
    def name(self) -> str:
        """As it is shown."""

    @property
    def folder(self) -> Path:
        """Its run folder; made when the cell is claimed."""

    @property
    def need(self) -> Need:
        """What it runs on."""

    def look(self) -> Verdict | None:
        """Asked when the cell is claimed: None to start it, else why not."""

    def command(self, attempt: int) -> Sequence[str]:
        """What to run, for the first attempt (0) and the further ones."""

    def judge(self, end: End) -> Verdict:
        """What an attempt has come to; leaves `failed.json` where its process did not."""


class View(Protocol):
    """Who watches."""

    def started(self, index: int, running: Process, attempt: int) -> None:
        """A cell's process has begun."""

    def held(self, index: int) -> None:
        """A cell is somebody else's for now."""

    def again(self, index: int, verdict: Verdict) -> None:
        """A cell has failed and goes to the end of the queue."""

    def ended(self, index: int, verdict: Verdict, seconds: float | None) -> None:
        """A cell has come to its end; `seconds` is None for one that was not started here."""

    def tick(self, running: Mapping[int, Process], waiting: int) -> None:
        """Some time has passed."""


@dataclass(frozen=True)
class Limits:
    """When a cell is ended, tried again, or the end of all.

    Raises:
        UserError: a number that makes no sense.
    """

    grace: float = 20  # seconds
    timeout: float | None = None  # seconds
    stall: float | None = None  # seconds
    fail_fast: bool = False
    max_retries: int = 0

    def __post_init__(self) -> None:
        for name in ("grace", "timeout", "stall", "max_retries"):
            value, wanted = getattr(self, name), int if name == "max_retries" else int | float
            if value is None and name in ("timeout", "stall"):
                continue
            if not isinstance(value, wanted) or isinstance(value, bool):
                kind = "whole number" if name == "max_retries" else "number of seconds"
                raise UserError(f"hydra.launcher.{name}={value} must be a {kind}")
            if value < 0:
                raise UserError(f"hydra.launcher.{name}={value} must not be below 0")


class Interrupted(Exception):
    """A signal ended the pool; `verdicts` has what became of every cell."""

    def __init__(self, number: int, verdicts: Sequence[Verdict]) -> None:
        super().__init__(f"ended by signal {number}")
        self.number, self.verdicts = number, verdicts


class _Signals:
    """SIGINT, SIGTERM and SIGHUP (unless that is ignored, as under nohup), noted while the pool runs."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.urgent = False
        """A second one has come, half a second after the first or later: programs in between double them."""
        self._since = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "_Signals":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                with contextlib.suppress(ValueError):  # not in the main thread: the host program sees to it
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.first is None:
            self.first, self._since = number, time.monotonic()
        elif time.monotonic() > self._since + 0.5:
            self.urgent = True


@dataclass
class _Running:
    process: Process
    share: Share
    claim: int
    attempt: int


@dataclass
class _Pool:
    works: Sequence[Work]
    slots: Slots
    limits: Limits
    view: View
    warden: guard.Guard
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    running: dict[int, _Running] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    due: dict[int, float] = field(default_factory=dict)  # when to look again at what others have
    queue: list[int] = field(default_factory=list)
    cause: str = ""  # why no more are started

    def start_some(self) -> None:
        """Start what there is room for, in the order of the queue."""
        for index in list(self.queue):
            if self.cause:  # by fail_fast, in this very loop
                return
            if time.monotonic() < self.due.get(index, 0):
                continue
            work, share, started = self.works[index], None, False
            try:
                self.slots.check(work.need)
                share = self.slots.take(work.need)
                if share is None:
                    return  # a cell of many devices keeps its place at the head, or it would wait for ever
                self.queue.remove(index)
                started = self._start(index, work, share)
            except (UserError, OSError) as error:
                if index in self.queue:
                    self.queue.remove(index)
                self._settle(index, Verdict(state.FAILED, f"cannot be started: {error}"), None)
            finally:
                if share is not None and not started:
                    self.slots.give(share)

    def _start(self, index: int, work: Work, share: Share) -> bool:
        claim = state.claim(work.folder)
        if claim is None:
            if index not in self.due:
                self.view.held(index)
            self.due[index] = time.monotonic() + _LOOK_AGAIN
            self.queue.append(index)
            return False
        try:
            verdict = work.look()
            if verdict is not None:
                os.close(claim)
                self._settle(index, verdict, None)
                return False
            attempt = self.attempts.get(index, 0)
            started = Process(
                work.command(attempt),
                work.folder / state.LOG,
                share.variables,
                self.warden.token(),
                keep=[claim],
                watched=[work.folder / state.PROGRESS],
                timeout=self.limits.timeout,
                stall=self.limits.stall,
                grace=self.limits.grace,
            )
        except BaseException:
            with contextlib.suppress(OSError):
                os.close(claim)
            raise
        self.warden.tell("+", started.pid)
        self.running[index] = _Running(started, share, claim, attempt)
        self.attempts[index] = attempt + 1
        self.view.started(index, started, attempt)
        return True

    def collect(self) -> None:
        """Judge what has ended."""
        for index, one in list(self.running.items()):
            end = one.process.poll()
            if end is None:
                continue
            del self.running[index]
            self.warden.tell("-", one.process.pid)
            self.slots.give(one.share)
            try:
                verdict = self.works[index].judge(end)
            except OSError as error:  # a full disk: the others may still have a place
                verdict = Verdict(
                    state.FAILED, f"ended with {end.status}; its folder cannot be written: {error}"
                )
            finally:
                os.close(one.claim)
            if verdict.state == state.FAILED and one.attempt < self.limits.max_retries and not self.cause:
                self.queue.append(index)
                self.view.again(index, verdict)
            else:
                self._settle(index, verdict, end.seconds)

    def _settle(self, index: int, verdict: Verdict, seconds: float | None) -> None:
        self.verdicts[index] = verdict
        self.view.ended(index, verdict, seconds)
        if verdict.state == state.FAILED and self.limits.fail_fast:
            self.stop("fail_fast")

    def stop(self, cause: str) -> None:
        """Start no more, and ask what runs to end."""
        if not self.cause:
            self.cause = cause
            for index in self.queue:
                self.verdicts[index] = Verdict(state.PENDING, f"not started ({cause})")
            self.queue.clear()
            for one in self.running.values():
                one.process.stop(process.STOPPED)

    def kill(self) -> None:
        """End what runs, at once."""
        for one in self.running.values():
            one.process.kill()

    def end_all(self) -> None:
        """Leave nothing behind, whatever went wrong here."""
        for one in self.running.values():
            one.process.stop(process.STOPPED)
        while self.running:
            for index, one in list(self.running.items()):
                if one.process.poll() is not None:
                    del self.running[index]
                    os.close(one.claim)
            if self.running:
                time.sleep(_POLL)


def run(works: Sequence[Work], slots: Slots, limits: Limits, view: View) -> list[Verdict]:
    """Run all cells in their order, as many at a time as fit; one that fails stops no other.

    A cell that another launcher or process has goes to the end of the queue, and is looked at again until it
    is done or free. One that needs more than the machine has fails without being started.

    Raises:
        Interrupted: SIGINT, SIGTERM or SIGHUP; the cells have been asked to end, by a second signal killed.
    """
    with guard.Guard(limits.grace) as warden, _Signals() as signals:
        pool = _Pool(works, slots, limits, view, warden, queue=list(range(len(works))))
        try:
            while pool.queue or pool.running:
                if signals.first is not None:
                    pool.stop(signal.Signals(signals.first).name)
                if signals.urgent:
                    pool.kill()
                pool.start_some()
                view.tick({index: one.process for index, one in pool.running.items()}, len(pool.queue))
                if pool.queue or pool.running:
                    time.sleep(_POLL)
                pool.collect()
        finally:
            pool.end_all()
        verdicts = [pool.verdicts[index] for index in range(len(works))]
        if signals.first is not None:
            raise Interrupted(signals.first, verdicts)
    return verdicts
