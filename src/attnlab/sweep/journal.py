"""What a sweep leaves beside its cells when it starts: how it was asked for, and the file of its study."""

import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

from attnlab.errors import UserError
from attnlab.provenance import code_state
from attnlab.results import write_json
from attnlab.sweep import study
from attnlab.sweep.plan import Plan
from attnlab.sweep.status import SWEEPS


def write(plan: Plan) -> list[Path]:
    """Writes `sweeps/<time>-<pid>.json` and the study's file into every folder that holds cells of the plan.

    The file of a study is kept as `study.yaml`, and under its hash in `sweeps/` so that a later version does
    not take an earlier one away.

    Raises:
        UserError: the folder cannot be written to.
    """
    now = datetime.now(UTC)
    asked = plan.study
    sweep = {
        "command": shlex.join(["attnlab", "train", *sys.argv[1:]]),
        "started": now.isoformat(timespec="seconds"),
        "pid": os.getpid(),
        "host": os.uname().nodename,
        "study": None if asked is None else {"file": str(asked.path), "sha256": asked.sha256},
        "code": code_state(),
    }
    written = []
    cells = [cell for cell in plan.cells if cell.folder is not None]
    for top in sorted({cell.folder.parent.parent for cell in cells if cell.folder is not None}):
        path = top / SWEEPS / f"{now:%Y%m%dT%H%M%S}-{os.getpid()}.json"
        own = [
            {"folder": str(cell.folder.relative_to(top)), "state": cell.state, "overrides": cell.overrides}
            for cell in cells
            if cell.folder is not None and cell.folder.parent.parent == top
        ]
        try:
            write_json({**sweep, "cells": own}, path)
            if asked is not None:
                _keep(asked.text, top / study.FILE)
                _keep(asked.text, top / SWEEPS / f"study-{asked.sha256[:8]}.yaml")
        except OSError as error:
            raise UserError(
                f"{top}: cannot be written to ({error.strerror}); give another folder with out=DIR"
            ) from error
        written.append(path)
    return written


def _keep(text: bytes, path: Path) -> None:
    """Writes a file under a temporary name, then renames it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(text)
    temporary.replace(path)
