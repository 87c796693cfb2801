"""Subnormal numbers are 0 in every thread that a run computes with; what is freed is kept."""

import ctypes
import os
import platform
import subprocess
import sys

import pytest

from attnlab import threads

SCRIPT = """
import torch
from attnlab import threads
threads.set_up(2)
tiny = torch.full((1 << 20,), 1e-39)  # large enough for both threads
print(torch.get_num_threads(), int((tiny * 1).view(torch.int32).count_nonzero()))
torch.set_flush_denormal(False)
print(float(torch.tensor(1e-39) * 1) > 0)
"""


def test_products_of_subnormal_numbers_are_zero_in_all_threads() -> None:
    # a process of its own: torch's threads take the setting over when they start
    made = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert made.stdout.splitlines() == ["2 0", "True"]


FAULTS = """
import resource, sys, torch
from attnlab import threads
if sys.argv[1] == "kept":
    threads.set_up(1)
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def update():
    return [torch.zeros(1 << 20) for _ in range(20)]  # 80 MB in blocks
for _ in range(3):
    update()
before = faults()
for _ in range(25):
    update()
print((faults() - before) // 25)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc that gives memory back")
def test_memory_freed_by_an_update_is_there_for_the_next() -> None:
    # Left alone, glibc gives back the end of its heap, and what lies there is chance: here it gives back all.
    gives = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
    found = {
        how: int(
            subprocess.run(
                [sys.executable, "-c", FAULTS, how],
                env={**os.environ, **gives},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for how in ("kept", "not")
    }
    assert found["kept"] * 20 < found["not"]


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert threads.keep_memory() is False
