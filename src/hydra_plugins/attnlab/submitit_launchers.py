"""`hydra/launcher=slurm` and `slurm_local`: the published launchers of submitit, in arrays of bounded size.

Hydra imports this at every start to see what launchers there are; submitit itself is imported on use.
"""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher

from attnlab.errors import UserError
from attnlab.sweep import compose, state

_OF_THE_EXECUTOR = ("submitit_folder", "max_num_timeout")

try:
    from hydra_plugins.hydra_submitit_launcher import submitit_launcher as published

    _Local: type[Any] = published.LocalLauncher
    _Slurm: type[Any] = published.SlurmLauncher
except ImportError:  # the extra is not installed, which matters to those who choose it

    class _Missing(Launcher):
        """Says what is missing."""

        def __init__(self, **_: Any) -> None: ...

        def setup(self, **_: Any) -> None:
            """A plan can be made."""

        def launch(self, job_overrides: Any, initial_job_idx: int) -> Sequence[JobReturn]:
            """Nothing can be trained.

            Raises:
                UserError: always.
            """
            raise UserError("hydra/launcher=slurm needs hydra-submitit-launcher: install attnlab[slurm]")

    _Local = _Slurm = _Missing


class _Arrays:
    """What is added to the published launchers.

    Args:
        max_array: cells of one array; the next array is sent when all of one have ended.
        params: the published launcher's.
    """

    config: Any
    hydra_context: Any

    def __init__(self, max_array: int = 1000, **params: Any) -> None:
        self.max_array = max_array
        super().__init__(**params)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Send the cells, array after array, and wait for them."""
        self._check()
        from submitit.core.utils import FailedSubmissionError, UncompletedJobError

        returned: list[JobReturn] = []
        for first in range(0, len(job_overrides), self.max_array):
            array, index = job_overrides[first : first + self.max_array], initial_job_idx + first
            try:
                returned += super().launch(array, index)  # type: ignore[misc, unused-ignore]
            except FailedSubmissionError as error:
                told = " ".join(str(error).split())
                raise UserError(
                    f"sbatch refused the jobs ({told[:300]}); see hydra.launcher.show=true"
                ) from error
            except UncompletedJobError as error:  # raised for the first job without a result
                told = " ".join(str(error).split())
                print(f"attnlab: a job has ended without a result ({told[:300]})", file=sys.stderr)
                returned += [self._seen(list(job), index + n, told) for n, job in enumerate(array)]
        return returned

    def _check(self) -> None:
        if _Slurm is _Local:  # the stand-in, which raises
            super().launch([], 0)  # type: ignore[misc]
        if self.max_array < 1:
            raise UserError(f"hydra.launcher.max_array={self.max_array} must be at least 1")

    def _seen(self, overrides: list[str], number: int, told: str) -> JobReturn:
        """What a cell's folder says, where the engine says nothing."""
        config = compose.cell_config(self.hydra_context.config_loader, self.config, overrides, number)
        folder = compose.sweep_folder(config)
        result, found = JobReturn(), state.of(folder)
        result.overrides, result.cfg, result.hydra_cfg = overrides, config, config
        result.working_dir, result.task_name = str(folder), str(config.hydra.job.name)
        if found == state.DONE:
            result.status, result.return_value = JobStatus.COMPLETED, None
        else:
            place = str(self.config.hydra.launcher.submitit_folder)
            result.status = JobStatus.FAILED
            result.return_value = UserError(f"{folder}: {found}; its job's log is in {place} ({told[:80]})")
        return result


class LocalJobs(_Arrays, _Local):  # type: ignore[misc, unused-ignore]
    """The same on this machine, without a scheduler: all cells of an array at once."""


class SlurmJobs(_Arrays, _Slurm):  # type: ignore[misc, unused-ignore]
    """Jobs of Slurm's.

    Args:
        show: print the script of each array, and send nothing.
        params: as above.
    """

    def __init__(self, show: bool = False, **params: Any) -> None:
        self.show = show
        super().__init__(**params)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Send the cells, or show how they would be sent.

        Raises:
            UserError: this machine has no Slurm.
            SystemExit: with 0, when the scripts have been shown.
        """
        self._check()
        if self.show:
            left = range(len(job_overrides), 0, -self.max_array)
            print("\n".join(script(self.params, min(cells, self.max_array)) for cells in left), flush=True)
            raise SystemExit(0)
        if shutil.which("srun") is None:
            raise UserError(
                "hydra/launcher=slurm: this machine has no srun; start the sweep where jobs are submitted,"
                " or print the scripts with hydra.launcher.show=true"
            )
        return super().launch(job_overrides, initial_job_idx)


def script(params: dict[str, Any], cells: int) -> str:
    """The script that submitit makes of an array of so many cells.

    Args:
        params: the launcher's options.
        cells: 1 for a job that is no array.
    """
    import submitit

    class Unsent(submitit.SlurmExecutor):
        """Writes scripts where no Slurm is."""

        @classmethod
        def affinity(cls) -> int:
            return 1

    executor = Unsent(Path(params["submitit_folder"]), max_num_timeout=params["max_num_timeout"])
    given = {key: value for key, value in params.items() if key not in _OF_THE_EXECUTOR and value is not None}
    executor.update_parameters(**executor._convert_parameters(given))
    if cells > 1:
        executor.parameters["map_count"] = cells
    text: str = executor._make_submission_file_text(executor._submitit_command_str, "")
    return text
