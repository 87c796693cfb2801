"""Which code, which packages and which machine made a record. Standard library only."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any


def code_state() -> dict[str, Any]:
    """`{commit, dirty}` of the checkout that this package is run from; nulls when it is not in one."""
    here = Path(__file__).resolve()

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", *arguments], cwd=here.parent, capture_output=True, text=True, timeout=30, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip()

    # An installed copy may lie inside somebody else's repository: ask whether this very file is tracked.
    if git("ls-files", "--error-unmatch", here.name) is None:
        return {"commit": None, "dirty": None}
    changes = git("status", "--porcelain")
    return {"commit": git("rev-parse", "HEAD"), "dirty": None if changes is None else bool(changes)}


def versions() -> dict[str, str]:
    """Exact versions of Python and of every installed package."""
    found = {"python": platform.python_version()}
    packages = {dist.metadata["Name"]: dist.version for dist in distributions() if dist.metadata["Name"]}
    return found | dict(sorted(packages.items(), key=lambda item: item[0].lower()))


def machine(
    device: str | None = None, count: int | None = None, threads: int | None = None
) -> dict[str, Any]:
    """`{cpu, cores, memory (bytes), system, device, count, threads}`.

    `device` is the name of the accelerator or `cpu`, `count` how many of them the run used, `threads` those
    of the numerical library. What is not given is asked of torch if the process has imported it already.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        has_gpu = torch.cuda.is_available()
        device = device or (torch.cuda.get_device_name(0) if has_gpu else "cpu")
        threads = threads or torch.get_num_threads()
    try:
        memory: int | None = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        memory = None
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory": memory,
        "system": platform.platform(),
        "device": device or "cpu",
        "count": count or 1,
        "threads": threads,
    }


def device_name(device: Any) -> str:
    """The name for the record of a `torch.device` that was used: the GPU's own, else the kind."""
    if device.type != "cuda":
        return str(device.type)
    import torch

    return torch.cuda.get_device_name(device)


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
