"""How a process computes on its CPU: with how many threads, with which numbers, and in what memory.

Numbers below the smallest normal one (1.2e-38 in float32) take a CPU many times as long. An attention that is
sure of its word is full of them: its other weights are e^-100 and less, and the gradients of the keys are
products of those. One product of 1,088 x 512 by 512 x 512 took 53 ms with them; `ref-512` with a `general`
score went from 2,050 to 3,400 tokens a second in its first 40 updates without. They are taken
as 0 here: no sum with a normal number can tell.

Memory that an update has freed is asked for again by the next. Where glibc gives it back to the system in
between, each page of 4 kB that returns costs a fault: 5,000 to 12,000 an update of `ref-512` in a bare loop,
a tenth of its time in bfloat16. How much it gives back depends on what was freed before; here it keeps it.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

__all__ = ["of_c", "set_up"]

KEPT = 1 << 28
"""Bytes kept free at the heap's end, and the size from which a block is the system's own."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
LARGEST = 1 << 25
"""The most that some versions of glibc take for MMAP_THRESHOLD."""


def set_up(count: int | None = None) -> None:
    """Takes subnormal numbers as 0, keeps freed memory, and uses `count` threads; None: torch's own number.

    The first is a setting of the calling thread, and threads inherit it when they are started: torch's own
    are with its first large operation, so this comes before.
    """
    torch.set_flush_denormal(True)  # False where a CPU has no such mode: then it is only slower
    keep_memory()
    if count is not None:
        torch.set_num_threads(count)


def keep_memory() -> bool:
    """Has malloc keep what is freed, up to `KEPT`; False where it is not glibc's."""
    mallopt = of_c("mallopt")
    if mallopt is None:
        return False
    kept = bool(mallopt(TRIM_THRESHOLD, KEPT))
    return kept and bool(mallopt(MMAP_THRESHOLD, KEPT) or mallopt(MMAP_THRESHOLD, LARGEST))


def of_c(name: str) -> Any:
    """A function of the process's C library; None where there is none of that name."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):  # TypeError on Windows, where the library has to be named
        return None
