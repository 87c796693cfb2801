"""Subnormal numbers are 0 in every thread that a run computes with."""

import subprocess
import sys

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
