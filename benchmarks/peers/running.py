"""Runs a command: its lines with their times, its memory, and what all else on the machine used meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
EVERY = 0.25
"""Seconds between two samples of the processors."""


def busy() -> float:
    """CPU seconds that the machine has worked since it started, time stolen from it included."""
    with Path("/proc/stat").open() as file:
        fields = [int(number) for number in file.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def used(process: int) -> float:
    """CPU seconds of a process and of its children that have ended; 0 where it is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0.0
    return sum(int(number) for number in text.rpartition(")")[2].split()[11:15]) / TICKS


@dataclass
class Run:
    """What came of a command.

    Attributes:
        began: by `time.monotonic()`.
        lines: of its output and errors together, each with the time at which it arrived.
        samples: time, and CPU seconds that all else had used by then.
        peak_mb: peak resident memory, MiB.
        code: its exit code; None where it was ended here.
    """

    began: float
    lines: list[tuple[float, str]] = field(default_factory=list)
    samples: list[tuple[float, float]] = field(default_factory=list)
    peak_mb: float = 0.0
    code: int | None = None

    def others(self, first: float, last: float) -> float:
        """Cores that all else used between two times."""
        if last <= first or not self.samples:
            return 0.0
        return (self._at(last) - self._at(first)) / (last - first)

    def _at(self, moment: float) -> float:
        times = [sample[0] for sample in self.samples]
        place = bisect_left(times, moment)
        if place == 0 or place == len(times):
            return self.samples[min(place, len(times) - 1)][1]
        (before, low), (after, high) = self.samples[place - 1], self.samples[place]
        return low + (high - low) * (moment - before) / (after - before)

    @property
    def ended(self) -> float:
        """When the last line came."""
        return self.lines[-1][0] if self.lines else self.began


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    log: Path,
    threads: int,
    environment: Mapping[str, str] | None = None,
    until: Callable[[float, str], bool] | None = None,
) -> Run:
    """Runs to the end, or until `until(time, line)` says that enough was seen; the process is killed then.

    Raises:
        RuntimeError: it failed; the message ends with the last lines of its log.
    """
    variables = {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONUNBUFFERED": "1",
        "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",  # the toolkits pickle more than weights
        **(environment or {}),
    }
    found = Run(time.monotonic())
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        done = threading.Event()
        sampler = threading.Thread(target=_sample, args=(process.pid, found, done), daemon=True)
        sampler.start()
        enough, ended = False, False
        assert process.stdout is not None
        try:
            for line in process.stdout:
                now = time.monotonic()
                found.lines.append((now, line.rstrip("\n")))
                file.write(line)
                if until is not None and until(now, line):
                    enough = True
                    break
            ended = not enough
        finally:
            done.set()
            sampler.join()
            if not ended:
                os.killpg(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)  # of this process alone, unlike getrusage
            process.returncode = os.waitstatus_to_exitcode(status)
            process.stdout.close()
    found.peak_mb = usage.ru_maxrss / 1024
    if not enough:
        found.code = process.returncode
        if found.code:
            tail = "\n".join(line for _, line in found.lines[-12:])
            raise RuntimeError(f"{' '.join(map(str, command[:4]))} ended with {found.code}:\n{tail}")
    return found


def _sample(process: int, found: Run, done: threading.Event) -> None:
    start = busy()
    while True:
        now, all_of_it = time.monotonic(), busy()
        found.samples.append((now, all_of_it - start - used(process)))
        if done.wait(EVERY):
            return
