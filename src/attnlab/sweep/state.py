"""In what state a run folder is, and the lock that keeps two processes out of one."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attnlab.errors import UserError
from attnlab.results import DONE, FILES

LOG = "train.log"
_LOCK = ".lock"


def finished(folder: Path) -> dict[str, Any] | None:
    """The record of a run that has come to its end, None where there is none that can be read."""
    try:
        found = json.loads((folder / FILES[DONE]).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def bleu(found: dict[str, Any]) -> str:
    """`test_2016_flickr 38.20` for each test set of a record, in one line."""
    scores = []
    for name, test in (found.get("test") or {}).items():
        score = (test.get("bleu") or {}).get("score")
        if score is not None:
            scores.append(f"{name} {score:.2f}")
    return ", ".join(scores)


def rank() -> int:
    """This process's rank among those that train one cell, as Lightning or torchrun tells its children."""
    return int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", 0)))


def refuse_finished(folder: Path) -> None:
    """Raise UserError where a finished run would be trained again unasked."""
    if rank() == 0 and finished(folder) is not None:
        raise UserError(
            f"{folder} holds a finished run: train it again in its place with rerun=true,"
            " or elsewhere with out=DIR or study=NAME"
        )


def make(folder: Path) -> None:
    """Make a run folder.

    Raises:
        UserError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> UserError:
    return UserError(f"{folder}: cannot be written to ({error.strerror}); give another folder with out=DIR")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a run folder for this process; the system lets go of it however the process ends.

    Other ranks of the same run do not take it.

    Raises:
        UserError: another process trains in it, or it cannot be written to.
    """
    if rank() != 0:
        yield
        return
    make(folder)
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 200).decode(errors="replace").strip() or "another process"
            raise UserError(
                f"{folder} is being trained by {holder}: wait for it, or train elsewhere with out=DIR"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {os.uname().nodename}".encode(), 0)
        yield
    finally:
        os.close(descriptor)
