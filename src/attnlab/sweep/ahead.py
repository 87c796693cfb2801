"""Many cells composed side by side: Hydra takes a fifth of a second of one core for each."""

import copy
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

FEWEST = 16
"""Items that are worth processes of their own."""

_work: Callable[[Any], Any] | None = None


class Memo:
    """A repository of Hydra's that reads and parses each file once, where Hydra's own does so for each cell.

    Args:
        repository: Hydra's. Its files must not change while this one is in use.
    """

    def __init__(self, repository: Any) -> None:
        self._repository, self._kept = repository, dict[str, Any]()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Memo":
        return self  # Hydra copies its repository for each composition

    def __getattr__(self, name: str) -> Any:
        return getattr(self._repository, name)

    def initialize_sources(self, search_path: Any) -> None:
        """Called by a composition that brings a search path of its own: for it alone."""
        self._repository = copy.copy(self._repository)
        self._repository.initialize_sources(search_path)
        self._kept = {}

    def load_config(self, config_path: str) -> Any:
        """A file's content, a copy that may be changed."""
        if config_path not in self._kept:
            self._kept[config_path] = self._repository.load_config(config_path)
        return copy.deepcopy(self._kept[config_path])


def each(work: Callable[[Item], Answer], items: Sequence[Item]) -> Iterator[Answer]:
    """`work(item)` for each, in order; on all cores where there are enough of them.

    The processes are forks, which know all that this one does, so `work` may be any function. What it gives
    must be picklable, and an exception of its ends the iteration. What a process that is killed has not given
    is worked out here.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    # A fork of a process with threads may inherit a lock that nobody will open; macOS forbids it.
    alone = sys.platform == "linux" and threading.active_count() == 1
    if cores < 2 or len(items) < FEWEST or not alone:
        yield from map(work, items)
        return
    global _work
    _work, given = work, 0
    fork = multiprocessing.get_context("fork")
    # Not multiprocessing's own pool, which waits for ever for what a killed process of it was to give.
    pool = ProcessPoolExecutor(min(cores, len(items)), mp_context=fork, initializer=_attend)
    try:
        for answer in pool.map(_call, items, chunksize=2):
            yield answer
            given += 1
    except BrokenProcessPool:
        yield from map(work, items[given:])
    finally:
        pool.shutdown(cancel_futures=True)
        _work = None


def _attend() -> None:
    """In a fork: Ctrl-C is for the one that plans, and without that one there is nothing to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    planner = multiprocessing.parent_process()
    assert planner is not None

    def follow() -> None:
        wait([planner.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _call(item: Any) -> Any:
    assert _work is not None
    return _work(item)
