"""Writes a report into a folder: the same bytes for the same records."""

from __future__ import annotations

from pathlib import Path

from attnlab.errors import UserError
from attnlab.report import figure, table
from attnlab.report.rows import Report


def write(report: Report, out: Path) -> list[Path]:
    """Writes `table.{csv,md}` and `bleu_by_length.{csv,svg,png}`.

    Every further comparison goes into files of its own: `table_<slug>.csv` and so on.

    Raises:
        UserError: the folder cannot be made or written to.
    """
    written = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for comparison in report.comparisons:
            tail = f"_{comparison.slug}" if comparison.slug else ""
            texts = {
                f"table{tail}.csv": table.to_csv(comparison),
                f"table{tail}.md": table.to_markdown(comparison, report.notes),
                f"bleu_by_length{tail}.csv": figure.curve_csv(comparison),
            }
            for name, text in texts.items():
                (out / name).write_text(text, encoding="utf-8", newline="\n")
                written.append(out / name)
            pictures = [out / f"bleu_by_length{tail}.{kind}" for kind in ("svg", "png")]
            figure.draw(comparison, pictures)
            written += pictures
    except OSError as error:
        raise UserError(
            f"{out}: cannot be written ({error.strerror}); give another folder to --out"
        ) from error
    return written
