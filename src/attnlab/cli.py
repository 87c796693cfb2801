"""`attnlab VERB ARGS`: help, and the way to the module of each verb. Imports nothing that is slow."""

import os
import sys

from attnlab.ending import told

VERBS = {
    "train": ("attnlab.train", "train a cell, or with -m every cell of a grid"),
    "plan": ("attnlab.plan", "print the cells that train would train, with their states and cost"),
    "status": ("attnlab.status", "show how a sweep stands, from another terminal"),
    "prepare": ("attnlab.prepare", "fetch, learn and encode what the cells of train read, and train nothing"),
    "reproduce": ("attnlab.reproduce", "run a record's cell again and say whether the numbers agree"),
    "evaluate": ("attnlab.evaluate", "decode and score test sets again from a finished run"),
    "align": ("attnlab.align", "word links of a text and its translation, and their error rate"),
    "check": ("attnlab.contract", "put a scorer or a window of your own through the contract"),
    "dashboard": ("attnlab.dashboard", "a W&B workspace and report of a study, checked against its runs"),
    "report": ("attnlab.report", "compare runs: a table, and BLEU against length"),
    "explain": ("attnlab.explain", "a walk through attention: a worked example, or runs on one sentence"),
    "translate": ("attnlab.translate", "translate a file, or what comes in, with a finished run"),
}

_HELP = """attnlab: which attention mechanism, and what happens to it as sentences get longer

usage: attnlab VERB [ARGUMENTS]

{verbs}

  attnlab VERB --help    what a verb takes
  attnlab --version
  eval "$(attnlab -sc install=bash)"    completion of options for this shell

example:
  attnlab train -m scorer=dot,additive decoder=input_feeding,post_combine study=first
  attnlab report outputs/first
"""


def _help() -> str:
    width = max(map(len, VERBS))
    return _HELP.format(verbs="\n".join(f"  {verb:<{width}}  {words}" for verb, (_, words) in VERBS.items()))


def _become(module: str, arguments: list[str]) -> None:
    """Replace this process by `python -m MODULE`.

    Lightning starts further ranks by running the command again, from `sys.argv`: a verb taken off it in
    process would be missing there. They and a sweep's cells inherit PYTHONSAFEPATH (`ending.own_modules`).
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])


def _completion(arguments: list[str]) -> None:
    """Hydra's completion script calls `attnlab -sc query=SHELL`, without a verb."""
    if any(argument.startswith("query") for argument in arguments):
        line = os.environ.get("COMP_LINE", "")
        program, _, rest = line.partition(" ")
        verb, space, overrides = rest.lstrip().partition(" ")
        if not space:
            print(" ".join(name for name in VERBS if name.startswith(verb)))
        elif verb in ("train", "plan") and (word := overrides.split(" ")[-1]).startswith("-"):
            from hydra._internal.utils import get_args_parser

            flags = [flag for action in get_args_parser()._actions for flag in action.option_strings]
            print(" ".join(flag for flag in flags if flag.startswith(word)))
        elif verb in ("train", "plan"):
            shorter = f"{program} {overrides}"
            point = int(os.environ.get("COMP_POINT", len(line))) - (len(line) - len(shorter))
            os.environ["COMP_LINE"], os.environ["COMP_POINT"] = shorter, str(max(point, len(program) + 1))
            _become("attnlab.train", arguments)
        return
    # In this process, whose name is the one to complete.
    from attnlab.train import main as train

    sys.argv = ["attnlab", *arguments]
    train()


def main() -> int:
    """The console command."""
    return told(_main)


def _main() -> int:
    arguments = sys.argv[1:]
    first = arguments[0] if arguments else "--help"
    if first in ("--help", "-h", "help"):
        print(_help(), end="")
    elif first == "--version":
        from attnlab import __version__

        print(f"attnlab {__version__}")
    elif first in ("-sc", "--shell-completion"):
        _completion(arguments)
    elif first in VERBS:
        _become(VERBS[first][0], arguments[1:])
    else:
        from difflib import get_close_matches

        near = get_close_matches(first, VERBS, 1)
        guess = f"; did you mean {near[0]}?" if near else ""
        there = f"there are: {', '.join(VERBS)} (attnlab --help)"
        print(f"attnlab: no verb {first!r}; {there}{guess}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
