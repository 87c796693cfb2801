"""In what state a run folder is, and the locks that keep two processes out of one.

Three kinds of file tell: records (`result.json`, `failed.json`), what a training leaves (`config.yaml`,
checkpoints, `progress.json`), and locks. `.lock` is held by the process that trains; `.launch` by the
launcher that has taken the cell and by the process that it started for it, whichever lives longer. The system
lets go of a lock however its holder ends, so nothing has to be cleaned up after a crash. Of these functions
only `make`, `locked`, `claim` and `mark_failed` write.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attnlab import results
from attnlab.errors import UserError
from attnlab.results import DONE, FAILED, FILES

LOG = "train.log"
PROGRESS = "progress.json"
STOPPED = "Stopped"
"""The `type` of the error of a run that was asked to end: it has not failed, it is to be gone on with."""

PENDING, RUNNING, INTERRUPTED = "pending", "running", "interrupted"

_LOCK, _LAUNCH = ".lock", ".launch"
_PATIENCE = 1.0  # seconds; somebody who only asks who holds a lock has it for an instant


def _object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file, None where there is none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def finished(folder: Path) -> dict[str, Any] | None:
    """The record of a run that has come to its end, None where there is none that can be read."""
    return _object(folder / FILES[DONE])


def failure(folder: Path) -> dict[str, Any] | None:
    """The record of a run that failed or was stopped, None where there is none that can be read."""
    return _object(folder / FILES[FAILED])


def stopped(record: Mapping[str, Any]) -> bool:
    """Whether the record of a failure says that the run was asked to end."""
    return error(record).get("type") == STOPPED


def error(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the record of a failure says of it: `{type, message, traceback}`; empty where it says nothing."""
    found = record.get("error")
    return found if isinstance(found, Mapping) else {}


def progress(folder: Path) -> dict[str, Any] | None:
    """How far a run has come, as it last said; stays behind when it ends. None where it has said nothing."""
    return _object(folder / PROGRESS)


def of(folder: Path) -> str:
    """`pending`, `running`, `done`, `failed` or `interrupted`; looks only, and makes nothing.

    `running`: its lock is held, by whatever process and on whatever machine that shares the folder; `failed`:
    it ended by itself; `interrupted`: it was stopped or killed, and waits to be gone on with.
    """
    if held(folder):
        return RUNNING
    if finished(folder) is not None:
        return DONE
    failed = failure(folder)
    if failed is not None:
        return INTERRUPTED if stopped(failed) else FAILED
    if (folder / "config.yaml").exists() or any(folder.glob("checkpoints/*.ckpt")):
        return INTERRUPTED
    return PENDING


def held(folder: Path) -> bool:
    """Whether a process trains in the folder."""
    return _busy(folder / _LOCK)


def _busy(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)
    return False


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
            f"{folder} holds a finished run of these settings (loggers and devices are no part of them):"
            " train it again in its place with rerun=true, or elsewhere with out=DIR or study=NAME"
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


def _taken(folder: Path, name: str) -> int | None:
    """An open lock file that is ours, None where another process holds it."""
    make(folder)
    try:
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _unwritable(folder, error) from error
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if name == _LAUNCH or time.monotonic() > until:
                os.close(descriptor)
                return None
            time.sleep(0.1)
        except OSError as error:
            os.close(descriptor)
            raise _unwritable(folder, error) from error


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
    descriptor = _taken(folder, _LOCK)
    if descriptor is None:
        try:
            holder = (folder / _LOCK).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            holder = ""
        raise UserError(
            f"{folder} is being trained by {holder or 'another process'}: wait for it,"
            " or train elsewhere with out=DIR"
        )
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {os.uname().nodename}".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def claim(folder: Path) -> int | None:
    """Take a cell for a launcher: a descriptor that holds it until closed, None where others have the cell.

    Handed on to the process that trains (`pass_fds`), it holds the cell until that process has ended too, so
    that the cells of a launcher which was killed are not started a second time beside themselves.

    Raises:
        UserError: the folder cannot be written to.
    """
    descriptor = _taken(folder, _LAUNCH)
    if descriptor is not None and held(folder):  # trained by hand, or on another machine
        os.close(descriptor)
        return None
    return descriptor


def mark_failed(
    folder: Path,
    config: Mapping[str, Any],
    kind: str,
    message: str,
    traceback: Sequence[str] | str = (),
    wall_s: float | None = None,
) -> None:
    """Leave `failed.json` for a run whose process could not.

    Args:
        folder: the run folder.
        config: plain settings with `cell`, `overrides` and `command` (`compose.cell_dict`).
        kind: such as `Killed`, `Exited`, `Timeout`, `Stalled`.
        message: why, in one line.
        traceback: the last lines of its log.
        wall_s: what it cost, in seconds.

    Raises:
        OSError: it cannot be written.
    """
    from attnlab.sweep import identity  # OmegaConf: not before somebody asks

    lines = traceback if isinstance(traceback, str) else "\n".join(traceback)
    settings = {key: value for key, value in config.items() if key not in ("cell", "overrides", "command")}
    record = results.build(
        cell=identity.cell(config),
        factors=dict((config.get("about") or {}).get("factors") or {}),
        cell_id=identity.cell_name(config),
        study=config.get("study"),
        seed=int(config["seed"]),
        overrides=list(config.get("overrides") or []),
        command=config.get("command"),
        config=settings,
        error={"type": kind, "message": message, "traceback": lines},
        train={"wall_s": wall_s},
    )
    results.write(record, folder)
