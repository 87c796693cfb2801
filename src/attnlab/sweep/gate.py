"""Hydra's callback that looks at a single run before its folder is made."""

import os
import sys
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from attnlab.check import check
from attnlab.errors import UserError
from attnlab.sweep import compose, identity, state

_SWITCH = "HYDRA_FULL_ERROR"
_wished: list[str | None] = []


def take_errors() -> None:
    """Have Hydra raise what goes wrong while it composes, where it would print several lines and exit."""
    _wished.append(os.environ.get(_SWITCH))
    os.environ[_SWITCH] = "1"


def leave_errors() -> str | None:
    """Undo `take_errors`, once or more; gives what the user has HYDRA_FULL_ERROR set to."""
    if _wished:
        wish = _wished.pop()
        os.environ.pop(_SWITCH)
        if wish is not None:
            os.environ[_SWITCH] = wish
    return os.environ.get(_SWITCH)


class BeforeRun(Callback):
    """Ends the program in one line where the run cannot be trained, or has been."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """The sweep's own configuration is composed; its cells are processes with errors of their own."""
        leave_errors()

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Check the configuration; Hydra makes the run folder right after this.

        Raises:
            SystemExit: with 2; Hydra would turn any other exception into a warning and go on.
        """
        try:
            check(config, compose.defaults(GlobalHydra.instance().config_loader(), config))
            if not config.rerun:
                state.refuse_finished(compose.run_folder(config))
            from attnlab.build import rehearse  # imports torch: after what can be told without it

            rehearse(identity.plain(config))
        except UserError as error:
            print(f"attnlab: {error}", file=sys.stderr)
            raise SystemExit(2) from None
