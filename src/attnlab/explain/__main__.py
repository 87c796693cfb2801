"""`attnlab explain [RUN...]`: a walk through attention, as a page, as pictures, or as text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab.ending import told
from attnlab.errors import UserError
from attnlab.explain.options import parser

if TYPE_CHECKING:
    from attnlab.explain.walk import Walk

FOLDER = Path("explain")
PAGE, RUNS_PAGE = "index.html", "runs.html"
"""Of the worked example and of runs, where no name is given: one does not replace the other."""
_MARK = b"attnlab explain"
"""What every page of ours has in it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes or prints the walkthrough; 0, or 2 with one line on stderr."""
    return told(lambda: _explain(parser().parse_intermixed_args(arguments)))


def _explain(options: argparse.Namespace) -> int:
    _check(options)
    page = _page(options)
    walk = _walk(options)
    if options.text:
        print(walk.text(), end="")
    if options.svg is not None:
        files = {options.svg / name: content for name, content in walk.svgs().items()}
        _write(files)
        _say(f"{len(files)} pictures in {options.svg}", options)
    if page is not None:
        _write({page: walk.page()})
        _say(f"open {page}", options)
    return 0


def _walk(options: argparse.Namespace) -> Walk:
    if not options.runs:
        from attnlab.explain.walk import worked_example

        return worked_example()
    from attnlab.explain.trained import trained

    return trained(
        options.runs, options.sentence, options.test, options.target, options.reference, options.device
    )


def _check(options: argparse.Namespace) -> None:
    """What does not go together, told before anything slow."""
    given = [
        name
        for name in ("sentence", "test", "target", "reference", "device")
        if getattr(options, name) is not None and getattr(options, name) is not False
    ]
    if given and not options.runs:
        raise UserError(f"--{given[0]} is of trained runs, and none is given; name a run folder, .../seed<k>")
    for run in options.runs:
        if not run.is_dir():
            raise UserError(f"{run}: no run is here (no such folder); give the folder that ends in seed<k>")
    if options.runs and options.sentence is None and options.test is None:
        raise UserError(
            'a sentence is missing: give --sentence "TEXT", or --test N for line N of the test set'
        )
    for one, other in (("sentence", "test"), ("target", "reference")):
        if one in given and other in given:
            raise UserError(f"--{one} and --{other} are two ways to say one thing; give one of them")
    if options.sentence is not None and not options.sentence.strip():
        raise UserError("--sentence is empty: an empty sentence has no attention to show")
    for name in ("sentence", "target"):
        try:
            (getattr(options, name) or "").encode("utf-8")
        except UnicodeEncodeError as error:
            raise UserError(f"--{name} is no text in UTF-8; give it in the terminal's encoding") from error


def _page(options: argparse.Namespace) -> Path | None:
    """Where the page goes; None for no page."""
    out: Path | None = options.out
    if out is None:
        own = RUNS_PAGE if options.runs else PAGE
        return None if options.text or options.svg is not None else FOLDER / own
    page = out if out.suffix.lower() in (".html", ".htm") else out / PAGE
    try:
        foreign = page.is_file() and _MARK not in page.read_bytes()
    except OSError:  # it is told where the page is written
        foreign = False
    if foreign:
        raise UserError(f"{page}: not a page of attnlab explain; give --out another name, or move that file")
    return page


def _write(files: dict[Path, str]) -> None:
    """Each file under another name first, so that no half of it is left, nor an older one lost."""
    for path, content in files.items():
        half = path.with_name(f".{path.name}.half")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                half.write_text(content, encoding="utf-8", errors="backslashreplace", newline="\n")
                half.replace(path)
            finally:
                half.unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror}); choose another place") from error


def _say(line: str, options: argparse.Namespace) -> None:
    """On standard output, unless the text is there."""
    print(line, file=sys.stderr if options.text else sys.stdout)


if __name__ == "__main__":
    sys.exit(main())
