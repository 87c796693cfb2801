"""`attnlab report DIR... --out DIR`: compare the records under some folders."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from attnlab.align.files import check_places, spare_inputs
from attnlab.bars import bar
from attnlab.ending import told
from attnlab.errors import UserError
from attnlab.report import baseline as baselines
from attnlab.report import load, table, write
from attnlab.report.evidence import Evidence, evidence
from attnlab.report.gather import steps
from attnlab.report.options import parser
from attnlab.report.rows import Report
from attnlab.report.write import PAGE, stale

if TYPE_CHECKING:
    from attnlab.report.anchors import Anchor


class _Console(Console):
    """As rich has it, except that a closed pipe is told to whoever runs the verb: rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        """Passes the error on."""
        error = sys.exc_info()[1]
        assert error is not None  # called while it is handled
        raise error


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the comparison and writes it into `--out`; 0, or 2 with one line on stderr."""
    return told(lambda: _report(parser().parse_args(arguments)))


def _report(options: argparse.Namespace) -> int:
    console = _Console(highlight=False)
    check_places(options.out, None)  # before minutes of tests
    _spare(options)
    report = _outside(load(options.folders, options.test), options)
    scrubber = None
    if options.anonymous:
        from attnlab.report.anonymous import anonymise

        report, scrubber = anonymise(report)
    evidences = _evidences(report, options)
    anchors = _anchors(report, options)
    if options.anchors and not anchors:
        pairs = ", ".join(dict.fromkeys(one.languages for one in report.comparisons))
        report = report._replace(notes=[*report.notes, f"no published results of {pairs} are known here"])
    written = write(
        report, options.out, evidences, anchors=anchors, scrubber=scrubber, page=not options.no_page
    )
    for number, (comparison, made) in enumerate(zip(report.comparisons, evidences, strict=True)):
        if number:
            console.print()
        table.to_console(comparison, made, console)
    console.print()
    for line in [*report.notes, *report.unscored, *_files(options.out, written)]:
        console.print(Text(line), soft_wrap=True)
    old = stale(options.out, written)
    if old:
        line = f"{options.out}: not of this report, from an earlier one: {', '.join(old)}"
        console.print(Text(line), soft_wrap=True)
    return 0


def _spare(options: argparse.Namespace) -> None:
    """Refuses to write over other people's translations and scores that lie in `--out`."""
    inputs = [*options.scores, options.reference, options.source]
    if options.system:
        from attnlab.report.systems import parse

        inputs += [parse(text).path for text in map(str, options.system)]
    if options.out.is_dir() and any(inputs):
        spare_inputs([options.out / name for name in stale(options.out, [])], inputs)


def _outside(report: Report, options: argparse.Namespace) -> Report:
    """Adds other people's systems and further metrics to the rows of the main comparison."""
    notes: list[str] = []
    if (options.reference or options.source) and not options.system:
        raise UserError("--reference and --source go with --system NAME=FILE; there is none")
    if options.system or options.scores:
        if len(report.comparisons) > 1:
            told_apart = ", ".join(one.label for one in report.comparisons)
            raise UserError(
                f"--system and --scores are of one test set, and here are {len(report.comparisons)} tables "
                f"({told_apart}); choose one with --test NAME"
            )
        from attnlab.report.scores import attach_scores, read_scores
        from attnlab.report.systems import add_systems

        (comparison,) = report.comparisons
        notes += add_systems(comparison, options.system, options.reference, options.source)
        for path in options.scores:
            notes += attach_scores(comparison, read_scores(path))
    return report._replace(notes=[*report.notes, *notes])


def _evidences(report: Report, options: argparse.Namespace) -> list[Evidence]:
    """The evidence of each comparison; a baseline that is named need not be in all of them."""
    wanted = options.baseline
    having = [wanted is None or baselines.is_there(one, wanted) for one in report.comparisons]
    if not any(having):
        baselines.find(report.comparisons[0], wanted)  # which says what there is
    total = sum(steps(one) for one in report.comparisons)
    with bar("intervals and tests", total) as tell:
        return [
            evidence(
                one,
                baseline=wanted if there else None,
                pairs=options.pairs,
                samples=options.samples,
                trials=options.trials,
                level=options.level,
                seed=options.seed,
                tick=lambda: tell(1),
            )
            for one, there in zip(report.comparisons, having, strict=True)
        ]


def _anchors(report: Report, options: argparse.Namespace) -> list[Anchor]:
    """The published results of the language pairs that are compared."""
    if not options.anchors:
        return []
    from attnlab.report.anchors import select

    languages = dict.fromkeys(one.languages for one in report.comparisons)
    return list(dict.fromkeys(anchor for pair in languages for anchor in select(pair)))


def _files(out: Path, written: Sequence[Path]) -> list[str]:
    """What was written: one name for the files of one stem."""
    kinds: dict[str, list[str]] = {}
    for path in written:
        kinds.setdefault(path.stem, []).append(path.suffix[1:])
    names = [
        f"{stem}.{own[0]}" if len(own) == 1 else f"{stem}.{{{','.join(own)}}}" for stem, own in kinds.items()
    ]
    lines = [f"written into {out}: {', '.join(names)}"]
    return [*lines, f"open {out / PAGE}"] if out / PAGE in written else lines


if __name__ == "__main__":
    sys.exit(main())
