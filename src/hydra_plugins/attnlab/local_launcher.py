"""`hydra/launcher=local`: each cell of a sweep as a process of its own, some of them side by side."""

import re
import signal
import sys
from collections.abc import Callable, Sequence

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from attnlab.errors import UserError
from attnlab.results import DONE, FAILED
from attnlab.sweep import compose, pool, state
from attnlab.sweep.launched import Cell
from attnlab.sweep.live import Board
from attnlab.sweep.plan import labels
from attnlab.sweep.slots import Slots


class LocalLauncher(Launcher):
    """Runs `python -m attnlab.train` for each cell; the options are in conf/hydra/launcher/local.yaml."""

    def __init__(
        self,
        slots: int | None = None,
        per_device: int = 1,
        threads: int | None = None,
        grace: float = 20,
        timeout: float | None = None,
        stall: float | None = None,
        fail_fast: bool = False,
        max_retries: int = 0,
    ) -> None:
        Slots(slots, per_device, threads, available=[])  # before the plan: only that the numbers make sense
        self.slots, self.per_device, self.threads = slots, per_device, threads
        self.limits = pool.Limits(grace, timeout, stall, fail_fast, max_retries)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what `launch` needs; the task function is reached through its command."""
        self.hydra_context, self.config = hydra_context, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Train the cells; one that fails comes back with its reason and the last lines of its log.

        Raises:
            UserError: an option of the launcher makes no sense.
            SystemExit: 128 + the number of the signal that ended it.
        """
        loader = self.hydra_context.config_loader

        def composing(number: int, overrides: list[str]) -> Callable[[], DictConfig]:
            return lambda: compose.cell_config(loader, self.config, overrides, initial_job_idx + number)

        slots = Slots(self.slots, self.per_device, self.threads)
        cells = [
            Cell(name, list(overrides), composing(number, list(overrides)), self.limits)
            for number, (name, overrides) in enumerate(zip(labels(job_overrides), job_overrides, strict=True))
        ]
        try:
            with Board(cells, slots.count) as board:
                verdicts = pool.run(cells, slots, self.limits, board)
        except pool.Interrupted as stop:
            print(f"attnlab: {_how_to_go_on(stop, cells)}", file=sys.stderr)
            raise SystemExit(128 + stop.number) from None
        return [_returned(cell, verdict) for cell, verdict in zip(cells, verdicts, strict=True)]


def _returned(cell: Cell, verdict: pool.Verdict) -> JobReturn:
    """A verdict as Hydra's sweepers take it."""
    result = JobReturn()
    result.overrides = cell.overrides
    place = ""
    if cell.composed:
        result.cfg = result.hydra_cfg = cell.config
        result.working_dir, result.task_name = str(cell.folder), str(cell.config.hydra.job.name)
        place = f"{cell.folder}: "
    if verdict.state == DONE:
        result.status, result.return_value = JobStatus.COMPLETED, None
    else:
        words = verdict.words or "stopped by fail_fast; the same command goes on with it"
        detail = f"\n{verdict.detail}" if verdict.detail else ""
        result.status, result.return_value = JobStatus.FAILED, UserError(f"{place}{words}{detail}")
    return result


def _how_to_go_on(stop: pool.Interrupted, cells: Sequence[Cell]) -> str:
    """What is left after a signal, and how to go on, in one line."""
    states = [verdict.state for verdict in stop.verdicts]
    left = states.count(state.INTERRUPTED) + states.count(state.PENDING)
    anew = any(re.match(r"[+]*rerun=(?!false)", item) for cell in cells for item in cell.overrides)
    same = "the same command without rerun=true" if anew else "the same command"
    return (
        f"stopped by {signal.Signals(stop.number).name}: {states.count(DONE)} of {len(states)} cells are"
        f" done, {states.count(FAILED)} failed; {same} goes on with the {left} that are left"
    )
