"""What a toolkit is asked: to train, and, where it is a peer, to search."""

from __future__ import annotations

import shutil
import subprocess
from abc import ABC, abstractmethod
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from peers.records import Searched, Setting, Text, Trained, Window
from peers.running import Run, run

EVERY = 5
"""Updates between two reports."""
FEW = 20
"""Updates of a model that is trained to be searched with."""


class Toolkit(ABC):
    """What trains: a peer, or ours. A subclass writes the configuration and reads the log.

    Args:
        python: its interpreter.
        name: how it is shown; None is its `title`.
    """

    title: ClassVar[str]
    batching: ClassVar[str]
    """How pairs meet in a batch, a key of `work.BATCHING`."""

    def __init__(self, python: Path, name: str | None = None) -> None:
        self.python = python
        self.name = name or self.title

    def takes(self, setting: Setting) -> bool:
        """Whether it has the order and the scorer."""
        return True

    @abstractmethod
    def training(
        self, setting: Setting, text: Text, folder: Path, *, updates: int, seed: int, keep: bool
    ) -> list[str]:
        """Writes what it reads into `folder`, and gives the arguments of its interpreter.

        It reports every `EVERY` updates.
        """

    @abstractmethod
    def report(self, line: str) -> tuple[int, float] | None:
        """Update and target tokens a second, where the line of the log reports them."""

    def variables(self) -> dict[str, str]:
        """Of the process, beside the common ones."""
        return {}

    def folder(self, setting: Setting, folder: Path) -> Path:
        """Of one setting, within the folder of all."""
        return folder / f"{self.name}-{setting.name}".replace("/", "-").replace(" ", "_")

    def train(
        self,
        setting: Setting,
        text: Text,
        folder: Path,
        *,
        updates: int,
        warm: int = 10,
        seed: int = 1,
        seconds: float | None = None,
        keep: bool = False,
    ) -> Trained:
        """Trains from the beginning, in float32 where nothing else was asked for, and reports the speed.

        Args:
            setting: the model.
            text: what it reads.
            folder: for configuration, log and checkpoint; a sub-folder is made, or emptied.
            updates: at most so many, the warm-up counted.
            warm: updates left out of the figures.
            seed: of the parameters and the order of batches.
            seconds: measured at most, after the warm-up; the process is ended then.
            keep: goes to the last update, whatever `seconds` says, and leaves a checkpoint for `search`.

        Raises:
            RuntimeError: it failed; the message ends with the last lines of its log.
        """
        place = self.folder(setting, folder)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        arguments = self.training(setting, text, place, updates=updates, seed=seed, keep=keep)
        since: list[float] = []

        def enough(now: float, line: str) -> bool:
            told = None if keep else self.report(line)
            if told is None or told[0] < warm:
                return False
            since.append(now)
            return told[0] >= updates or (seconds is not None and now - since[0] >= seconds)

        found = run(
            [self.python, *arguments],
            cwd=place,
            log=place / "train.log",
            threads=setting.threads,
            environment=self.variables(),
            until=enough,
        )
        return self.trained(found, warm)

    def trained(self, found: Run, warm: int) -> Trained:
        """The windows after the warm-up; a window's length is the time between two reports.

        Raises:
            RuntimeError: the log has none.
        """
        reports = [(now, *told) for now, line in found.lines if (told := self.report(line)) is not None]
        windows = [
            Window(now - before, rate, found.others(before, now), update)
            for (before, last, _), (now, update, rate) in pairwise(reports)
            if last >= warm
        ]
        if not windows:
            tail = "\n".join(line for _, line in found.lines[-12:])
            raise RuntimeError(f"{self.name}: no speed in its log after {warm} updates:\n{tail}")
        return Trained(windows, found.peak_mb, reports[0][0] - found.began)


class Peer(Toolkit):
    """A published toolkit, installed in an environment of its own.

    Args:
        environment: the folder with `bin/python`.
        name: how it is shown; None is its `title`.
    """

    kind: ClassVar[str]
    """The name by which an environment is recognised: `opennmt`, `eole`, `joeynmt`, `fairseq`."""
    distribution: ClassVar[str]
    """The package that is asked for its version."""

    def __init__(self, environment: Path, name: str | None = None) -> None:
        # absolute, not resolved: the interpreter is a link out of the environment
        super().__init__(Path(environment).absolute() / "bin" / "python", name)

    def version(self, distribution: str | None = None) -> str:
        """Of the toolkit, or of another package beside it; `unknown` where it is not installed."""
        ask = f"from importlib.metadata import version; print(version({distribution or self.distribution!r}))"
        done = subprocess.run([self.python, "-c", ask], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else "unknown"

    def takes(self, setting: Setting) -> bool:
        """No peer feeds the context in before the step."""
        return setting.order != "input_feeding"

    @abstractmethod
    def checkpoint(self, folder: Path) -> Path:
        """What a training with `keep` leaves in its folder."""

    @abstractmethod
    def searching(
        self, setting: Setting, text: Text, folder: Path, source: Path, *, beam: int, batch: int, length: int
    ) -> list[str]:
        """The arguments of its interpreter that translate the file `source`.

        Args:
            setting: the model.
            text: as in training.
            folder: of the setting; holds the checkpoint.
            source: tokenised sentences.
            beam: 1 is greedy.
            batch: sentences a batch.
            length: decoder steps of every output.
        """

    @abstractmethod
    def seconds(self, lines: list[str], tokens: int) -> float:
        """How long the search took by the toolkit's own timer; `tokens` were put out."""

    @abstractmethod
    def outputs(self, folder: Path, lines: list[str]) -> list[int]:
        """Decoder steps of each output, as far as the output tells."""

    def search(
        self,
        setting: Setting,
        text: Text,
        folder: Path,
        *,
        beam: int,
        batch: int,
        length: int,
        sentences: int,
    ) -> Searched:
        """Translates the first `sentences` of the test set, every output forced to `length` decoder steps.

        The model is the checkpoint of an earlier `train(..., keep=True)` in the same folder; where there is
        none, one is trained for a few updates: at a forced length, what is translated matters little.

        Args:
            setting: the model.
            text: what it reads.
            folder: as for `train`.
            beam: 1 is greedy.
            batch: sentences a batch.
            length: steps of each output.
            sentences: how many.

        Raises:
            RuntimeError: it failed; the message ends with the last lines of its log.
        """
        place = self.folder(setting, folder)
        if not self.checkpoint(place).exists():
            self.train(setting, text, folder, updates=FEW, warm=0, keep=True)
        source = place / f"some.{text.source}"
        chosen = text.lines("test", text.source)[:sentences]
        source.write_text("".join(f"{' '.join(line)}\n" for line in chosen), encoding="utf-8")
        arguments = self.searching(setting, text, place, source, beam=beam, batch=batch, length=length)
        found = run(
            [self.python, *arguments],
            cwd=place,
            log=place / "search.log",
            threads=setting.threads,
            environment=self.variables(),
        )
        lines = [line for _, line in found.lines]
        lengths = self.outputs(place, lines)
        met = len(lengths) == len(chosen) and set(lengths) == {length}
        took = self.seconds(lines, sum(lengths))
        return Searched(len(chosen), length, took, met, found.others(found.ended - took, found.ended))
