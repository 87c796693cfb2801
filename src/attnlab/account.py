"""What is said of a run: who it is, what it costs, and why it failed."""

from __future__ import annotations

import logging
import resource
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab import ending, results
from attnlab.errors import UserError
from attnlab.surroundings import LOG, same_file

if TYPE_CHECKING:
    import pytorch_lightning as pl

    from attnlab.loggers import Facts
    from attnlab.training import TranslationModule

log = logging.getLogger(__name__)

ASKED = ("cell", "overrides", "command")
"""Keys beside the settings that say who the run is and how it was asked for."""


def facts(config: Mapping[str, Any]) -> Facts:
    """What loggers are told."""
    from attnlab.loggers import Facts
    from attnlab.sweep import identity as cells

    return Facts(
        cell=cells.cell(config),
        cell_id=cells.cell_name(config),
        seed=int(config["seed"]),
        study=config.get("study"),
        config={key: value for key, value in config.items() if key not in ASKED},
    )


def identity(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the record that are known before the first update."""
    known = facts(config)
    about = config.get("about") or {}
    return {
        "cell": dict(known.cell),
        "factors": dict(about.get("factors") or {}),
        "cell_id": known.cell_id,
        "study": known.study,
        "seed": known.seed,
        "overrides": list(config.get("overrides") or []),
        "command": config.get("command"),
        "config": known.config,
    }


def failed(config: Mapping[str, Any], folder: Path, error: BaseException, wall: float) -> None:
    """Leaves `failed.json`; never hides the fault that brought us here."""
    reasons: dict[type[BaseException], str] = {
        KeyboardInterrupt: "stopped by a signal before the end",
        SystemExit: "stopped by a signal before the end",
        ending.ReaderGone: "stopped before the end, because nobody read its output any more",
    }
    stopped = next((words for kind, words in reasons.items() if isinstance(error, kind)), None)
    told = {
        "type": "Stopped" if stopped else type(error).__name__,
        "message": stopped or str(error),
        "traceback": traceback.format_exception_only(error)[-1].strip(),
    }
    # Where the verb prints the reason too, it goes to the log alone, unless that takes in what is printed.
    printed = not isinstance(error, SystemExit)
    extra = ending.TOLD if printed else None
    if not isinstance(error, UserError) and not stopped:
        log.error("the run failed", exc_info=error, extra=extra)
    elif not (printed and same_file(sys.stderr, folder / LOG)):
        log.error("the run failed: %s", told["message"], extra=extra)
    try:
        results.write(results.build(**identity(config), error=told, train={"wall_s": wall}), folder)
    except Exception:
        log.exception("the record of the failed run could not be written")


def peak_memory(trainer: pl.Trainer) -> int:
    """Bytes: of the device where it keeps count, else of this process."""
    import torch

    device = trainer.strategy.root_device
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def introduce(config: Mapping[str, Any], model: Any, module: TranslationModule) -> None:
    """Says at the start what is trained and how it will be judged."""
    counts = model.parameter_counts()
    cell = ", ".join(f"{axis} {option or 'none'}" for axis, option in facts(config).cell.items())
    log.info(
        "%s, seed %s: %d parameters, %d of them attention",
        cell,
        config["seed"],
        counts["total"],
        counts["attention"],
    )
    validation, options = module.validation, config["callbacks"]
    if validation is not None:
        log.info(
            "val/bleu: %d of %d sentences, beam %d",
            len(validation.sample),
            validation.total,
            options["validation_beam_size"],
        )
    log.info("best checkpoint by %s", options["monitor"])
