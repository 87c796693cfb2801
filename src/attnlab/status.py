"""`attnlab status [FOLDER or STUDY]`: how a sweep stands, from another terminal, at any time."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attnlab.ending import Parser, told
from attnlab.errors import UserError
from attnlab.results import FAILED
from attnlab.sweep import state, status
from attnlab.sweep.live import duration, rate, updates

OUT = Path("outputs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints counts by state, running and failed cells; 0, or 2 with one line on stderr."""
    parser = Parser(
        prog="attnlab status",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Counts the cells of a sweep by state (done, running, failed, interrupted, pending),\n"
        "and shows how far each running one is and why each failed one failed. Reads the\n"
        "run folders and the sweep's list of cells; writes nothing.",
        epilog="examples:\n"
        "  attnlab status                     all under outputs/\n"
        "  attnlab status STUDY               outputs/STUDY, from another terminal, at any time\n"
        "  attnlab status STUDY --json        for a script",
    )
    parser.add_argument(
        "where", nargs="?", default=str(OUT), metavar="FOLDER", help="a folder, or a study in outputs/"
    )
    parser.add_argument("--json", action="store_true", help="as JSON, every run with its state")
    options = parser.parse_args(arguments)
    return told(lambda: _status(options.where, options.json))


def folder_of(where: str) -> Path:
    """The folder that a word on the command line means.

    Raises:
        UserError: there is none.
    """
    for folder in (Path(where), OUT / where):
        if folder.is_dir():
            return folder
    raise UserError(f"{where}: neither a folder nor a study in {OUT}/; give the folder of its runs")


def _status(where: str, as_json: bool) -> int:
    found = status.of(folder_of(where))
    if as_json:
        print(json.dumps([_plain(one) for one in found], indent=1, ensure_ascii=False))
        return 0
    if not found:
        print(f"{where}: no runs")
    for one in found:
        print("\n".join(lines(one)))
    return 0


def _plain(found: status.Status) -> dict[str, Any]:
    return {
        "folder": str(found.folder),
        "counts": found.counts,
        "runs": [
            {
                "folder": str(run.folder),
                "state": run.state,
                "progress": run.progress,
                "reason": run.reason,
            }
            for run in found.runs
        ],
    }


def lines(found: status.Status) -> Iterator[str]:
    """A study in words: the counts, a line a running cell, a line a failed or interrupted one."""
    counts = ", ".join(f"{number} {name}" for name, number in found.counts.items() if number)
    yield f"{found.folder}: {len(found.runs)} {'run' if len(found.runs) == 1 else 'runs'}: {counts}"
    width = max((len(run.state) for run in found.runs), default=0)
    for kind in (state.RUNNING, FAILED, state.INTERRUPTED):
        for run in found.runs:
            if run.state == kind:
                name = run.folder.relative_to(found.folder)
                words = run.reason if kind == FAILED else ", ".join(_progress(run.progress, kind))
                yield f"  {kind:<{width}}  {name}{': ' if words else ''}{words}"


def _progress(said: dict[str, Any] | None, kind: str) -> Iterator[str]:
    """Phase, updates, rate and time left, as far as a run has said them."""
    if said is None:
        if kind == state.RUNNING:
            yield "starting"
        return
    yield " ".join(filter(None, [str(said.get("phase") or "starting"), updates(said)]))
    if kind == state.RUNNING:
        if speed := rate(said.get("tokens_per_s")):
            yield speed
        if isinstance(said.get("left_s"), int | float):
            yield f"{duration(said['left_s'])} left"


if __name__ == "__main__":
    sys.exit(main())
