"""`hydra/launcher=ray`: the published launcher over Ray.

Its preset has the same name as the published one, which it can therefore not extend.
"""

from typing import Any

from hydra.plugins.launcher import Launcher

from attnlab.errors import UserError

try:
    from hydra_plugins.hydra_ray_launcher.ray_launcher import RayLauncher as Published
except ImportError:  # the extra is not installed, which matters to those who choose it

    class RayCells(Launcher):
        """Says what is missing."""

        def __init__(self, **_: Any) -> None:
            raise UserError("hydra/launcher=ray needs hydra-ray-launcher: pip install 'attnlab[ray]'")

        def setup(self, **_: Any) -> None:
            """Never reached."""

        def launch(self, job_overrides: Any, initial_job_idx: int) -> list[Any]:
            """Never reached."""
            return []

else:

    class RayCells(Published):  # type: ignore[no-redef, misc, unused-ignore]
        """As published."""
