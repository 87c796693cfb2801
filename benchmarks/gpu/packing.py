"""Several cells on one device at the same time against one after another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from attnlab import compiling
from gpu.parts import Parts, Rows
from gpu.sizes import REF, tiny
from gpu.speed import PRECISIONS, Trainer

SECONDS = 4.0
"""How long the cells train side by side."""
PACKS = [("cuda_graph", 1), ("cuda_graph", 4)]
"""Form and number of cells; one cell first."""
MORE_PACKS = [("none", 1), ("none", 4), ("none", 8)]


def packed(parts: Parts, packs: list[tuple[str, int]], rows: Rows) -> None:
    """The sum of target tokens a second of n cells that train at once, beside that of one cell alone."""
    alone: dict[str, float] = {}
    for form, count in [("none", 2)] if parts.tiny else packs:
        if parts.left() < (0 if parts.tiny else 30):
            rows.append({"form": form, "cells": count, "skipped": "no time left"})
            continue
        total = sum(side_by_side(parts, count, form))
        alone.setdefault(form, total / count)  # of one cell, where that came first
        rows.append({"form": form, "cells": count, "target tokens/s": total})
        if not parts.tiny:
            rows[-1]["times one after another"] = total / alone[form]
        print(f"   {form}, {count} cells: {total:,.0f} target tokens/s", flush=True)


def side_by_side(parts: Parts, count: int, form: str) -> list[float]:
    """Rates of `count` processes that begin together."""
    with tempfile.TemporaryDirectory() as folder:
        start = Path(folder) / "start"
        command = [sys.executable, str(Path(__file__).resolve().parents[1] / "gpu.py"), "--cell", str(start)]
        command += ["--device", str(parts.device), "--form", form, *(["--tiny"] if parts.tiny else [])]
        cells = [
            subprocess.Popen(
                [*command, "--number", str(number)],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            for number in range(count)
        ]
        try:
            for number, cell in enumerate(cells):
                ready = start.with_name(f"ready{number}")
                while not ready.exists():
                    if cell.poll() is not None:
                        raise RuntimeError(f"cell {number} of {count} ended with status {cell.returncode}")
                    time.sleep(0.01)
            start.touch()
            told = [_rate(cell) for cell in cells]
        finally:
            for cell in cells:
                if cell.poll() is None:
                    cell.kill()
                cell.wait()
    return told


def _rate(cell: subprocess.Popen[str]) -> float:
    out = cell.communicate()[0]
    if cell.returncode:
        raise RuntimeError(f"a cell ended with status {cell.returncode} while it trained")
    rate: float = json.loads(out.splitlines()[-1])["rate"]
    return rate


def cell(start: Path, device: torch.device, form: str, small: bool, number: int) -> None:
    """One of them: warms up, waits for the start, trains, prints its rate."""
    size = tiny(REF) if small else REF
    products, kind = PRECISIONS["bf16"]
    compiling.precision(products)
    model = size.model("additive", "post_combine_feeding", device)
    compiling.apply(model.decoder, form)
    trainer, text = Trainer(model, device, kind), size.text(device.type == "cuda")
    for _ in range(1 if small else 3):
        for batch in text:
            trainer.update(batch)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start.with_name(f"ready{number}").touch()
    while not start.exists():
        time.sleep(0.001)
    tokens, began = 0, time.perf_counter()
    while (seconds := time.perf_counter() - began) < (0.05 if small else SECONDS):
        for batch in text:
            trainer.update(batch)
            tokens += int(batch.target_lengths.sum())
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    print(json.dumps({"rate": tokens / seconds}))
