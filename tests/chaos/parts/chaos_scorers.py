"""Scorers by which a cell goes wrong in its third update, and one that can be held there.

Reached by `_target_` alone, from conf/scorer/ beside this folder. An attempt that goes on from a checkpoint
counts its updates anew, so a cell that goes wrong does so in every attempt.
"""

import os
import signal
import time
from pathlib import Path

from attnlab.attention import Additive

STEP = float(os.environ.get("CHAOS_STEP", "0"))  # seconds an update takes at least


class Calm(Additive):
    """Additive attention that waits in training: so long in each update, and in the third while it is told to."""

    updates = 0

    def prepare(self, states):
        if self.training:
            time.sleep(STEP)
            self.updates += 1
            if self.updates == 3:
                self.third()
        return super().prepare(states)

    def third(self):
        """Waits as long as the file `hold-<units>` is there."""
        hold = Path(os.environ.get("CHAOS_HOLD", os.devnull)) / f"hold-{self.v.numel()}"
        while hold.exists():
            time.sleep(0.02)


class Raises(Calm):
    def third(self):
        raise RuntimeError("raised on purpose")


class Exits(Calm):
    def third(self):
        print("words before the exit", flush=True)
        os._exit(7)


class Killed(Calm):
    def third(self):
        os.kill(os.getpid(), signal.SIGKILL)


class Hangs(Calm):
    """Deaf to SIGTERM too: Lightning's handler waits for the end of the batch."""

    def third(self):
        while True:
            time.sleep(1)
