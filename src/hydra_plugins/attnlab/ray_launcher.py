"""`hydra/launcher=ray_cells`: the published launcher over Ray, or a line on its absence.

The preset is not called `ray`: Hydra would check it against the published one of that name, with warnings.
"""

from pathlib import Path
from typing import Any

from hydra.plugins.launcher import Launcher

from attnlab.errors import UserError
from attnlab.sweep import compose

try:
    from hydra_plugins.hydra_ray_launcher.ray_launcher import RayLauncher as Published
except ImportError:  # the extra is not installed, which matters to those who choose it

    class RayCells(Launcher):
        """Says what is missing."""

        def __init__(self, **_: Any) -> None: ...

        def setup(self, **_: Any) -> None:
            """A plan can be made."""

        def launch(self, job_overrides: Any, initial_job_idx: int) -> list[Any]:
            """Nothing can be trained.

            Raises:
                UserError: always.
            """
            raise UserError("hydra/launcher=ray_cells needs hydra-ray-launcher: pip install 'attnlab[ray]'")

else:

    class RayCells(Published):  # type: ignore[no-redef, misc, unused-ignore]
        """As published, with a line on a cluster that cannot be reached."""

        def launch(self, job_overrides: Any, initial_job_idx: int) -> Any:
            """Hand the cells to Ray, and wait for them; a relative `out` is one of this directory.

            A cluster's workers have a working directory of their own.

            Raises:
                UserError: there is no cluster at `ray.init.address`, or it takes no options of a new one.
            """
            loader = self.hydra_context.config_loader
            jobs = [list(job) for job in job_overrides]
            for number, job in enumerate(jobs):
                out = Path(str(compose.cell_config(loader, self.config, job, number).out)).resolve()
                job.append("out='{}'".format(str(out).replace("'", "\\'")))
            try:
                return super().launch(jobs, initial_job_idx)
            except (ConnectionError, ValueError) as error:
                told = " ".join(f"{error} {error.__cause__ or ''}".split())
                raise UserError(f"Ray at hydra.launcher.ray.init: {told[:500]}") from error
