"""How a process computes on its CPU: with how many threads, and with which numbers.

Numbers below the smallest normal one (1.2e-38 in float32) take a CPU many times as long. An attention that is
sure of its word is full of them: its other weights are e^-100 and less, and the gradients of the keys are
products of those. One product of 1,088 x 512 by 512 x 512 took 53 ms with them; `ref-512` with a `general`
score went from 2,050 to 3,400 tokens a second in its first 40 updates without. They are taken
as 0 here: no sum with a normal number can tell.
"""

from __future__ import annotations

import torch

__all__ = ["set_up"]


def set_up(count: int | None = None) -> None:
    """Takes subnormal numbers as 0, and uses `count` threads; None leaves torch's own number.

    It is a setting of the calling thread, and threads inherit it when they are started: torch's own are with
    its first large operation, so this comes before.
    """
    torch.set_flush_denormal(True)  # False where a CPU has no such mode: then it is only slower
    if count is not None:
        torch.set_num_threads(count)
