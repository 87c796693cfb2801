"""How a sweep stands, read off its folders: nothing is written, nothing is waited for. No torch, no Hydra."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnlab.errors import UserError
from attnlab.results import DONE, FAILED, FILES
from attnlab.sweep import state

SWEEPS = "sweeps"
STATES = (DONE, state.RUNNING, FAILED, state.INTERRUPTED, state.PENDING)
_OF_A_RUN = {*FILES.values(), "config.yaml", ".lock", ".launch", state.PROGRESS, state.LOG, "checkpoints"}


@dataclass(frozen=True)
class Run:
    """A run folder, its state, and what it says: how far it has come, or why it failed."""

    folder: Path
    state: str
    progress: dict[str, Any] | None = None
    reason: str = ""


@dataclass
class Status:
    """The runs under one folder of cells, such as a study's."""

    folder: Path
    runs: list[Run] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How many runs are in each state, none left out."""
        found = Counter(run.state for run in self.runs)
        return {name: found[name] for name in STATES}


def of(top: Path) -> list[Status]:
    """The status of every folder of cells at `top` or below it, in order of their paths.

    Cells that the newest sweep is to train, or a sweep that still runs, are pending where they have no
    folder yet.

    Raises:
        UserError: no such folder.
    """
    if not top.is_dir():
        raise UserError(f"{top}: no such folder; give the folder of a study, or one above it")
    found: dict[Path, Status] = {}
    seen: set[Path] = set()
    for folder, names in _runs(top):
        study = folder.parent.parent
        found.setdefault(study, Status(study)).runs.append(_run(folder, names))
        seen.add(folder)
    for sweeps in _sweeps(top):
        study = sweeps.parent
        for folder in planned(sweeps):
            if folder not in seen and (study == top or top in folder.parents or top == folder):
                found.setdefault(study, Status(study)).runs.append(Run(folder, state.PENDING))
                seen.add(folder)
    for status in found.values():
        status.runs.sort(key=lambda run: str(run.folder))
    return [found[study] for study in sorted(found)]


def planned(sweeps: Path) -> list[Path]:
    """The run folders of the newest sweep that was started, and of those that still run."""
    folders: dict[Path, None] = {}
    for number, path in enumerate(sorted(sweeps.glob("*.json"), reverse=True)):
        try:
            sweep = json.loads(path.read_text(encoding="utf-8"))
            cells = [sweeps.parent / cell["folder"] for cell in sweep["cells"]]
        except (OSError, ValueError, TypeError, KeyError):
            continue
        if number == 0 or _alive(sweep):
            folders.update(dict.fromkeys(cells))
    return list(folders)


def _alive(sweep: Mapping[str, Any]) -> bool:
    """Whether the process of a sweep is there; of another machine's nothing is known."""
    pid = sweep.get("pid")
    if sweep.get("host") != os.uname().nodename or not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _runs(top: Path) -> Iterator[tuple[Path, set[str]]]:
    """Run folders with the names in them, at any depth; a run holds no further runs."""
    try:
        entries = list(os.scandir(top))
    except OSError:
        return
    names = {entry.name for entry in entries}
    if top.name.startswith("seed") and names & _OF_A_RUN:
        yield top, names
        return
    for entry in sorted(entries, key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False) and entry.name != SWEEPS and not entry.name.startswith("."):
            yield from _runs(top / entry.name)


def _sweeps(top: Path) -> Iterable[Path]:
    """The folders of sweep files for what lies at `top`: its own, those below, or those above a run."""
    near = [folder / SWEEPS for folder in (top, *top.parents[:2])]
    below = sorted(top.glob(f"*/{SWEEPS}"))
    return [path for path in dict.fromkeys([*near, *below]) if path.is_dir()]


def _run(folder: Path, names: set[str]) -> Run:
    found = state.of(folder)
    if found == state.RUNNING:
        return Run(folder, found, state.progress(folder))
    if found in (FAILED, state.INTERRUPTED):
        said = state.progress(folder) if state.PROGRESS in names else None
        return Run(folder, found, said, why(folder))
    return Run(folder, found)


def why(folder: Path) -> str:
    """Why a run failed or was stopped, in one line; empty where it left no word."""
    error = state.error(state.failure(folder) or {})
    words = [str(error.get(name) or "") for name in ("type", "message")]
    return ": ".join(" ".join(word.split()) for word in words if word.strip())
