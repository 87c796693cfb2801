"""Writes a report into a folder: the same bytes for the same records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from attnlab.errors import UserError
from attnlab.report import figures, table
from attnlab.report.rows import Report

_OURS = re.compile(rf"table(_.+)?\.(csv|md)|{figures.OURS.pattern}")


def write(report: Report, out: Path) -> list[Path]:
    """Writes `table.{csv,md}` and the figures that the records allow.

    Every further comparison goes into files of its own: `table_<slug>.csv` and so on.

    Raises:
        UserError: the folder cannot be made or written to.
    """
    written = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for number, comparison in enumerate(report.comparisons):
            stem = comparison.file("table")
            unscored = [] if number else report.unscored  # told once
            texts = {
                f"{stem}.csv": table.to_csv(comparison),
                f"{stem}.md": table.to_markdown(comparison, report.notes, unscored),
            }
            for name, text in texts.items():
                (out / name).write_text(text, encoding="utf-8", newline="\n")
                written.append(out / name)
            written += figures.write_all(comparison, None, out)
    except OSError as error:
        raise UserError(
            f"{out}: cannot be written ({error.strerror}); give another folder to --out"
        ) from error
    return written


def stale(out: Path, written: Sequence[Path]) -> list[str]:
    """Names of files in the folder that look like those of a report and are not of this one.

    They are left where they are: a report never deletes.
    """
    new = {path.name for path in written}
    return sorted(path.name for path in out.iterdir() if _OURS.fullmatch(path.name) and path.name not in new)
