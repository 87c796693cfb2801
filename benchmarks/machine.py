"""What the benchmarks ask of the machine: whether it is quiet, how fast it multiplies, what it is.

python benchmarks/machine.py        # describes it and measures the matrix product
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

from peers.running import busy

LOUD = 0.10
"""Share of one core above which others are at work."""


def wait_for_quiet(limit: float = 90.0, window: float = 2.0, share: float = LOUD) -> float | None:
    """Waits until all processes together used less than `share` of a core for `window` seconds.

    Args:
        limit: seconds to wait at most; 0 does not wait.
        window: seconds that must be quiet.
        share: of one core.

    Returns:
        The share that was used when the wait ended, or None where it was not waited for.
    """
    if limit <= 0:
        return None
    end = time.monotonic() + limit
    while True:
        before, since = busy(), time.monotonic()
        time.sleep(window)
        used = (busy() - before) / (time.monotonic() - since)
        if used < share or time.monotonic() >= end:
            return used


def peak(precision: str = "fp32", threads: int = 2, seconds: float = 1.5) -> float:
    """GFLOP/s of a square matrix product, the best of many, in a process of its own.

    Args:
        precision: `fp32` or `bf16`.
        threads: as many as the trainings get.
        seconds: spent on each of the three sizes.
    """
    alone = [sys.executable, str(Path(__file__).resolve()), "--peak", precision, "--threads", str(threads)]
    done = subprocess.run(
        [*alone, "--seconds", str(seconds)],
        env={**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


def products(precision: str, threads: int, seconds: float) -> float:
    """The measurement of `peak`, in this process."""
    import torch

    torch.set_num_threads(threads)
    kind = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
    best = 0.0
    for size in (1024, 2048, 3072):
        a, b = (torch.randn(size, size).to(kind) for _ in range(2))
        out = torch.empty(size, size, dtype=kind)
        torch.mm(a, b, out=out)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            began = time.perf_counter()
            torch.mm(a, b, out=out)
            best = max(best, 2 * size**3 / (time.perf_counter() - began) / 1e9)
    return best


def processor() -> str:
    """The processor's name, and the extensions that matter to matrix products."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    wanted = [
        flag
        for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
        if flag in facts.get("flags", "").split()
    ]
    return f"{facts.get('model name', platform.machine())} ({', '.join(wanted) or 'no vector extensions'})"


def description(threads: int | None = None) -> str:
    """Cores, processor, memory, system, threads used."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    used = f", {threads} threads used" if threads else ""
    return (
        f"{os.cpu_count()} cores, {processor()}, {memory:.0f} GiB, "
        f"{platform.system()} {platform.release()}{used}"
    )


def versions(names: Iterable[str] = ("torch", "pytorch-lightning", "attnlab")) -> str:
    """Python and the packages that are installed here."""
    found = [f"Python {platform.python_version()}"]
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def commit() -> str:
    """The checkout's commit, short, with `+` where files differ from it; `unknown` outside git."""
    here = Path(__file__).resolve().parent

    def git(*words: str) -> str | None:
        done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    head = git("rev-parse", "--short", "HEAD")
    if head is None:
        return "unknown"
    return head + (
        "+" if git("status", "--porcelain", "--untracked-files=no", "--", "../src", "../conf") else ""
    )


def words(text: str) -> list[str]:
    """What stands between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def command(script: str) -> str:
    """The command line of a script of this folder, for its note: folders without where they lie here."""
    shown = []
    for word in sys.argv[1:]:
        option, equals, value = word.rpartition("=")
        shown.append(f"{option}{equals}{Path(value).name if Path(value).is_absolute() else value}")
    return shlex.join(["python", f"benchmarks/{script}", *shown])


def spread(values: Iterable[float]) -> str:
    """`median (lowest to highest)`, in whole numbers."""
    values = sorted(values)
    middle = f"{median(values):,.0f}"
    return middle if len(values) == 1 else f"{middle} ({values[0]:,.0f} to {values[-1]:,.0f})"


def main() -> None:
    """Describes the machine, or measures one peak."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--peak", choices=["fp32", "bf16"], help="only measure this one, and print the number"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.5, help="for each of three sizes")
    asked = parser.parse_args()
    if asked.peak:
        print(products(asked.peak, asked.threads, asked.seconds))
        return
    print(description(asked.threads))
    print(versions())
    for precision in ("fp32", "bf16"):
        print(f"{precision}: {peak(precision, asked.threads, asked.seconds):.0f} GFLOP/s")


if __name__ == "__main__":
    main()
