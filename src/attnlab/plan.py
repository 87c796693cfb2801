"""`attnlab plan ...`: what `attnlab train -m ...` would do, printed; nothing is trained and nothing written.

The same sweeper makes the plan and stops after it, so it takes what `attnlab train` takes.
"""

import sys

from attnlab.train import main as train

_HELP = """attnlab plan [GROUP=OPTION,...] [KEY=VALUE] [FLAGS]: the cells of a sweep, their states and costs

Takes what `attnlab train -m` and `attnlab train study=NAME` take, trains nothing and writes nothing.

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
    if not {"-m", "--multirun"} & set(sys.argv[1:]):
        sys.argv.append("-m")
    sys.argv.append("hydra.sweeper.dry=true")
    train()


if __name__ == "__main__":
    main()
