"""One cell under an engine that calls us in its own process: submitit, Ray, joblib, Hydra's basic launcher.

The cell is a process beside that one, started, watched and judged as the local launcher does it: what it does
to itself stays in it, Lightning can start further ranks by running the command again, and when the engine's
process is told to end, or killed, the cell and all it has started end too.
"""

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hydra.errors import CompactHydraException
from omegaconf import DictConfig

from attnlab.results import DONE
from attnlab.sweep import guard, pool, state
from attnlab.sweep.launched import Cell
from attnlab.sweep.process import STOPPED, Process
from attnlab.sweep.slots import Need, Share, Slots, cores

GRACE = 60.0
"""Seconds that a cell has to end by itself: Slurm warns `signal_delay_s` before the end, 120 by default."""
_AFTERMATH = 120.0  # seconds after SIGTERM in which a scheduler says what it wants: longer than its KillWait
_POLL = 0.1  # seconds


class CellFailed(CompactHydraException):
    """A cell's own process ended badly; Hydra prints the message alone."""


def train(config: DictConfig, folder: Path) -> dict[str, Any] | None:
    """Train one cell in a process of its own, or go on with it; a finished one is left alone.

    A cell that another process has is waited for.

    Args:
        config: the cell's, with Hydra's node.
        folder: its run folder.

    Returns:
        Its record; None for ranks other than the first of a job of several tasks.

    Raises:
        CellFailed: it failed, or a scheduler's signal has stopped it.
        KeyboardInterrupt: by Ctrl-C, once the cell has ended.
        SystemExit: SIGTERM, likewise; or what a signal handler of the engine raises.
    """
    cell = _Cell(config, folder)
    if _tasks() > 1 and int(os.environ.get("SLURM_PROCID", 0)) > 0:
        _follow(cell)
        return None
    try:
        (verdict,) = pool.run([cell], _Given(), pool.Limits(grace=GRACE), _Log(folder))
    except pool.Interrupted as stop:
        _stopped(stop.number)
        raise CellFailed(
            f"{folder}: stopped by {signal.Signals(stop.number).name}; the same command goes on with it"
        ) from None
    if verdict.state != DONE:
        raise CellFailed(f"{folder}: {verdict.words}\n{verdict.detail}".rstrip())
    return state.finished(folder)


def variables(environment: Mapping[str, str], ranks: int) -> dict[str, str]:
    """What is set for a cell, where its engine or its user has not set it.

    Args:
        environment: of the engine's process.
        ranks: processes of the cell on this machine.
    """
    found = {"PYTHONUNBUFFERED": "1"}
    if _tasks(environment) > 1:  # one rank a task, which Lightning reads from Slurm's own variables
        found |= {"RANK": environment["SLURM_PROCID"], "LOCAL_RANK": environment["SLURM_LOCALID"]}
        ranks = 1
    elif "SLURM_JOB_ID" in environment:
        # Lightning would take one task for one rank whatever `devices` says, and requeue the job by itself.
        found["SLURM_JOB_NAME"] = "interactive"
    if "OMP_NUM_THREADS" not in environment:
        threads = int(environment.get("SLURM_CPUS_PER_TASK") or cores()) // max(ranks, 1)
        found |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(max(threads, 1)))
    return found


def _tasks(environment: Mapping[str, str] = os.environ) -> int:
    """How many tasks the Slurm job step has, 1 outside Slurm."""
    with suppress(ValueError):
        return int(environment.get("SLURM_NTASKS") or 1)
    return 1


class _Cell(Cell):
    """The cell that the engine has composed."""

    def __init__(self, config: DictConfig, folder: Path) -> None:
        overrides = list(config.hydra.overrides.task)
        super().__init__(" ".join(overrides), overrides, lambda: config, pool.Limits(grace=GRACE))
        self._folder = folder

    @property
    def folder(self) -> Path:
        """The folder that the engine has made for it."""
        return self._folder

    def command(self, attempt: int) -> list[str]:
        """Deaf to the signals by which schedulers announce an end: they go to every process of a job."""
        restarts = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
        return ["sh", "-c", 'trap "" USR1 USR2; exec "$@"', "sh", *super().command(attempt + restarts)]


class _Given(Slots):
    """What the engine has given this process: all of it is for the one cell."""

    def __init__(self) -> None:
        super().__init__(available=[])

    def check(self, need: Need) -> None:
        """The engine knows its machines; the cell itself refuses what is not there."""

    def take(self, need: Need) -> Share | None:
        """All there is; the devices stay as the engine has set them."""
        return Share((), variables(os.environ, need.ranks))

    def give(self, share: Share) -> None:
        """Nothing was shared out."""


class _Log:
    """The view of one cell, for the log of the engine's process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def started(self, index: int, running: Process, attempt: int) -> None:
        """A line."""
        print(f"process {running.pid} trains in {self._folder}", flush=True)

    def held(self, index: int) -> None:
        """A line."""
        print(f"{self._folder} is being trained by another process: waiting for it", flush=True)

    def again(self, index: int, verdict: pool.Verdict) -> None:
        """Retries are the engine's."""

    def ended(self, index: int, verdict: pool.Verdict, seconds: float | None) -> None:
        """A line."""
        print(f"{verdict.state}: {self._folder} {verdict.words}".rstrip(), flush=True)

    def tick(self, running: Mapping[int, Process], waiting: int) -> None:
        """Nothing: progress is in the folder."""


def _stopped(number: int) -> None:
    """What follows a signal that has ended the cell; returns where it is to be told as a failed job."""
    if "SUBMITIT_EXECUTOR" not in os.environ:
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
    if "SLURM_JOB_ID" in os.environ:
        # A preempted job gets SIGTERM first; submitit's own signal, which requeues it, or the end that Slurm
        # makes of it, come after. A result would say that the job is over.
        time.sleep(_AFTERMATH)


def _follow(cell: _Cell) -> None:
    """A further rank of a cell over several tasks: the first one holds its folder and judges it."""
    with guard.Guard(GRACE) as warden:
        given = variables(os.environ, 1)
        process = Process(cell.command(0), cell.folder / state.LOG, given, warden.token(), grace=GRACE)
        warden.tell("+", process.pid)
        try:
            while (end := process.poll()) is None:
                time.sleep(_POLL)
        except BaseException:
            process.stop(STOPPED)
            while process.poll() is None:
                time.sleep(_POLL)
            raise
    if end.status:
        raise CellFailed(f"{cell.folder}: rank {os.environ['SLURM_PROCID']} ended with {end.status}")
