"""`attnlab translate RUN [FILE]`: one line in, one line out."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import IO, Any

from attnlab.ending import Parser, told
from attnlab.errors import UserError
from attnlab.lines import read

CHUNK = 1000
"""Lines translated at once; what has been translated is written before the next are read."""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = Parser(
        prog="attnlab translate",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Translate a file, or what comes in, with a finished run: one line in, one line\n"
        "out. An empty line stays empty. Reads the run folder; writes to standard output.",
        epilog="examples:\n"
        "  attnlab translate outputs/runs/CELL/seed1 test.de > test.en\n"
        "  echo 'Ein Hund rennt.' | attnlab translate outputs/runs/CELL/seed1 --beam 10 --n-best 3",
    )
    made.add_argument("run", type=Path, help="run folder, .../seed<k>")
    made.add_argument(
        "file", type=Path, nargs="?", help="UTF-8 text, plain or gzip; standard input without it"
    )
    made.add_argument("--beam", type=int, metavar="K", help="beam size; 1 is greedy (default: the run's)")
    made.add_argument(
        "--n-best",
        type=int,
        default=None,
        metavar="N",
        help="N translations a line, as `line ||| translation ||| score`, lines counted from 0",
    )
    made.add_argument(
        "--unk-replace", action="store_true", help="unknown words by the source word looked at most"
    )
    made.add_argument("--device", help="such as cpu or cuda:1 (default: a GPU where there is one)")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """The verb; returns the exit status."""
    return told(lambda: _translate(parser().parse_intermixed_args(arguments)))


def _translate(options: argparse.Namespace) -> int:
    from attnlab.loading import load

    for name, value in (("--beam", options.beam), ("--n-best", options.n_best)):
        if value is not None and value < 1:
            raise UserError(f"{name} is {value}: give at least 1")
    # Before the slow part: a wrong file name is told at once.
    try:
        stream: IO[bytes] = options.file.open("rb") if options.file is not None else sys.stdin.buffer
    except OSError as error:
        raise UserError(f"{options.file}: cannot be read ({error.strerror})") from error
    name = str(options.file) if options.file is not None else "standard input"
    search: dict[str, Any] = {}
    if options.beam is not None:
        search["beam_size"] = options.beam
    if options.n_best is not None:
        search["n_best"] = options.n_best
    if options.unk_replace:
        search["replace_unknown"] = True
    with stream if options.file is not None else nullcontext():
        run = load(options.run, options.device)
        beam = run.config["search"].get("beam_size") if options.beam is None else options.beam
        if None not in (options.n_best, beam) and options.n_best > beam:
            raise UserError(
                f"--n-best is {options.n_best}, but the beam is {beam}: "
                f"give --beam {options.n_best} or fewer n-best"
            )
        output = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n", write_through=True)
        try:
            first = unknown = pieces = 0
            for lines in _chunks(read(stream, name), 1 if stream.isatty() else CHUNK):
                for number, best in enumerate(run.n_best(lines, **search), start=first):
                    if options.n_best is None:
                        print(best[0][0], file=output)
                    else:
                        for text, score in best:
                            print(f"{number} ||| {text} ||| {score:.6f}", file=output)
                first += len(lines)
                counts = run.unknown(lines)
                unknown, pieces = unknown + counts[0], pieces + counts[1]
        finally:
            output.detach()
    limit = run.config["data"].get("unknown_limit", 1)
    if pieces and unknown / pieces > limit:
        print(
            f"attnlab: warning: {name}: {unknown / pieces:.0%} of the pieces are unknown; is the text "
            f"tokenised or encoded unlike the training text? (data.unknown_limit={limit:g})",
            file=sys.stderr,
        )
    return 0


def _chunks(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(lines)
    while chunk := list(islice(rest, size)):
        yield chunk


if __name__ == "__main__":
    sys.exit(main())
