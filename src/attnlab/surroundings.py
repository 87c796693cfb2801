"""What surrounds a run: its folder, its log, warnings that do not apply, and signals that end it."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from attnlab import progress, results

QUIET = (
    ".*does not have many workers.*",
    ".*isinstance.treespec, LeafSpec.*",
    ".*No .*_dataloader.* defined.*",
    ".*Checkpoint directory .* exists and is not empty.*",
    ".*smaller than the logging interval.*",
    ".*your dataloader is not resumable.*",
)
"""Warnings of Lightning's that do not apply: small batches are collated faster than a worker is asked,
and where an epoch goes on the data module knows (`TranslationData.start_at`)."""


LOG = "train.log"


class Stopped(SystemExit):
    """A signal ended the run."""


def prepare(folder: Path, config: Mapping[str, Any]) -> None:
    """Makes the folder and writes `config.yaml`; what a finished run left is taken away.

    With `rerun`, and where a finished run lies, the checkpoints, `metrics.jsonl` and `progress.json` go too;
    otherwise they are what the run may go on from.
    """
    from omegaconf import OmegaConf

    folder.mkdir(parents=True, exist_ok=True)
    stale = [folder / name for name in results.FILES.values()] + [*folder.glob("test/*/*")]
    for name in results.FILES.values():  # cut short by a kill while they were written
        stale += folder.glob(f".{name}.*")
    if config.get("rerun") or (folder / results.FILES[results.DONE]).exists():
        stale += [*folder.glob("checkpoints/*.ckpt"), folder / "metrics.jsonl", folder / progress.NAME]
        shutil.rmtree(folder / "wandb", ignore_errors=True)
    for path in stale:
        if path.is_file():
            path.unlink()
    shutil.rmtree(folder / results.EVALUATIONS, ignore_errors=True)  # of a checkpoint that is no more
    OmegaConf.save(OmegaConf.create(dict(config)), folder / "config.yaml")


def same_file(stream: IO[str], path: Path) -> bool:
    """Whether what is written to a stream lands in this file, as the output of a sweep's cell does."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except (OSError, ValueError, AttributeError):
        return False


@contextmanager
def logged(folder: Path, first: bool) -> Iterator[None]:
    """`train.log` in the folder, unless Hydra writes it already; Lightning's own chatter off."""
    path = folder / LOG
    root, ours = logging.getLogger(), logging.getLogger("attnlab")
    lightning = logging.getLogger("pytorch_lightning")
    there = any(
        isinstance(handler, logging.FileHandler) and Path(handler.baseFilename) == path.resolve()
        for handler in root.handlers
    )
    handler = None
    if first and not there:
        handler = logging.FileHandler(path, encoding="utf-8", delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        ours.addHandler(handler)
    levels = ours.level, lightning.level
    ours.setLevel(logging.INFO if first else logging.ERROR)
    lightning.setLevel(logging.WARNING)
    try:
        yield
    finally:
        ours.setLevel(levels[0])
        lightning.setLevel(levels[1])
        if handler is not None:
            ours.removeHandler(handler)
            handler.close()


@contextmanager
def quiet() -> Iterator[None]:
    """Lightning's warnings that do not apply, off."""
    with warnings.catch_warnings():
        for message in QUIET:
            warnings.filterwarnings("ignore", message)
        yield


@contextmanager
def honest_ends() -> Iterator[None]:
    """Signals during the fit as they end any program: SIGTERM by status 143, Ctrl-C by KeyboardInterrupt.

    Lightning 2.6 turns SIGTERM into an exit with status 0, which a sweep would take for success, and Ctrl-C
    into `sys.exit(1)` with SIGINT ignored from then on.
    """
    from pytorch_lightning.utilities.exceptions import SIGTERMException

    try:
        yield
    except SIGTERMException as end:
        raise Stopped(128 + signal.SIGTERM) from end
    except SystemExit as end:
        if not isinstance(end.__context__, KeyboardInterrupt):
            raise
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.default_int_handler)
        raise KeyboardInterrupt from end


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM raises, so that a failed record is left; during the fit Lightning does this itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise Stopped(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
