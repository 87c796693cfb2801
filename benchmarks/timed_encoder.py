"""The encoder with a clock: when its process was born, took its first training step, and ended.

For benchmarks/sweep.py, which puts it in by `_target_`. A line of JSON a process, in the file that
TIMED_NOTES names.
"""

import atexit
import json
import os
import time
from pathlib import Path

from attnlab.model import Encoder


def born() -> float:
    """When this process was started, in seconds since the epoch; to the clock tick (10 ms)."""
    ticks = int(Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age


class Timed(Encoder):
    """As the encoder; it notes the first batch that it trains on."""

    noted = False

    def forward(self, embedded, lengths):
        if self.training and not Timed.noted:
            Timed.noted = True
            atexit.register(note, born(), time.time())
        return super().forward(embedded, lengths)


def note(began: float, step: float) -> None:
    line = json.dumps({"pid": os.getpid(), "born": began, "step": step, "end": time.time()})
    with Path(os.environ["TIMED_NOTES"]).open("a") as file:
        file.write(line + "\n")
