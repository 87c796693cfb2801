"""The files that `attnlab align` reads, two sides of text and gold links, and where it may write."""

from __future__ import annotations

import hashlib
import io
import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from attnlab import metrics
from attnlab.errors import UserError
from attnlab.lines import read

FOLDER = "alignments"
"""Where in a run's folder results go, unless it is said otherwise."""


class Text(NamedTuple):
    """A file that was read: its lines, and the hash of its bytes."""

    path: Path
    lines: list[str]
    sha256: str

    def described(self) -> dict[str, Any]:
        """For the record."""
        return {"file": str(self.path), "sha256": self.sha256, "lines": len(self.lines)}


def read_text(path: Path) -> Text:
    """The lines of a file, plain or gzip.

    Raises:
        UserError: it cannot be opened, or is no UTF-8.
    """
    try:
        content = path.read_bytes()  # once: a pipe has nothing to say twice
        lines = list(read(io.BufferedReader(io.BytesIO(content)), str(path)))
        return Text(path, lines, hashlib.sha256(content).hexdigest())
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def read_pair(source: Path, target: Path) -> tuple[Text, Text]:
    """Both sides of a text.

    Raises:
        UserError: one cannot be read, they are empty, or have unequal numbers of lines.
    """
    here, there = read_text(source), read_text(target)
    if len(here.lines) != len(there.lines):
        raise UserError(
            f"{source} has {len(here.lines)} lines, {target} has {len(there.lines)}: line n of one must be "
            "the translation of line n of the other"
        )
    if not here.lines:
        raise UserError(f"{source} and {target} are empty: give a sentence a line")
    return here, there


def read_gold(
    path: Path, source: Text, target: Text, *, form: str | None, one_based: bool | None, turned: bool
) -> tuple[list[metrics.Gold], dict[str, Any]]:
    """Gold links from source to target, and what the record says of their file.

    Args:
        path: the file.
        source: the text whose white-space words the links join.
        target: its other side.
        form: a key of `metrics.FORMATS`; None: what it looks like.
        one_based: whether its words count from 1; None: as the format has it.
        turned: the file has the target word first.

    Raises:
        UserError: it cannot be read, or does not fit the text.
    """
    file = read_text(path)
    name = str(path)
    form = form or metrics.recognise(file.lines, name)
    sizes = [(len(s.split()), len(t.split())) for s, t in zip(source.lines, target.lines, strict=True)]
    gold = metrics.read_gold(
        file.lines, [(t, s) for s, t in sizes] if turned else sizes, form=form, one_based=one_based, name=name
    )
    if turned:
        gold = [metrics.Gold(metrics.transpose(g.sure), metrics.transpose(g.possible)) for g in gold]
    return gold, {
        **file.described(),
        "format": form,
        "one_based": metrics.FORMATS[form].one_based if one_based is None else one_based,
        "reversed": turned,
        "sure": sum(len(g.sure) for g in gold),
        "possible": sum(len(g.possible) for g in gold),
    }


def place(run: Path, target: Path) -> Path:
    """A new folder for results in the run's: named by the target text, numbered where there is one."""
    name = target.name.removesuffix(".gz")
    tried = (run / FOLDER / (name if n == 1 else f"{name}-{n}") for n in itertools.count(1))
    return next(folder for folder in tried if not folder.exists())


def check_places(folder: Path, matrices: Path | None) -> None:
    """Refuses places that cannot be written, before the slow part.

    Raises:
        UserError: a file is in the way of a folder or the reverse, or the permissions say no.
    """
    for path, option, is_folder in ((folder, "--out", True), (matrices, "--matrices", False)):
        if path is None:
            continue
        there = next((each for each in (path, *path.parents) if each.exists()), Path())
        if there.is_dir() != (is_folder or there != path):
            reason = "a file is there" if not there.is_dir() else "a folder is there"
        elif not os.access(there, os.W_OK):
            reason = "no permission"
        else:
            continue
        raise UserError(f"{there}: cannot be written ({reason}); choose another place with {option}")


def spare_inputs(outputs: Iterable[Path], inputs: Iterable[Path | None]) -> None:
    """Refuses to write over a file that is read.

    Raises:
        UserError: an output is one of the inputs, whatever the paths look like.
    """
    for there, given in itertools.product(outputs, inputs):
        if given is not None and there.exists() and given.exists() and there.samefile(given):
            raise UserError(f"{there}: is read here, so it is not written over; choose another place")
