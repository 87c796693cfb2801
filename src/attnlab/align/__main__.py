"""`attnlab align RUN SRC TGT [--gold F]`: word links out of attention, and their error rate."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from attnlab import metrics, provenance
from attnlab.align.files import check_places, place, read_gold, read_pair, spare_inputs
from attnlab.bars import bar
from attnlab.ending import Parser, told
from attnlab.errors import UserError

HOW = {"forced": "forced decoding", "search": "while searching"}
NAMES = ("align.txt", "hyp.txt", "alignment.json")
"""What is written into a folder; `hyp.txt` with `--by search`."""
JOINED = "grow-diag-final-and"
"""How the links of two directions are joined, unless it is said otherwise."""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = Parser(
        prog="attnlab align",
        description="Word links of translations, out of the attention of a run that reads them (forced "
        "decoding). With gold links: AER, precision and recall under both credits. Writes align.txt (i-j "
        "from 0, a line a pair; words are what white space separates) and alignment.json.",
        epilog="example: attnlab align outputs/runs/CELL/seed1 test.de test.en --gold test.align",
    )
    made.add_argument("run", type=Path, help="run folder, .../seed<k>")
    made.add_argument(
        "source", type=Path, metavar="SRC", help="source text, plain or gzip, a sentence a line"
    )
    made.add_argument("target", type=Path, metavar="TGT", help="its translation, line by line")
    gold = made.add_argument_group("gold links")
    gold.add_argument("--gold", type=Path, metavar="FILE", help="of the pairs, plain or gzip")
    gold.add_argument(
        "--gold-format",
        choices=list(metrics.FORMATS),
        help="pharaoh: i-j sure, ipj or i?j possible; naacl: `sentence i j [S|P]` (default: as it looks)",
    )
    gold.add_argument(
        "--one-based",
        action=argparse.BooleanOptionalAction,
        help="whether the file counts words from 1 (default: naacl does, pharaoh does not)",
    )
    gold.add_argument("--gold-reversed", action="store_true", help="the file has the target word first")
    how = made.add_argument_group("how links are made")
    how.add_argument(
        "--credit",
        choices=list(metrics.CREDITS),
        default="predicted",
        help="which links are written: weights belong to the token that their step emits, or to the one it "
        "reads (default: predicted); --gold scores both",
    )
    how.add_argument(
        "--links",
        choices=["argmax", "threshold"],
        help="to the word with the largest weight, or to all with a large one (default: argmax)",
    )
    how.add_argument("--threshold", type=float, metavar="X", help="to all words with a weight of at least X")
    how.add_argument(
        "--reverse", type=Path, metavar="RUN2", help="a run of the other direction, whose links are joined in"
    )
    how.add_argument(
        "--symmetrise", choices=list(metrics.SYMMETRISERS), help=f"how they are joined (default: {JOINED})"
    )
    how.add_argument(
        "--by",
        choices=["forced", "search"],
        default="forced",
        help="search: translate SRC and link the hypotheses, which are written as hyp.txt; gold links count "
        "where the hypothesis has the words of TGT",
    )
    made.add_argument(
        "--out", type=Path, metavar="DIR", help="where to write (default: RUN/alignments/<name of TGT>)"
    )
    made.add_argument(
        "--matrices", type=Path, metavar="FILE", help="also write the weights of words, as safetensors"
    )
    made.add_argument("--device", help="such as cpu or cuda:1 (default: a GPU where there is one)")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """The verb; returns the exit status."""
    return told(lambda: _align(sys.argv[1:] if arguments is None else list(arguments)))


def _align(given: list[str]) -> int:
    options = parser().parse_intermixed_args(given)
    kind, extract = _extractor(options)
    source, target = read_pair(options.source, options.target)
    gold, gold_file = None, None
    if options.gold is not None:
        gold, gold_file = read_gold(
            options.gold,
            source,
            target,
            form=options.gold_format,
            one_based=options.one_based,
            turned=options.gold_reversed,
        )

    folder = options.out or place(options.run, options.target)
    outputs = [folder / name for name in NAMES] + ([options.matrices] if options.matrices else [])
    spare_inputs(outputs, (options.source, options.target, options.gold))

    from attnlab.align import linking, record  # torch is slow; a wrong file name is told at once
    from attnlab.loading import load

    run = load(options.run, options.device)
    linking.needs_attention(run)
    reverse = None
    if options.reverse is not None:
        reverse = load(options.reverse, options.device)
        linking.needs_attention(reverse)
        linking.opposite(run, reverse)
    check_places(folder, options.matrices)
    joined = options.symmetrise or JOINED
    passes = 1 if reverse is None else 2
    with bar("aligning", passes * len(source.lines)) as advance:
        found = linking.link(
            run,
            source.lines,
            target.lines if options.by == "forced" else None,
            credit=options.credit,
            extract=extract,
            reverse=reverse,
            symmetrise=joined,
            told=advance,
        )
    kept = [True] * len(source.lines)
    if options.by == "search":
        kept = record.comparable(run, found.targets, target.lines)
    tokenizers = run.source_tokenizer, run.target_tokenizer
    content = {
        "kind": "alignment",
        "command": shlex.join(["attnlab", "align", *given]),
        **record.model(run),
        "by": options.by,
        "credit": options.credit,
        "links": {"kind": kind, "threshold": options.threshold},
        "reverse": None if reverse is None else {**record.model(reverse), "symmetrise": joined},
        **{
            side: {**text.described(), "unknown": record.unknown(tokenizer, text.lines)}
            for side, text, tokenizer in zip(("source", "target"), (source, target), tokenizers, strict=True)
        },
        "gold": gold_file,
        **record.scores(found, gold, kept),
        "attention": record.statistics(run, source.lines, found, gold, kept),
        "code": provenance.code_state(),
        "device": provenance.device_name(run.device),
    }
    written = record.write(folder, content, found, source.lines, options.matrices)
    _show(content, {credit: sum(map(len, links)) for credit, links in found.links.items()})
    for path in written:
        print(f"written: {path}")
    if (old := folder / "hyp.txt") not in written and old.exists():
        print(f"{old}: not of this alignment, from an earlier one")
    _warn(content, run.config["data"].get("unknown_limit", 1))
    return 0


def _extractor(options: argparse.Namespace) -> tuple[str, Callable[[np.ndarray], frozenset[metrics.Link]]]:
    """How links are made.

    Raises:
        UserError: options that do not go together.
    """
    if options.symmetrise and options.reverse is None:
        raise UserError("--symmetrise joins two directions; give the other one with --reverse RUN2")
    reading = options.gold_format or options.gold_reversed or options.one_based is not None
    if options.gold is None and reading:
        raise UserError(
            "--gold-format, --one-based and --gold-reversed say how a gold file is read; give --gold FILE"
        )
    kind = options.links or ("argmax" if options.threshold is None else "threshold")
    if kind == "argmax":
        if options.threshold is not None:
            raise UserError("--links argmax takes no --threshold; leave one of them out")
        return kind, metrics.arg_max_links
    if options.threshold is None:
        raise UserError("--links threshold needs a weight, such as --threshold 0.2")
    metrics.threshold_links(np.zeros((0, 0)), options.threshold)  # an impossible one is told at once
    return kind, partial(metrics.threshold_links, least=options.threshold)


def _show(content: dict[str, Any], links: dict[str, int]) -> None:
    """The table of results, in per cent; the credit whose links are written has a star."""
    agreed = content["alignment"]
    heads = ["credit", *(["AER %", "P %", "R %", "sure"] if agreed else []), "links", "n"]
    rows = []
    for credit, count in links.items():
        row = [f"{credit}{'*' if credit == content['credit'] else ''}"]
        if agreed:
            found = agreed[credit]
            row += [_percent(found[name]) for name in ("aer", "precision", "recall")]
            row += [str(found["sure"]), str(found["links"]), str(found["n"])]
        else:
            row += [str(count), str(content["source"]["lines"])]
        rows.append(row)
    widths = [max(len(row[n]) for row in (heads, *rows)) for n in range(len(heads))]
    for row in (heads, *rows):
        first, *rest = [
            cell.ljust(w) if not n else cell.rjust(w)
            for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join([first, *rest]))
    threshold, reverse = content["links"]["threshold"], content["reverse"]
    made = "links by arg-max" if threshold is None else f"links from {threshold:g} on"
    joined = f", both directions joined by {reverse['symmetrise']}" if reverse else ""
    print(f"* written; {HOW[content['by']]}, {made}{joined}")
    if agreed and content["by"] == "search":
        total, same = content["source"]["lines"], agreed[content["credit"]]["n"]
        print(f"scored: {same} of {total} sentences, those whose hypothesis has the words of the target")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _warn(content: dict[str, Any], limit: float) -> None:
    for side in ("source", "target"):
        share = content[side]["unknown"]
        if share > limit:
            print(
                f"attnlab: warning: {content[side]['file']}: {share:.0%} of the pieces are unknown; is the "
                f"text tokenised or encoded unlike the training text? (data.unknown_limit={limit:g})",
                file=sys.stderr,
            )


if __name__ == "__main__":
    sys.exit(main())
