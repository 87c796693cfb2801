"""Hydra's callback that looks at a single run before its folder is made."""

import sys
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from attnlab.check import check
from attnlab.errors import UserError
from attnlab.sweep import compose, state


class BeforeRun(Callback):
    """Ends the program in one line where the run cannot be trained, or has been."""

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Check the configuration; Hydra makes the run folder right after this.

        Raises:
            SystemExit: with 2; Hydra would turn any other exception into a warning and go on.
        """
        try:
            check(config, compose.defaults(GlobalHydra.instance().config_loader(), config))
            if not config.rerun:
                state.refuse_finished(compose.run_folder(config))
        except UserError as error:
            print(f"attnlab: {error}", file=sys.stderr)
            raise SystemExit(2) from None
