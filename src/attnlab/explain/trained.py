"""The walkthrough of trained runs: every run on one sentence, side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlab.bars import bar
from attnlab.errors import UserError
from attnlab.explain.palette import light
from attnlab.explain.pictures.runs import pictures_of
from attnlab.explain.reading import Reading, opens_at, read
from attnlab.explain.runs_page import runs_page
from attnlab.explain.runs_text import runs_text
from attnlab.explain.sentence import Sentence, add_gold, known, line_of
from attnlab.explain.words import words
from attnlab.loading import load, read_config

_EVERY = ("beams",)
"""Pictures that are written at every step of the output."""
_AXES = ("scorer", "decoder", "window", "encoder")


class Trained:
    """Runs on a sentence."""

    def __init__(self, sentence: Sentence, readings: Sequence[Reading]) -> None:
        self.sentence, self.readings = sentence, readings

    def text(self) -> str:
        """Plain text."""
        return runs_text(self.sentence, self.readings)

    def page(self) -> str:
        """One HTML file."""
        return runs_page(self.sentence, self.readings)

    def svgs(self) -> dict[str, str]:
        """Pictures by their file names: the beams at every step, the others where the page opens."""
        colours, start = light(), opens_at(self.readings)
        files = {}
        for number, reading in enumerate(self.readings, start=1):
            own = pictures_of(reading)
            for place, step in enumerate(words().steps, start=1):
                for picture in own.get(step.id, ()):
                    name = f"run{number}_{place}_{step.id}_{picture.key}"
                    files[f"{name}.svg"] = picture.svg(reading.at(start), colours)
                    if picture.key in _EVERY:
                        files |= {
                            f"{name}_{tree['t']:02}.svg": picture.svg(tree, colours) for tree in reading.steps
                        }
        return files


def trained(
    folders: Sequence[Path],
    text: str | None,
    line: int | None,
    target: str | None,
    reference: bool,
    device: str | None,
) -> Trained:
    """Reads the runs on the sentence.

    Args:
        folders: run folders.
        text: the sentence; None for a line of the test set.
        line: its number, from 0.
        target: the translation to read; None for each model's own.
        reference: read the test set's translation.
        device: where the models run.

    Raises:
        UserError: a folder holds no run, the sentence is nowhere, or has no reference where one is asked for.
    """
    names = _names(folders)
    first = load(folders[0], device)
    if first.device.type == "meta":
        raise UserError("--device meta: there are no numbers on it; give cpu, or cuda:0")
    if text is None:
        assert line is not None
        sentence = line_of(first.config, line)
    else:
        sentence = known(first.config, " ".join(text.split()))
    if reference:
        if sentence.unread:
            raise UserError(f"--reference: the test sets of the first run cannot be read: {sentence.unread}")
        if sentence.reference is None:
            raise UserError(
                "--reference: the sentence is in no test or validation set of the first run; give --target"
            )
        target = sentence.reference
    readings = []
    with bar("runs", len(folders)) as tell:
        for folder, name in zip(folders, names, strict=True):
            run = first if folder == folders[0] else load(folder, device)
            made = read(run, name, sentence.source, target)
            add_gold(made, sentence, run)
            made.by_length = _by_length(folder)
            readings.append(made)
            tell(1)
    return Trained(sentence, readings)


def _names(folders: Sequence[Path]) -> list[str]:
    """Of each run a name that no other has: its cell; where that is not enough its seed, folder, place."""
    configs = [read_config(folder) for folder in folders]
    cells = [config.get("cell") or {} for config in configs]
    same = len({str(cell.get("encoder")) for cell in cells}) == 1
    kept = [axis for axis in _AXES if axis != "encoder" or not same]
    names = [", ".join(str(cell[axis]) for axis in kept if cell.get(axis)) for cell in cells]
    names = [name or folder.name for name, folder in zip(names, folders, strict=True)]
    seeds, places = [f"seed {config.get('seed')}" for config in configs], [str(folder) for folder in folders]
    for more in (seeds, places, [f"no. {k}" for k in range(1, len(folders) + 1)]):
        alike = [{end for other, end in zip(names, more, strict=True) if other == name} for name in names]
        names = [
            f"{name}, {end}" if len(ends) > 1 else name
            for name, end, ends in zip(names, more, alike, strict=True)
        ]
    return names


def _by_length(folder: Path) -> list[dict[str, Any]]:
    """Normalised entropy by length of the source, from the run's record."""
    try:
        record: Mapping[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        tests = list((record.get("test") or {}).values())
        rows = (tests[0].get("attention") or {}).get("by_source_length") or []
    except (OSError, ValueError, IndexError, AttributeError):
        return []
    return [row for row in rows if isinstance(row, dict) and _whole(row)]


def _whole(row: Mapping[str, Any]) -> bool:
    """Whether a row of the record is of sentences, and all that is drawn of it a number."""
    known = [row.get(key) for key in ("n", "lo", "entropy_normalised")]
    ends = [] if row.get("hi") is None else [row["hi"]]
    return (
        bool(row.get("n"))
        and "hi" in row
        and all(isinstance(value, int | float) for value in [*known, *ends])
    )
