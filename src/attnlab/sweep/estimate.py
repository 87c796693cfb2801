"""What a cell will cost, from runs of the same study that have been measured. No torch."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.results import DONE, FILES
from attnlab.sweep import identity, state


class Measured(NamedTuple):
    """A cell that has been trained: its settings, and seconds of all its runs."""

    settings: frozenset[tuple[str, str]]
    limits: tuple[int | None, float | None]
    seconds: list[float]
    updates: list[int]


class Estimates:
    """Seconds of a cell: of the same cell with other seeds, else of the nearest one.

    The nearest shares most settings; of several equally near ones the mean counts. A cell that is to take
    more updates than the measured one is taken to be so much longer.
    """

    def __init__(self, runs: Iterable[tuple[Path, Mapping[str, Any]]]) -> None:
        self._cells: dict[str, Measured] = {}
        for folder, record in runs:
            seconds, config = _seconds(folder, record), record.get("config")
            if seconds is None or not isinstance(config, Mapping):
                continue
            updates = record["train"].get("updates")
            cell = str(record.get("cell_id") or folder.parent.name)
            if cell not in self._cells:
                self._cells[cell] = Measured(_settings(config), _limits(config), [], [])
            self._cells[cell].seconds.append(seconds)
            self._cells[cell].updates.append(updates if isinstance(updates, int) else 0)
        self._known: dict[str, float | None] = {}

    def seconds(self, cell: str, values: Mapping[str, Any]) -> float | None:
        """Seconds of one run of a cell, None where nothing has been measured.

        Args:
            cell: its name with the hash.
            values: its settings.
        """
        if cell not in self._known:
            self._known[cell] = self._estimate(cell, values)
        return self._known[cell]

    def _estimate(self, cell: str, values: Mapping[str, Any]) -> float | None:
        if cell in self._cells:
            return _mean(self._cells[cell].seconds)
        if not self._cells:
            return None
        own, limits = _settings(values), _limits(values)
        shared = {name: len(own & found.settings) for name, found in self._cells.items()}
        most = max(shared.values())
        nearest = [found for name, found in self._cells.items() if shared[name] == most]
        return _mean([_mean(found.seconds) * _ratio(limits, found) for found in nearest])


def records(tops: Iterable[Path]) -> list[tuple[Path, dict[str, Any]]]:
    """The finished runs under folders that hold cells."""
    found = []
    for top in sorted(set(tops)):
        for path in sorted(top.glob(f"*/*/{FILES[DONE]}")):
            record = state.finished(path.parent)
            if record is not None:
                found.append((path.parent, record))
    return found


def left(whole: float | None, of: str, said: Mapping[str, Any] | None) -> float | None:
    """Seconds that a run still needs, all of it (`whole`) less what it has behind it.

    Args:
        whole: the estimate of a run from its start.
        of: its state.
        said: its `progress.json`.
    """
    said = said or {}
    remaining = said.get("left_s")
    if of == state.RUNNING and isinstance(remaining, int | float):
        return float(remaining)
    update, last = _above_0(said.get("update")), _above_0(said.get("of"))
    if of == state.PENDING or whole is None or update is None or last is None:
        return whole
    return whole * max(0.0, 1 - update / last)


def _seconds(folder: Path, record: Mapping[str, Any]) -> float | None:
    """From the start of the run to its end where it has said so, else what its training took."""
    train = record.get("train")
    trained = train.get("wall_s") if isinstance(train, Mapping) else None
    if not isinstance(trained, int | float) or isinstance(trained, bool):
        return None
    said = (state.progress(folder) or {}).get("seconds")
    return max(float(trained), float(said)) if isinstance(said, int | float) else float(trained)


def _above_0(value: Any) -> float | None:
    return value if isinstance(value, int | float) and value > 0 else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _limits(values: Mapping[str, Any]) -> tuple[int | None, float | None]:
    """The most updates and epochs, None where there is no limit."""
    trainer = values.get("trainer") or {}
    found = [trainer.get(name) for name in ("max_steps", "max_epochs")]
    updates, epochs = (n if isinstance(n, int | float) and n > 0 else None for n in found)
    return updates, epochs  # type: ignore[return-value]


def _ratio(limits: tuple[int | None, float | None], found: Measured) -> float:
    """How many times the updates of a measured cell another will take, as far as their limits tell."""
    (updates, epochs), (their_updates, their_epochs) = limits, found.limits
    if updates is not None:
        took = their_updates if their_updates is not None else _mean([float(n) for n in found.updates])
        return updates / took if took else 1.0
    if epochs is not None and their_epochs is not None and their_updates is None:
        return epochs / their_epochs
    return 1.0


def _settings(values: Mapping[str, Any], path: str = "") -> frozenset[tuple[str, str]]:
    """Settings with their dotted paths, without those that leave a cell the same."""
    found: set[tuple[str, str]] = set()
    for key, item in values.items():
        inner = f"{path}.{key}" if path else str(key)
        if inner in identity.IGNORED or key in identity.IGNORED_NAMES:
            continue
        if isinstance(item, Mapping):
            found |= _settings(item, inner)
        else:
            found.add((inner, repr(item)))
    return frozenset(found)
