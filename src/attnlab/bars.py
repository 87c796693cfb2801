"""A bar for work that takes long, on a terminal alone."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

AFTER = 2.0
"""Seconds before a bar appears: what is quick needs none."""


@contextmanager
def bar(label: str, total: int, wanted: bool = True) -> Iterator[Callable[[int], None]]:
    """Gives a function that is told how many more are done; the bar is gone afterwards.

    Args:
        label: what is done.
        total: how much there is.
        wanted: False shows nothing; nor does standard error that is no terminal.
    """
    if not (wanted and sys.stderr.isatty()):
        yield lambda more: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown: Any = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = shown.add_task(escape(label), total=total)
    began = time.monotonic()

    def tell(more: int) -> None:
        shown.advance(task, more)
        if not shown.live.is_started and time.monotonic() - began > AFTER:
            shown.start()

    try:
        yield tell
    finally:
        shown.stop()
