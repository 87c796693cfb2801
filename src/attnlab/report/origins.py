"""From which of the folders that were asked for a run comes, and what these are called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attnlab.report.rows import Run

_TOLD = 3  # names in a title


class Origins:
    """The folders of a report, by the shortest names that tell them apart.

    Args:
        folders: as they were asked for.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._tops = [folder.resolve() for folder in folders]
        self._names = _names(self._tops)

    def of(self, folder: Path) -> str:
        """The name of the folder that a run folder lies in; of several the first that was asked for."""
        folder = folder.resolve()
        for top, name in zip(self._tops, self._names, strict=True):
            if folder.is_relative_to(top):
                return name
        return ""

    def several(self, runs: Sequence[Run]) -> bool:
        """Whether one seed of a cell lies in several of the folders with other numbers.

        Copies of one record are no versions.
        """
        if len(self._tops) < 2:
            return False
        seen: dict[tuple[str, str], tuple[str, Run]] = {}
        for run in runs:
            origin = self.of(run.folder)
            first, other = seen.setdefault((str(run.record["cell_id"]), run.seed), (origin, run))
            if first != origin and other.record != run.record:
                return True
        return False

    def title(self) -> str:
        """The folders' names in a line."""
        names = list(dict.fromkeys(self._names))
        more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
        return ", ".join(names[:_TOLD]) + more


def _names(tops: Sequence[Path]) -> list[str]:
    """The last parts of each path, as few as make all different."""
    for count in range(1, max((len(top.parts) for top in tops), default=1) + 1):
        names = ["/".join(top.parts[-count:]) for top in tops]
        if len(set(names)) == len(set(tops)):
            return names
    return [str(top) for top in tops]
