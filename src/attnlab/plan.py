"""`attnlab plan ...`: what `attnlab train -m ...` would do, printed; nothing is trained and nothing written.

The same sweeper makes the plan and stops after it, so it takes what `attnlab train` takes.
"""

import sys
from collections.abc import Sequence

from hydra._internal.utils import get_args_parser

from attnlab.train import main as train

_HELP = """attnlab plan [GROUP=OPTION,...] [KEY=VALUE] [FLAGS]: the cells of a sweep, their states and costs

Takes what `attnlab train -m` and `attnlab train study=NAME` take. Reads the options and the run folders that
are there; trains nothing and writes nothing.

  attnlab plan scorer=dot,general seed=1,2
  attnlab plan study=NAME                      experiments/NAME/study.yaml
  attnlab plan study=NAME hydra.sweeper.format=json

States: pending, running, done, failed, interrupted; invalid (with the reason), duplicate (of which).
The exit status is 2 if a cell is invalid. Options: attnlab train --help
"""


def main() -> None:
    """The command; Hydra reads `sys.argv`."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(_HELP, end="")
        return
    sys.argv[1:] = arguments(sys.argv[1:])
    train()


def arguments(given: Sequence[str]) -> list[str]:
    """The command line of `attnlab train` that makes the plan of `given` and stops."""
    parsed = get_args_parser().parse_args(list(given))
    # Hydra takes overrides in one piece.
    first = list(given).index(parsed.overrides[0]) if parsed.overrides else len(given)
    dry = [*given[:first], "hydra.sweeper.dry=true", *given[first:]]
    other = parsed.multirun or parsed.cfg is not None or parsed.info is not None or parsed.hydra_help
    return dry if other else ["-m", *dry]


if __name__ == "__main__":
    main()
