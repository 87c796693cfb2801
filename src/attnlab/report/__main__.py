"""`attnlab report DIR... --out DIR`: compare the records under some folders."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from attnlab.ending import told
from attnlab.report import load, table, write
from attnlab.report.write import stale


class _Console(Console):
    """As rich has it, except that a closed pipe is told to whoever runs the verb: rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        """Passes the error on."""
        error = sys.exc_info()[1]
        assert error is not None  # called while it is handled
        raise error


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the comparison and writes it into `--out`; 0, or 2 with one line on stderr."""
    parser = argparse.ArgumentParser(
        prog="attnlab report",
        description="Reads the records (result.json) of any folders, at any depth, prints the comparison and "
        "writes table.{csv,md} and bleu_by_length.{csv,svg,png}.",
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="a run, or a folder above runs")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", default=Path("report"), help="where to write (default: report)"
    )
    parser.add_argument(
        "--test", action="append", default=[], metavar="NAME", help="this test set only (may be given again)"
    )
    return told(lambda: _report(parser.parse_args(arguments)))


def _report(options: argparse.Namespace) -> int:
    console = _Console(highlight=False)
    report = load(options.folders, options.test)
    written = write(report, options.out)
    for number, comparison in enumerate(report.comparisons):
        if number:
            console.print()
        table.to_console(comparison, console)
    console.print()
    for line in [*report.notes, *report.unscored, *(f"written: {path}" for path in written)]:
        console.print(Text(line), soft_wrap=True)
    old = stale(options.out, written)
    if old:
        line = f"{options.out}: not of this report, from an earlier one: {', '.join(old)}"
        console.print(Text(line), soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
