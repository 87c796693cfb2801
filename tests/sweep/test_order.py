"""A sweep in one go and the same cells backwards, in pieces: the numbers are equal, bit for bit."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from .small import SMALL

CELL = [*SMALL, "model.dropout=0.2", "trainer.max_epochs=2", "trainer.threads=1"]


def numbers(top: Path) -> dict[str, Any]:
    """Per run what may not depend on its neighbours: scores, updates, weights."""
    found = {}
    for path in sorted(top.glob("runs/*/seed*/result.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        best = torch.load(path.parent / "checkpoints" / "best.ckpt", weights_only=True)
        weights = {name: value.tolist() for name, value in best["state_dict"].items()}
        scores = record["val"], record["test"], record["train"]["updates"]
        found[str(path.parent.relative_to(top))] = scores, weights
    return found


@pytest.mark.slow
def test_order_and_pieces_of_a_sweep_change_no_number(real_command: Any) -> None:
    def sweep(out: str, *axes: str) -> None:
        done = real_command("train", "-m", *CELL, *axes, f"out={out}")
        assert done.returncode == 0, done.stdout + done.stderr

    sweep("once", "scorer=dot,general", "seed=1,2", "hydra.launcher.slots=2", "hydra.launcher.threads=1")
    sweep("pieces", "scorer=general", "seed=2")
    sweep("pieces", "scorer=general,dot", "seed=2,1")
    once = numbers(real_command.folder / "once")
    assert len(once) == 4
    assert numbers(real_command.folder / "pieces") == once
