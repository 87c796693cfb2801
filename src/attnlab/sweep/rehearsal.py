"""Makes the parts of every cell of a sweep once, before the first one starts, in one process of its own.

A process, because torch would otherwise stay in the sweeper for as long as its cells train.
"""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from attnlab.ending import own_modules
from attnlab.errors import UserError
from attnlab.sweep import identity

_ELSEWHERE = {"accelerator": "cpu", "devices": 1, "num_nodes": 1, "strategy": "auto"}


def faults(configs: Sequence[Mapping[str, Any]], here: bool) -> list[str | None]:
    """What keeps each cell from being made, in one line; None where nothing does.

    Cells that differ in their seeds alone are made once.

    Args:
        configs: plain, resolved settings of the cells.
        here: the cells train on this machine; elsewhere there may be devices that are not here.
    """
    keys = [
        (identity.digest(config), *(repr(config.get(part)) for part in ("data", "trainer", "logger")))
        for config in configs
    ]
    distinct = dict(zip(keys, configs, strict=True))
    answers = _asked([config if here else _elsewhere(config) for config in distinct.values()])
    found = dict(zip(distinct, answers, strict=True))
    return [found[key] for key in keys]


def _elsewhere(config: Mapping[str, Any]) -> dict[str, Any]:
    return {**config, "trainer": {**config["trainer"], **_ELSEWHERE}}


def _asked(configs: Sequence[Mapping[str, Any]]) -> list[str | None]:
    done = subprocess.run(
        [sys.executable, "-m", "attnlab.sweep.rehearsal"],
        input=pickle.dumps([dict(config) for config in configs]),
        capture_output=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) < len(configs):  # it died on the next one
        words = (done.stderr.decode(errors="replace").splitlines() or ["no word"])[-1]
        answers.append(f"its rehearsal ended with {done.returncode}: {words}")
    return answers + [None] * (len(configs) - len(answers))


def _fault(config: Mapping[str, Any]) -> str | None:
    from attnlab.build import rehearse  # imports torch

    try:
        rehearse(config)
    except UserError as error:
        return str(error)
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())
    return None


def main() -> None:
    """Reads pickled settings and answers each with a line of JSON, as soon as it is known."""
    own_modules()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a part prints is no answer
    for config in pickle.load(sys.stdin.buffer):
        print(json.dumps(_fault(config)), file=answers, flush=True)


if __name__ == "__main__":
    main()
