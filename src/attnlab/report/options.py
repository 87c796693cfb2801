"""The options of `attnlab report`, with their help."""

from __future__ import annotations

import argparse
from pathlib import Path

from attnlab.ending import Parser

MOST = 1_000_000
"""Draws of the bootstrap, trials of the randomisation: more settle no digit, and fill the memory."""

_EXAMPLES = """examples:
  attnlab report outputs/first
  attnlab report experiments/toy_grid --baseline "dot, post_combine" --out report
  attnlab report outputs/old outputs/new                 two versions of a study, kept apart as rows
  attnlab report outputs/first --test test_2016_flickr --system moses=hyp.txt --scores comet.tsv --pairs

The folder gets table.{csv,md,tex}, tests.csv, lengths.csv, effects.csv, the figures (svg, png, pdf and their
numbers as csv), checklist.md, and index.html: open it in a browser, it needs no network.
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the verb; a value that cannot be is told in one line."""
    made = Parser(
        prog="attnlab report",
        description="Compares the records (result.json) of any folders, at any depth: a table with intervals "
        "and tests, figures, and a page. Of a study (a folder with study.yaml) the cells without a finished "
        "run are rows too.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = made.add_argument
    add("folders", nargs="+", type=Path, metavar="DIR", help="a run, a study, or a folder above runs")
    add("--out", type=Path, metavar="DIR", default=Path("report"), help="where to write (default: report)")
    add(
        "--test",
        action="append",
        default=[],
        metavar="NAME",
        help="this test set only, such as --test test_2016_flickr (may be given again)",
    )
    add(
        "--baseline",
        metavar="CELL",
        help='the row to compare with: its name, such as "dot, post_combine", its cell or a part of one '
        "(default: the cell without attention, else the first row)",
    )
    add("--pairs", action="store_true", help="test all pairs of rows, not only against the baseline")
    add(
        "--samples",
        type=_draws,
        metavar="N",
        default=1000,
        help="of the bootstrap, such as --samples 10000 (default: 1000; 0: neither intervals nor tests)",
    )
    add(
        "--trials",
        type=_draws,
        metavar="N",
        default=10000,
        help="of the approximate randomisation, such as --trials 1000 (default: 10000; 0: no tests)",
    )
    add(
        "--level",
        type=_level,
        metavar="P",
        default=0.95,
        help="of intervals and tests, such as --level 0.99 (default: 0.95)",
    )
    add("--seed", type=_count, metavar="N", default=12345, help="of all random numbers (default: 12345)")
    add(
        "--system",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="another system's translations of the test set, one line each, such as --system moses=hyp.txt "
        "(may be given again)",
    )
    add("--reference", type=Path, metavar="FILE", help="the references, where the data is not at hand")
    add("--source", type=Path, metavar="FILE", help="the sources, beside --reference")
    add(
        "--scores",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="segment scores of another metric, tab-separated with the columns system, segment (from 0) and "
        "score, such as --scores comet.tsv (may be given again)",
    )
    add("--anchors", action="store_true", help="show published results of the same language pair beside")
    add("--anonymous", action="store_true", help="leave users, hosts, places and accounts out of all files")
    add("--no-page", action="store_true", help="without index.html")
    return made


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 40:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 0")
    return int(text)


def _draws(text: str) -> int:
    value = _count(text)
    if value > MOST:
        raise argparse.ArgumentTypeError(f"{value} are more than the {MOST:,} that make sense")
    return value


def _level(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' must lie between 0 and 1, such as 0.95")
    return value
