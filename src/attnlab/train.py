"""`attnlab train`, `python -m attnlab.train` and `attnlab.train([overrides])`: the doors to `run_cell`.

Hydra composes, `check` refuses, `run_cell` trains. A sweep never trains in this process: each cell is a
command of its own, because Lightning starts further ranks by running the command again, and with `-m` in it
that would be the whole sweep.
"""

import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from attnlab.check import check
from attnlab.ending import CUT_SHORT, ReaderGone, deaf, own_modules
from attnlab.errors import UserError
from attnlab.sweep import compose, engine, gate, identity, state

identity.register()


def _run(config: DictConfig, folder: Path) -> dict[str, Any]:
    """Train one cell in this process."""
    from attnlab.run import run_cell  # imports torch: not before the configuration is known to be good

    if not gc.isenabled():  # `_alone` has put it off until the imports are done
        gc.freeze()
        gc.enable()
    with state.locked(folder):
        return run_cell(compose.cell_dict(config), folder)


def _validation_bleu(record: dict[str, Any] | None) -> float | None:
    """What a sweeper that searches may optimise."""
    score = ((record or {}).get("val") or {}).get("bleu")
    return float(score) if isinstance(score, int | float) else None


def _task(_: DictConfig) -> float | None:
    """One cell, as Hydra hands it over."""
    gate.leave_errors()
    node: Any = HydraConfig.get()
    config: DictConfig = node._get_root()  # the task's part and Hydra's, together
    folder = Path(node.runtime.output_dir)
    if node.mode == RunMode.MULTIRUN:  # a launcher that runs cells in a process of many
        return _validation_bleu(engine.train(config, folder))
    try:
        return _validation_bleu(_run(config, folder))
    except UserError as error:
        print(f"attnlab: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except ReaderGone:  # the record says that the run was stopped
        raise SystemExit(CUT_SHORT) from None


def main() -> None:
    """The command; Hydra reads `sys.argv`."""
    # Not a decorator: that would set Hydra's version base for everyone who imports this.
    command = hydra.main(version_base="1.3", config_path=str(compose.conf_dir()), config_name="config")(_task)
    own_modules()
    given = get_args_parser().parse_known_args()[0].config_dir
    if given is not None and not Path(given).is_dir():
        print(f"attnlab: --config-dir {given}: no such folder", file=sys.stderr)
        raise SystemExit(2)
    gate.take_errors()
    try:
        command()
        sys.stdout.flush()
    except BrokenPipeError:  # `attnlab train --help | head`
        deaf()
    except KeyboardInterrupt:
        print("attnlab: interrupted; the same command goes on from the last checkpoint", file=sys.stderr)
        raise SystemExit(130) from None
    except (HydraException, OmegaConfBaseException, ValueError, OSError) as error:
        if gate.leave_errors() == "1":  # the user wants to see all of it
            raise
        print(f"attnlab: {_told(error)}", file=sys.stderr)
        raise SystemExit(2) from None
    finally:
        gate.leave_errors()


def _told(error: Exception) -> str:
    """What kept Hydra from composing the command line, or from making the folder, in one line."""
    if isinstance(error, OSError) and not isinstance(error, HydraException):
        place = error.filename or "the working directory"
        return f"{place}: {error.strerror or error}; give another folder with out=DIR"
    arguments = get_args_parser().parse_args()
    overrides = list(arguments.overrides)
    if arguments.config_dir is not None:
        overrides.append(f"hydra.searchpath=['file://{Path(arguments.config_dir).resolve()}']")
    with compose.composing() as loader:
        return compose.reason(error, loader, arguments.config_name or "config", overrides)


def train(overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Train the cell that these overrides describe, in this process, and return its record.

    Args:
        overrides: as on the command line, such as `["scorer=dot", "trainer.max_epochs=1"]`.

    Raises:
        UserError: an override names nothing, the configuration is refused, or its folder holds a finished
            run.
    """
    with compose.composing() as loader:
        try:
            config = hydra.compose("config", overrides=list(overrides), return_hydra_config=True)
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise UserError(compose.reason(error, loader, "config", list(overrides))) from error
        check(config, compose.defaults(loader, config))
    folder = compose.run_folder(config)
    if not config.rerun:
        state.refuse_finished(folder)
    from attnlab.build import rehearse  # imports torch

    rehearse(identity.plain(config))
    return _run(config, folder)


class _Train(ModuleType):
    """`attnlab.train` is this module as soon as anything has imported it, and a function by our word.

    Python sets a package's attribute to the submodule on import, so the two share one name whatever we do;
    a module that can be called is both at once.
    """

    def __call__(self, overrides: Sequence[str] = ()) -> dict[str, Any]:
        return train(overrides)


def _alone() -> None:
    """`main` as the whole of a process, which spares the garbage collector what it has no use for.

    The imports make a million objects that stay: looking through them again and again costs a second of
    processor time at the start, and another one where Python ends.
    """
    gc.disable()
    try:
        main()
    finally:
        gc.freeze()


if __name__ == "__main__":
    _alone()
else:
    sys.modules[__name__].__class__ = _Train
