"""The options of `attnlab explain`, with their help."""

from __future__ import annotations

import argparse
from pathlib import Path

from attnlab.ending import Parser

_EXAMPLES = """examples:
  attnlab explain                                        the worked example, as a page
  attnlab explain --text | less                          the same on a terminal
  attnlab explain --svg slides                           a picture a file, for slides
  attnlab explain outputs/first/*/seed1 --sentence "numo miputa ledu" --out walk.html
  attnlab explain outputs/first/CELL/seed1 --test 3 --reference

The page is one file: open it in a browser, it needs no network.
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the verb; a value that cannot be is told in one line."""
    made = Parser(
        prog="attnlab explain",
        description="A walk through attention in nine steps, for a lecture. Without a run it explains a "
        "worked example; with runs it reads their folders and shows how each translates one sentence, "
        "side by side. Writes one page, or SVG pictures, or text.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = made.add_argument
    add("runs", nargs="*", type=Path, metavar="RUN", help="run folders, .../seed<k>")
    add("--sentence", metavar="TEXT", help="the source sentence that the runs translate")
    add(
        "--test",
        type=int,
        metavar="N",
        help="instead of --sentence: line N, from 0, of the first test set of the first run",
    )
    add("--target", metavar="TEXT", help="the translation to read (default: each model's own)")
    add("--reference", action="store_true", help="read the test set's own translation of the sentence")
    add(
        "--out",
        type=_path,
        metavar="PATH",
        help="the page, NAME.html, or a folder for index.html (default: explain/index.html, of runs "
        "explain/runs.html)",
    )
    add(
        "--text",
        action="store_true",
        help="print the walkthrough as plain text; a page only where --out is given",
    )
    add(
        "--svg",
        type=_path,
        metavar="DIR",
        help="write each picture as a file into DIR; a page only where --out is given",
    )
    add("--device", help="such as cpu or cuda:1 (default: a GPU where there is one)")
    return made


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("an empty name is no place")
    return Path(text)
