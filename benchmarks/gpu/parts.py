"""Parts that run one after another within a time, each by itself: one that fails stops no other."""

from __future__ import annotations

import gc
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

Rows = list[dict[str, Any]]


class Failure(Exception):
    """Something is not as it must be."""


@dataclass
class Part:
    """One part and what became of it."""

    name: str
    status: str = "skipped"  # or ok, failed
    seconds: float = 0.0
    rows: Rows = field(default_factory=list)
    told: str = ""


@dataclass
class Parts:
    """All parts, in their order.

    Args:
        minutes: for all of them; a part that is not likely to fit any more is skipped.
        device: what they run on.
        tiny: the smallest sizes that go through all of the code.
        after: called when a part has ended, so that a run that is killed leaves what it has found.
    """

    minutes: float
    device: torch.device
    tiny: bool = False
    after: Callable[[], None] = lambda: None
    done: list[Part] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """Seconds that remain."""
        return 60 * self.minutes - (time.monotonic() - self.began)

    def run(self, name: str, seconds: float, work: Callable[[Rows], None]) -> None:
        """Runs a part that takes about `seconds`; it adds its rows to the list that it is given.

        A row has a `fault` where a bound does not hold: the part has failed then, and goes on.
        """
        part = Part(name)
        self.done.append(part)
        if self.left() < (0 if self.tiny else seconds):
            part.told = f"needs about {seconds:.0f} s, {max(0.0, self.left()):.0f} s are left"
            print(f"-- {name}: skipped, {part.told}", flush=True)
            self.after()
            return
        began = time.monotonic()
        try:
            with limited(None if self.tiny else max(1.0, self.left())):
                work(part.rows)
                self.settle()
            faults = [row["fault"] for row in part.rows if row.get("fault")]
            part.status, part.told = ("failed", "; ".join(faults[:5])) if faults else ("ok", "")
        except Skipped as reason:
            part.told = str(reason)
        except Exception as error:
            part.status = "failed"
            part.told = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
            traceback.print_exc()
        part.seconds = time.monotonic() - began
        print(f"-- {name}: {part.status}, {part.seconds:.1f} s {part.told}", flush=True)
        self.after()
        self.release()

    def release(self) -> None:
        """Gives back what nothing needs: a captured model is a circle of references, with its memory."""
        gc.collect()
        if self.device.type == "cuda":
            try:
                torch.cuda.empty_cache()
            except RuntimeError as error:  # what has broken the device is told by its part
                print(f"   {str(error).splitlines()[0]}", flush=True)

    def settle(self) -> None:
        """Waits for the device, where there is one to wait for."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


class Skipped(Exception):
    """A part that has no sense here, with the reason."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raises TimeoutError in what takes longer."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"took longer than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(max(1, int(seconds)))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
