"""What a sweep shows while it runs: on a terminal a line for each running cell, elsewhere plain lines."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from attnlab.sweep import state
from attnlab.sweep.pool import Verdict, Work
from attnlab.sweep.process import Process

_REFRESH = 1.0  # seconds between two looks at the cells' progress
_EVERY = 300.0  # seconds between two plain reports
_MOST = 16  # running cells in a plain report


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 20`, `2 d 4 h`: at most nine characters."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60:02d}"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"


def rate(tokens_per_s: float | None) -> str:
    """`850 tok/s`, `12.3k tok/s`, or nothing where it is not known."""
    if not tokens_per_s:
        return ""
    return f"{tokens_per_s:.0f} tok/s" if tokens_per_s < 1000 else f"{tokens_per_s / 1000:.1f}k tok/s"


def updates(found: Mapping[str, Any]) -> str:
    """`300/1000`, or `300` where no end is set."""
    update, of = found.get("update"), found.get("of")
    if update is None:
        return ""
    return f"{update}/{of}" if of else str(update)


def seconds_left(
    durations: Sequence[float], running: Sequence[tuple[float, float | None]], waiting: int, slots: int
) -> float | None:
    """An estimate of what is left of a sweep, None where nothing is known yet.

    Args:
        durations: of the cells that were trained to their end.
        running: of each running cell, the seconds since its start and those that it says are left.
        waiting: cells not started.
        slots: cells at a time.
    """
    whole = list(durations) or [since + left for since, left in running if left is not None]
    if not whole:
        return 0.0 if not running and not waiting else None
    mean = sum(whole) / len(whole)
    if any(left is None and since > mean for since, left in running):
        return None  # it takes longer than the others, nobody knows how much
    rest = [mean - since if left is None else left for since, left in running]
    together = max(1, min(slots, waiting + len(running)))
    return max([(sum(rest) + waiting * mean) / together, *rest])


class Board:
    """The view of a pool of cells.

    Args:
        works: the cells, in the pool's order; of those that run, the folder is looked into.
        slots: cells at a time.
        console: where to; by default standard output.
        terminal: whether lines may be drawn over; by default whether standard output is a terminal.
    """

    def __init__(
        self,
        works: Sequence[Work],
        slots: int,
        console: Console | None = None,
        terminal: bool | None = None,
    ) -> None:
        self._works, self._slots = works, slots
        # Not rich's own guess: FORCE_COLOR makes it take a pipe for a terminal.
        drawn = sys.stdout.isatty() and os.environ.get("TERM") != "dumb" if terminal is None else terminal
        self._console = console or Console(file=sys.stdout, force_terminal=drawn, highlight=False)
        self._live = (
            Live(console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop")
            if drawn
            else None
        )
        self._durations: list[float] = []
        self._counts = dict.fromkeys((state.DONE, state.FAILED, state.INTERRUPTED, state.PENDING), 0)
        self._found: dict[int, dict[str, Any]] = {}
        self._looked, self._told = -_REFRESH, time.monotonic()

    def __enter__(self) -> "Board":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def _say(self, index: int, words: str) -> None:
        self._print(f"[{index + 1}/{len(self._works)}] {words}: {self._works[index].name}")

    def _print(self, line: str) -> None:
        if self._live is not None:
            self._console.print(Text(line), soft_wrap=True)
        else:
            print(line, flush=True)

    def started(self, index: int, running: Process, attempt: int) -> None:
        """A cell's process has begun."""
        self._found.pop(index, None)
        if self._live is None or attempt:
            self._say(index, f"started again (attempt {attempt + 1})" if attempt else "started")

    def held(self, index: int) -> None:
        """A cell is somebody else's for now."""
        self._say(index, "another process has it, looked at again later")

    def again(self, index: int, verdict: Verdict) -> None:
        """A cell has failed and goes to the end of the queue."""
        self._say(index, f"failed ({verdict.words}), to be tried again")

    def ended(self, index: int, verdict: Verdict, seconds: float | None) -> None:
        """A cell has come to its end."""
        self._counts[verdict.state] += 1
        if verdict.state == state.DONE and seconds is not None:
            self._durations.append(seconds)
        name = {state.DONE: "finished", state.FAILED: "FAILED", state.INTERRUPTED: "stopped"}
        after = f" after {duration(seconds)}" if seconds is not None else ""
        words = f", {verdict.words}" if verdict.words else ""
        self._say(index, f"{name.get(verdict.state, verdict.state)}{after}{words}")

    def tick(self, running: Mapping[int, Process], waiting: int) -> None:
        """Look at the cells' progress once a second; draw, or report every few minutes."""
        now = time.monotonic()
        if now < self._looked + _REFRESH:
            return
        self._looked = now
        for index, process in running.items():
            found = state.progress(self._works[index].folder)
            if found is not None and found.get("pid") == process.pid:  # not of an earlier attempt
                self._found[index] = found
        if self._live is not None:
            self._live.update(self._drawn(running, waiting), refresh=True)
        elif now > self._told + _EVERY:
            self._told = now
            self._print("\n".join(self._report(running, waiting)))

    def _cells(self, running: Mapping[int, Process]) -> list[tuple[str, str, str, str, str]]:
        """Name, phase, updates, rate and time left of the running cells."""
        rows = []
        for index, process in running.items():
            found = self._found.get(index)
            if found is None:
                rows.append((self._works[index].name, "starting", "", "", f"for {duration(process.seconds)}"))
                continue
            left = found.get("left_s")
            rows.append(
                (
                    self._works[index].name,
                    str(found.get("phase") or ""),
                    updates(found),
                    rate(found.get("tokens_per_s")),
                    f"{duration(left)} left" if left is not None else "",
                )
            )
        return rows

    def _total(self, running: Mapping[int, Process], waiting: int) -> str:
        now = [
            (process.seconds, self._found.get(index, {}).get("left_s")) for index, process in running.items()
        ]
        left = seconds_left(self._durations, now, waiting, self._slots)
        done, failed = self._counts[state.DONE], self._counts[state.FAILED]
        words = f"{done} of {len(self._works)} done, {failed} failed, {len(running) + waiting} left"
        if left is not None and (running or waiting):
            end = datetime.now() + timedelta(seconds=left)
            form = "%H:%M" if left < 12 * 3600 else "%d %b %H:%M"
            words += f" ({duration(left)}, until {end.strftime(form)})"
        return words

    def _report(self, running: Mapping[int, Process], waiting: int) -> list[str]:
        rows = self._cells(running)
        lines = [self._total(running, waiting)]
        for name, *rest in rows[:_MOST]:
            lines.append(f"  {name}: {', '.join(word for word in rest if word)}")
        return [*lines, f"  and {len(rows) - _MOST} more"] if len(rows) > _MOST else lines

    def _drawn(self, running: Mapping[int, Process], waiting: int) -> RenderableType:
        rows = self._cells(running)
        room = max(1, self._console.height - 4)
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        for width in (8, 13, 11, 14):
            table.add_column(width=width, no_wrap=True, overflow="ellipsis", justify="right")
        for row in rows[:room]:
            table.add_row(*map(Text, row))
        more = [Text(f"and {len(rows) - room} more")] if len(rows) > room else []
        total = Table.grid(padding=(0, 1))
        total.add_column(width=14)
        total.add_column(no_wrap=True, overflow="ellipsis")
        over = sum(self._counts.values())
        total.add_row(
            ProgressBar(total=len(self._works), completed=over, width=14),
            Text(self._total(running, waiting)),
        )
        return Group(table, *more, total)
