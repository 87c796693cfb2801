"""`hydra/sweeper=grid`: lists, or the file of a study, as cells; planned before anything starts."""

import sys
from typing import Any

from hydra.core.plugins import Plugins
from hydra.core.utils import JobStatus
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from attnlab.ending import CUT_SHORT, deaf
from attnlab.errors import UserError
from attnlab.sweep import journal, plan, show
from hydra_plugins.attnlab.local_launcher import LocalLauncher


class GridSweeper(Sweeper):
    """As Hydra's basic sweeper, with a check of all cells first and a list of failures last.

    Args:
        dry: print the plan, and train and write nothing.
        format: of that plan; see `show.show`.
    """

    hydra_context: HydraContext
    config: DictConfig
    launcher: Launcher

    def __init__(self, dry: bool = False, format: str | None = None) -> None:
        self.dry, self.format = dry, format

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Make the launcher that the configuration names.

        Raises:
            SystemExit: 2 for an option of the launcher that makes no sense.
        """
        self.hydra_context, self.config = hydra_context, config
        try:
            self.launcher = Plugins.instance().instantiate_launcher(
                hydra_context=hydra_context, task_function=task_function, config=config
            )
        except HydraException as error:  # as Hydra tells it, it is three lines
            if not isinstance(error.__cause__, UserError):
                raise
            print(f"attnlab: {error.__cause__}", file=sys.stderr)
            raise SystemExit(2) from None

    def sweep(self, arguments: list[str]) -> Any:
        """Plan, launch what is to be trained, list what failed.

        Raises:
            SystemExit: 2 for a cell that cannot be trained (none is started then), 1 for one that failed.
        """
        try:
            here = isinstance(self.launcher, LocalLauncher)
            planned = plan.of_sweep(self.hydra_context.config_loader, self.config, arguments, here)
            if self.dry:
                planned.estimate()
                show.show(planned, self.format, plan.slots(self.config))
                if planned.faults:
                    raise SystemExit(2)
                return []
            results = self._train(planned)
        except UserError as error:
            print(f"attnlab: {error}", file=sys.stderr)
            raise SystemExit(2) from None
        except BrokenPipeError:  # nobody reads on; the pool has ended its cells
            deaf()
            raise SystemExit(CUT_SHORT) from None
        named = zip(plan.labels(planned.jobs), results, strict=True)
        failed = [(name, result) for name, result in named if result.status == JobStatus.FAILED]
        for name, result in failed:
            print(f"failed: {name}\n  {result._return_value}", file=sys.stderr)
        if results:
            print(f"{len(results) - len(failed)} of {len(results)} cells finished", flush=True)
        if failed:
            raise SystemExit(1)
        return results

    def _train(self, planned: plan.Plan) -> Any:
        if planned.faults:
            told = f"nothing was started; {len(planned.faults)} faults in {len(planned.cells)} cells"
            for line in [*planned.faults, told]:
                print(f"attnlab: {line}", file=sys.stderr)
            raise SystemExit(2)
        for line in planned.warnings:
            print(f"attnlab: {line}", file=sys.stderr)
        print("\n".join(planned.lines()), flush=True)
        if not planned.jobs:
            return []
        journal.write(planned)
        return self.launcher.launch(planned.jobs, initial_job_idx=0)
