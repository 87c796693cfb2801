"""Where a run that was stopped goes on, and what has to be set back to there.

A run goes on from the newest checkpoint in its folder that can be read and is of the same settings, data and
number of processes. Rank 0 decides, before the other ranks are started or while they wait; what it leaves in
the folder is its decision: `last.ckpt`, or no checkpoint at all.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import torch

from attnlab.checkpoints import BEST, LAST, PARTIAL, PREVIOUS, best_of, write
from attnlab.sweep import identity as cells

if TYPE_CHECKING:
    import pytorch_lightning as pl

log = logging.getLogger(__name__)


class Point(NamedTuple):
    """Where a run goes on.

    Attributes:
        path: the checkpoint, always `last.ckpt`.
        update: updates behind it.
        finished: the training had come to its end, only the test is left.
        resumed_at: the updates at which earlier attempts had taken up.
        costs: what the run had cost by then.
    """

    path: Path
    update: int
    finished: bool
    resumed_at: list[int]
    costs: dict[str, Any]


def identity(config: Mapping[str, Any], data: Mapping[str, Any], processes: int) -> dict[str, Any]:
    """Whose a checkpoint is: what must be equal for a training to go on from it.

    Args:
        config: the run's settings.
        data: the record's `data`.
        processes: how many train together; batches are counted on each.
    """
    tokenizers = {side: one["fingerprint"] for side, one in data["tokenizers"].items()}
    return {
        "settings": cells.digest(config),
        "seeds": cells.seed_name(config),
        "data": {**data["fingerprints"], **{f"{side} tokeniser": one for side, one in tokenizers.items()}},
        "processes": processes,
    }


def choose(folder: Path, wanted: Mapping[str, Any]) -> Point | None:
    """Finds the checkpoint to go on from, and takes away all that is not of it; on rank 0.

    Args:
        folder: the run folder.
        wanted: the `identity` of the run.

    Returns:
        None where the run starts from the beginning; then no checkpoint is left.
    """
    place = folder / "checkpoints"
    for path in place.glob(f"{PARTIAL}*"):
        path.unlink()
    found = []
    for path in [*place.glob("last*.ckpt"), *place.glob(PREVIOUS)]:
        checkpoint = _read(path)
        if checkpoint is None:
            continue
        kept = checkpoint["attnlab"]["resume"]
        differing = [key for key in wanted if kept["identity"].get(key) != wanted[key]]
        if differing:
            log.warning("%s is of other %s: it is not used", path, " and ".join(differing))
            continue
        order = (int(checkpoint["global_step"]), bool(kept["finished"]), path.name == LAST)
        found.append((order, path, checkpoint))
    if not found:
        for path in place.glob("*.ckpt"):
            path.unlink()
        return None
    _, path, checkpoint = max(found, key=lambda one: one[0])
    if path.name != LAST:
        path.replace(place / LAST)
    usable = {other.name for _, other, _ in found} - {path.name}
    for other in place.glob("last*.ckpt"):
        if other.name != LAST:
            other.unlink()
    if PREVIOUS not in usable:
        (place / PREVIOUS).unlink(missing_ok=True)
    best = best_of(checkpoint)
    if best is None:
        (place / BEST).unlink(missing_ok=True)
    else:  # the one that lies there may be of updates that never were
        write(best, place / BEST)
    kept = checkpoint["attnlab"]["resume"]
    return Point(
        place / LAST,
        int(checkpoint["global_step"]),
        bool(kept["finished"]),
        list(kept["resumed_at"]),
        dict(kept["costs"]),
    )


def _read(path: Path) -> dict[str, Any] | None:
    """A checkpoint to go on from; None, with a warning, where it is cut short, damaged, or no such thing."""
    try:
        with ZipFile(path) as file:
            damaged = file.testzip()
        if damaged is not None:
            raise BadZipFile(f"{damaged} is damaged")
        checkpoint: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        checkpoint["attnlab"]["resume"]["identity"]
    except (
        OSError,
        EOFError,
        RuntimeError,
        ValueError,
        KeyError,
        TypeError,
        UnpicklingError,
        BadZipFile,
    ) as e:
        reason = " ".join(str(e).split())[:200]
        log.warning("%s cannot be gone on from (%s: %s): it is passed over", path, type(e).__name__, reason)
        return None
    return checkpoint


def rewind(path: Path, update: int) -> list[dict[str, Any]]:
    """Sets `metrics.jsonl` back to an update: what was logged after it, or is cut short, is dropped.

    Returns:
        The rows that are left.
    """
    kept, rows = [], []
    lines = path.read_bytes().splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        row = _row(line)
        if row is None:
            if number < len(lines):  # the last one was being written when the run was killed
                log.warning("%s, line %d: no row of a log; it is dropped", path, number)
            continue
        if row["step"] > update or any(key.startswith("test/") for key in row):
            break
        kept.append(line + b"\n")
        rows.append(row)
    temporary = path.with_name(f".{path.name}")
    temporary.write_bytes(b"".join(kept))
    temporary.replace(path)
    return rows


def _row(line: bytes) -> dict[str, Any] | None:
    """A row of `metrics.jsonl`; None for what is cut short or damaged."""
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and isinstance(row.get("step"), int) else None


def tidy(folder: Path, keep_last: bool) -> None:
    """Takes away what a finished run has no more use for."""
    place = folder / "checkpoints"
    (place / PREVIOUS).unlink(missing_ok=True)
    if not keep_last:
        (place / LAST).unlink(missing_ok=True)


def replay(rows: Iterable[Mapping[str, Any]], loggers: Iterable[Any]) -> None:
    """Tells loggers, which begin with nothing, what `metrics.jsonl` has; on rank 0."""
    for row in rows:
        metrics = {key: math.nan if value is None else value for key, value in row.items() if key != "step"}
        for logger in loggers:
            logger.log_metrics(dict(metrics), step=row["step"])


def started_together(trainer: pl.Trainer) -> bool:
    """Whether several ranks are there before the fit, as under Slurm or torchrun.

    On one machine Lightning starts the others within the fit, when rank 0 has long decided.
    """
    from pytorch_lightning.plugins.environments import LightningEnvironment

    environment = getattr(trainer.strategy, "cluster_environment", None)
    return (
        trainer.world_size > 1
        and environment is not None
        and not isinstance(environment, LightningEnvironment)
        and bool(environment.creates_processes_externally)
    )
