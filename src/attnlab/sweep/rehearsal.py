"""Makes the parts of every cell of a sweep once, before the first one starts, in one process of its own.

A process, because torch would otherwise stay in the sweeper for as long as its cells train.
"""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from attnlab.ending import own_modules
from attnlab.errors import UserError
from attnlab.sweep import identity

_ELSEWHERE = {"accelerator": "cpu", "devices": 1, "num_nodes": 1, "strategy": "auto"}


class Stage:
    """The process of a rehearsal, which takes seconds to be ready: it may be started before it is needed.

    Used as a context manager, it is ended on the way out.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def start(self) -> None:
        """Start the process, if it has not been."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "attnlab.sweep.rehearsal"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )

    def answers(self, configs: Sequence[Mapping[str, Any]]) -> list[str | None]:
        """What keeps each of these from being made; asked once."""
        self.start()
        assert self._process is not None
        out, err = self._process.communicate(pickle.dumps([dict(config) for config in configs]))
        answers: list[str | None] = [json.loads(line) for line in out.splitlines()]
        if len(answers) < len(configs):  # it died on the next one
            words = (err.decode(errors="replace").splitlines() or ["no word"])[-1]
            answers.append(f"its rehearsal ended with {self._process.returncode}: {words}")
        return answers + [None] * (len(configs) - len(answers))


def faults(configs: Sequence[Mapping[str, Any]], here: bool, stage: Stage | None = None) -> list[str | None]:
    """What keeps each cell from being made, in one line; None where nothing does.

    Cells that differ in their seeds alone are made once.

    Args:
        configs: plain, resolved settings of the cells.
        here: the cells train on this machine; elsewhere there may be devices that are not here.
        stage: the process to ask, by default a new one.
    """
    keys = [
        (identity.digest(config), *(repr(config.get(part)) for part in ("data", "trainer", "logger")))
        for config in configs
    ]
    distinct = dict(zip(keys, configs, strict=True))
    asked = [config if here else _elsewhere(config) for config in distinct.values()]
    if stage is not None:
        answers = stage.answers(asked)
    else:
        with Stage() as own:
            answers = own.answers(asked)
    found = dict(zip(distinct, answers, strict=True))
    return [found[key] for key in keys]


def _elsewhere(config: Mapping[str, Any]) -> dict[str, Any]:
    return {**config, "trainer": {**config["trainer"], **_ELSEWHERE}}


def _fault(config: Mapping[str, Any], made: set[str]) -> str | None:
    from attnlab.build import rehearse  # imports torch

    try:
        rehearse(config, made)
    except UserError as error:
        return str(error)
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())
    return None


def main() -> None:
    """Reads pickled settings and answers each with a line of JSON, as soon as it is known."""
    own_modules()
    with suppress(Exception):  # what every rehearsal needs; it says itself what it lacks
        import attnlab.callbacks
        import attnlab.data.datamodule
        import attnlab.loggers
        import attnlab.model  # noqa: F401
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a part prints is no answer
    made: set[str] = set()
    for config in pickle.load(sys.stdin.buffer):
        print(json.dumps(_fault(config, made)), file=answers, flush=True)


if __name__ == "__main__":
    main()
