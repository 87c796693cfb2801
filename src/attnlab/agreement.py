"""Whether two runs of one cell agree: what surrounds them, and their numbers. Standard library only."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnlab import provenance

TOLERANCE = 0.05
"""Share of the larger number within which scores agree, of another machine or of other versions."""

_PACKAGES = ("python", "torch", "pytorch-lightning", "numpy", "tokenizers", "datasets", "sacrebleu")
_SCORES = ("bleu.score", "chrf.score", "ter.score", "perplexity")
_SPEED = ("_s", "per_second")  # how long something took is no number of the cell's


@dataclass
class Told:
    """Lines for a person, and what they come to."""

    lines: list[str] = field(default_factory=list)
    same: bool = True

    @property
    def agrees(self) -> bool:
        """The same, of numbers."""
        return self.same

    def differs(self, line: str) -> None:
        """A line on what is not the same."""
        self.lines.append(line)
        self.same = False


def surroundings(record: Mapping[str, Any], machine: Mapping[str, Any]) -> Told:
    """What differs between the record's surroundings and those here; `same` where numbers must be equal.

    They must on the same kind of CPU, with as many threads, the same versions and clean code of one commit.

    Args:
        record: the one to be reproduced.
        machine: as the new record will have it.
    """
    found = Told()
    then, now = record["code"], provenance.code_state()
    if then["commit"] is None or now["commit"] is None:
        found.lines.append("code: of a package without a commit; its version is compared")
        if record["versions"].get("attnlab") != provenance.versions().get("attnlab"):
            found.same = False
    elif then["commit"] != now["commit"]:
        found.differs(f"code: commit {then['commit'][:8]}, here {now['commit'][:8]}")
    for name, code in (("the record's", then), ("this", now)):
        if code["dirty"]:
            found.differs(f"code: {name} has changes that are not committed")
    versions, here = record["versions"], provenance.versions()
    other = [name for name in {**versions, **here} if versions.get(name) != here.get(name)]
    for name in sorted(set(other) & set(_PACKAGES)):
        found.differs(f"version: {name} {versions.get(name, 'absent')}, here {here.get(name, 'absent')}")
    if rest := len(set(other) - set(_PACKAGES)):
        found.lines.append(f"version: {rest} other packages differ, which the numbers do not come from")
    before = record["machine"]
    for name in ("cpu", "device", "count", "threads"):
        if before.get(name) is not None and before[name] != machine[name]:
            found.differs(f"machine: {name} {before[name]}, here {machine[name]}")
    if before["device"] != "cpu":
        found.differs(f"machine: on {before['device']} equal numbers are not to be had")
    if found.same:
        found.lines.append("code, versions and machine are those of the record")
    return found


def compare(
    record: Mapping[str, Any], new: Mapping[str, Any], tolerance: float, old_test: Path, new_test: Path
) -> Told:
    """A line for each score, the updates and each set's hypotheses, and for all else that differs.

    Args:
        record: the one to be reproduced.
        new: the new one.
        tolerance: 0 demands that everything be equal; else the scores decide.
        old_test: the folder of the record's translations; they are compared where they are.
        new_test: that of the new ones.
    """
    found = Told()
    old_numbers, new_numbers = dict(_numbers(record)), dict(_numbers(new))
    quiet = added = 0
    for name in sorted({**old_numbers, **new_numbers}):
        old, now = old_numbers.get(name), new_numbers.get(name)
        score = name in ("val.bleu", "val.loss") or (name.startswith("test.") and name.endswith(_SCORES))
        decides = score or tolerance == 0
        if name not in old_numbers and not score:  # written before records had it
            added += 1
            continue
        if old == now:
            if score or name.startswith("train."):
                found.lines.append(f"equal: {name} {old}")
            else:
                quiet += 1
        elif decides and not _near(old, now, tolerance):
            found.differs(f"DIFFERS: {name} {old}, here {now}")
        elif decides:
            found.lines.append(f"within {tolerance:g}: {name} {old}, here {now}")
        else:
            found.lines.append(f"other: {name} {old}, here {now}")
    if quiet:
        found.lines.append(f"equal: {quiet} further numbers of validation and test")
    if added:
        found.lines.append(f"not compared: {added} numbers that the record does not have")
    for name in record["test"]:
        old_file, new_file = (folder / name / "hyp.txt" for folder in (old_test, new_test))
        if not (old_file.is_file() and new_file.is_file()):
            found.lines.append(f"not compared: hypotheses of {name} (the record's are not beside it)")
            continue
        lines = [file.read_text(encoding="utf-8").split("\n") for file in (old_file, new_file)]
        unlike = sum(one != other for one, other in zip(*lines, strict=False))
        unlike += abs(len(lines[0]) - len(lines[1]))
        if unlike and tolerance == 0:
            found.differs(f"DIFFERS: {unlike} of {len(lines[0]) - 1} hypotheses of {name}")
        else:
            word = f"other: {unlike} of" if unlike else "equal:"
            found.lines.append(f"{word} {len(lines[0]) - 1} hypotheses of {name}")
    return found


def _numbers(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every number of a record that the cell decides, by its dotted path."""
    for name in ("updates", "best_step"):
        yield f"train.{name}", record["train"][name]
    for part in ("val", "test"):
        yield from _leaves(record[part], part)


def _leaves(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(node, Mapping):
        for key, item in node.items():
            if not str(key).endswith(_SPEED):
                yield from _leaves(item, f"{path}.{key}")
    elif isinstance(node, list):
        for number, item in enumerate(node):
            yield from _leaves(item, f"{path}.{number}")
    else:
        yield path, node


def _near(old: Any, new: Any, tolerance: float) -> bool:
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in (old, new)):
        return False
    return bool(abs(old - new) <= tolerance * max(abs(old), abs(new)))
