"""A pool of processes: n commands side by side, each with its log, its threads and its devices."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_POLL = 0.1  # seconds


@dataclass(frozen=True)
class Job:
    """A command, the file that its output is added to, and how many processes share its threads."""

    command: Sequence[str]
    log: Path
    ranks: int = 1


def devices() -> list[str]:
    """The CUDA devices that may be used, by CUDA_VISIBLE_DEVICES or else by the system's device files."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [device.strip() for device in visible.split(",") if device.strip()]
    return [str(n) for n in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]


def environment(
    slot: int, slots: int, threads: int | None, available: Sequence[str], ranks: int = 1
) -> dict[str, str]:
    """The variables of a slot's processes: a share of the cores and of the devices.

    With fewer devices than slots, slots share one.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = str(max(1, (threads or cores // slots) // ranks))
    variables = {**os.environ, "OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count, "PYTHONUNBUFFERED": "1"}
    if slots > 1 and available:
        own = available[slot::slots] or [available[slot % len(available)]]
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(own)
    return variables


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """SIGTERM as an exception, as SIGINT is one, so that the processes started are not left behind."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread: the host program sees to it
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(processes: Sequence[subprocess.Popen[bytes]], grace: float) -> None:
    """End processes and what they started; by force after `grace` seconds."""

    def send(number: int) -> None:
        for process in processes:
            if process.poll() is None:
                try:
                    os.killpg(process.pid, number)
                except ProcessLookupError:
                    continue

    send(signal.SIGTERM)
    until = time.monotonic() + grace
    while any(process.poll() is None for process in processes) and time.monotonic() < until:
        time.sleep(_POLL)
    send(signal.SIGKILL)
    for process in processes:
        process.wait()


def run(
    count: int,
    slots: int,
    threads: int | None,
    grace: float,
    prepare: Callable[[int], Job | None],
    on_end: Callable[[int, int, float], None],
) -> None:
    """Run all jobs, `slots` at a time, in their order; a job that fails stops no other.

    Args:
        count: how many jobs.
        slots: how many at a time.
        threads: CPU threads of each, None for an equal share of the cores.
        grace: seconds a process has to end after a signal.
        prepare: gives the job of an index, just before it starts; None leaves it out.
        on_end: called with index, exit status and seconds.
    """
    available = devices()
    waiting = list(range(count))[::-1]
    free = list(range(slots))[::-1]
    running: dict[int, tuple[int, subprocess.Popen[bytes], float]] = {}
    with _ended_by_signal():
        try:
            while waiting or running:
                while waiting and free:
                    index = waiting.pop()
                    job = prepare(index)
                    if job is None:
                        continue
                    slot = free.pop()
                    variables = environment(slot, slots, threads, available, job.ranks)
                    with job.log.open("ab") as log:
                        # A session of its own: Ctrl-C reaches us alone, and its children end with it.
                        process = subprocess.Popen(
                            list(job.command),
                            stdin=subprocess.DEVNULL,
                            stdout=log,
                            stderr=subprocess.STDOUT,
                            env=variables,
                            start_new_session=True,
                        )
                    running[index] = (slot, process, time.monotonic())
                time.sleep(_POLL)
                for index, (slot, process, since) in list(running.items()):
                    status = process.poll()
                    if status is not None:
                        del running[index]
                        free.append(slot)
                        on_end(index, status, time.monotonic() - since)
        finally:
            _end([process for _, process, _ in running.values()], grace)
