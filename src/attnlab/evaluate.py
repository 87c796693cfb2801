"""`attnlab evaluate RUN [OVERRIDES]`: decode and score again, beside the record and without touching it."""

from __future__ import annotations

import argparse
import logging
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from attnlab.altered import GROUPS, WEIGHTS, changed
from attnlab.ending import Parser, told
from attnlab.evaluating import evaluate, placed, title

__all__ = ["changed", "evaluate", "main", "parser", "title"]


EXAMPLES = """examples:
  attnlab evaluate outputs/runs/CELL/seed1 data.test=[test_2017] search.beam_size=1
  attnlab evaluate outputs/runs/CELL/seed1 attention.override=uniform,permute,only_max,zero_max

attention.override tampers with the weights of the trained model, one evaluation for each name:
  uniform     the same weight on every position that was scored
  permute     the weights on other positions, drawn at random
  only_max    all weight on the largest
  zero_max    none on the largest, the rest made larger
  none        nothing: the run's own translations
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = Parser(
        prog="attnlab evaluate",
        description="Decode and score test sets again from the best checkpoint of a finished run.\nWrites "
        "RUN/evaluations/NAME.json and NAME/<set>/; result.json stays as it is.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("run", type=Path, help="run folder, .../seed<k>")
    made.add_argument(
        "overrides",
        nargs="*",
        help=f"options of {', '.join(GROUPS)}, as for train: KEY=VALUE or GROUP=OPTION; {WEIGHTS}=NAME",
    )
    made.add_argument(
        "--name", help="of the evaluation (default: made from the overrides); of several, the beginning"
    )
    made.add_argument("--device", help="such as cpu or cuda:1 (default: a GPU where there is one)")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """The verb; returns the exit status."""
    return told(lambda: _evaluate(sys.argv[1:] if arguments is None else list(arguments)))


def _evaluate(given: list[str]) -> int:
    options = parser().parse_intermixed_args(given)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    found = placed(
        options.run,
        options.overrides,
        name=options.name,
        device=options.device,
        command=shlex.join(["attnlab", "evaluate", *given]),
        progress=True,
    )
    for record, place in found:
        tampered = record.get("attention_override")
        for name, test in record["test"].items():
            scores = [f"BLEU {test['bleu']['score']:.2f} ({test['bleu']['signature']})"]
            scores += [f"{k} {test[k]['score']:.2f}" for k in ("chrf", "ter") if test.get(k)]
            label = name if tampered is None else f"{name}, {WEIGHTS}={tampered}"
            print(f"{label}: {', '.join(scores)}, {test['n']} sentences")
        print(f"record: {place.parent / f'{place.name}.json'}")
        print(
            f"hypotheses: {', '.join(str(place / each / 'hyp.txt') for each in record['test'])}", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
