"""One cell from settings to record: build, fit, restore the best checkpoint, decode the test sets once.

Every rank runs this; rank 0 alone writes. `result.json` is the last file to appear, so a folder that has one
holds a whole run. A run that fails, or is stopped, leaves `failed.json` with the reason and what it cost.
"""

from __future__ import annotations

import logging
import resource
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab import ending, provenance, results
from attnlab.errors import UserError
from attnlab.surroundings import LOG, honest_ends, logged, prepare, quiet, same_file, terminable

if TYPE_CHECKING:
    import pytorch_lightning as pl

    from attnlab.training import TranslationModule

log = logging.getLogger(__name__)

ASKED = ("cell", "overrides", "command")
"""Keys beside the settings that say who the run is and how it was asked for."""


def run_cell(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Trains and tests one cell.

    Args:
        config: plain, resolved settings, with the keys `cell`, `overrides` and `command` beside them.
        folder: the run folder; what an earlier attempt left there is replaced.

    Returns:
        The record, as `result.json` has it; empty on ranks other than 0.

    Raises:
        UserError: settings or data that cannot be trained, or a training that diverged.
    """
    from pytorch_lightning.utilities.rank_zero import rank_zero_only

    folder = Path(folder)
    first = int(getattr(rank_zero_only, "rank", 0) or 0) == 0
    begun = time.monotonic()
    if first:
        prepare(folder, config)
    with logged(folder, first), quiet():
        try:
            return _run(dict(config), folder)
        except BaseException as error:
            if first:
                _failed(config, folder, error, time.monotonic() - begun)
            raise


def _run(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    import torch

    from attnlab import build, ranks

    threads = config["trainer"].get("threads")
    if threads is not None:
        torch.set_num_threads(int(threads))
    facts = _facts(config)
    with terminable():
        data = build.build_data(config)
        data.prepare_data()
        data.setup("fit")
        metrics = build.build_metrics(config)
        search = build.build_search(config)
        model = build.build_model(config, data)
        module = build.build_module(config, model, data, metrics)
        loggers = build.build_loggers(config, folder, facts)
    code = 1
    try:
        trainer = build.build_trainer(config, folder, loggers)
        _check_world(config, trainer)
        if trainer.is_global_zero:
            data.save(folder / "tokenizer")
            _introduce(config, model, module)
            for logger in loggers:
                if hasattr(logger, "begin"):  # takes seconds, which are no training time
                    logger.begin()
        # Dropout's stream: one a rank, and the same whatever was drawn while the model was built.
        torch.manual_seed(int(config["seed_order"]) + 1_000_003 * trainer.global_rank)
        began = time.monotonic()
        with honest_ends():
            try:
                trainer.fit(module, datamodule=data)
            except ValueError as error:
                if "val_check_interval" not in str(error):
                    raise
                raise UserError(
                    f"trainer.val_check_interval={config['trainer']['val_check_interval']}: an epoch has "
                    "fewer batches; lower it, or count over epochs with trainer.check_val_every_n_epoch=null"
                ) from error
        wall = time.monotonic() - began
        with terminable():
            kept = _restore(module, trainer)
            train = {
                "updates": trainer.global_step,
                "best_step": kept["step"],
                "tokens_per_s": module.trained_tokens / module.trained_seconds
                if module.trained_seconds
                else None,
                "wall_s": wall,
                "device_s": wall * trainer.world_size,
                "peak_memory": _peak_memory(trainer),
            }
            test = _test(config, folder, module, trainer, data, search, metrics)
            record: dict[str, Any] = {}
            if trainer.is_global_zero:
                record = results.build(
                    **_identity(config),
                    machine=provenance.machine(
                        provenance.device_name(trainer.strategy.root_device), trainer.world_size
                    ),
                    data=data.describe(),
                    parameters=model.parameter_counts(),
                    train=train,
                    val={**kept["val"], "signature": metrics.bleu.signature},
                    test=test,
                )
                results.write(record, folder)
            ranks.barrier()
        code = 0
        return record
    finally:
        for logger in loggers:
            if hasattr(logger, "close"):
                logger.close(code)
            else:
                logger.finalize("success" if code == 0 else "failed")


def _test(
    config: Mapping[str, Any],
    folder: Path,
    module: TranslationModule,
    trainer: pl.Trainer,
    data: Any,
    search: Any,
    metrics: Any,
) -> dict[str, Any]:
    """Decodes and scores each test set, and tells the loggers."""
    from attnlab.evaluation import evaluate_set
    from attnlab.loggers import scalars

    device = trainer.strategy.root_device
    module.to(device).eval()
    found: dict[str, Any] = {}
    for name in data.corpus.test:
        scored = evaluate_set(
            name,
            folder / "test" / name,
            model=module.model,
            data=data,
            search=search,
            search_settings=config["search"],
            scorer=metrics,
            device=device,
            matrices=config["callbacks"].get("attention_matrices"),
        )
        if scored is None:
            continue
        found[name] = scored.result
        log.info(
            "test/%s/bleu %.2f (%s), %d sentences",
            name,
            scored.result["bleu"]["score"],
            scored.result["bleu"]["signature"],
            scored.result["n"],
        )
        for logger in trainer.loggers:
            logger.log_metrics(scalars(name, scored.result), step=trainer.global_step)
            if hasattr(logger, "log_evaluation"):
                logger.log_evaluation(name, scored.result, scored.examples)
    return found


def _restore(module: TranslationModule, trainer: pl.Trainer) -> dict[str, Any]:
    """Loads `best.ckpt` into the module; gives the step and the validation that chose it.

    Raises:
        UserError: the training ended before its first validation, so no checkpoint was chosen.
    """
    import torch

    path = getattr(trainer.checkpoint_callback, "best_model_path", "")
    path = trainer.strategy.broadcast(path)
    if not path:
        raise UserError(
            f"no validation took place in {trainer.global_step} updates, so there is no best checkpoint: "
            "train longer, or lower trainer.val_check_interval or trainer.check_val_every_n_epoch"
        )
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    module.load_state_dict(checkpoint["state_dict"])
    step = int(checkpoint["global_step"])
    last: Mapping[str, Any] = checkpoint["attnlab"]["val"]
    val = {"bleu": last.get("val/bleu"), "loss": last.get("val/loss"), "step": step}
    log.info("restored %s of update %d", Path(path).name, step)
    return {"step": step, "val": {**val, "sentences": last.get("sentences")}}


# --- who, what, and what it cost --------------------------------------------------------------------------


def _facts(config: Mapping[str, Any]) -> Any:
    from attnlab.loggers import Facts
    from attnlab.sweep import identity

    return Facts(
        cell=identity.cell(config),
        cell_id=identity.cell_name(config),
        seed=int(config["seed"]),
        study=config.get("study"),
        config={key: value for key, value in config.items() if key not in ASKED},
    )


def _identity(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the record that are known before the first update."""
    facts = _facts(config)
    about = config.get("about") or {}
    return {
        "cell": dict(facts.cell),
        "factors": dict(about.get("factors") or {}),
        "cell_id": facts.cell_id,
        "study": facts.study,
        "seed": facts.seed,
        "overrides": list(config.get("overrides") or []),
        "command": config.get("command"),
        "config": facts.config,
    }


def _failed(config: Mapping[str, Any], folder: Path, error: BaseException, wall: float) -> None:
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
        results.write(results.build(**_identity(config), error=told, train={"wall_s": wall}), folder)
    except Exception:
        log.exception("the record of the failed run could not be written")


def _check_world(config: Mapping[str, Any], trainer: pl.Trainer) -> None:
    """A launcher's variables can turn two devices into one without a word: refuse."""
    devices, nodes = config["trainer"]["devices"], config["trainer"].get("num_nodes", 1)
    if isinstance(devices, int) and devices > 0 and trainer.world_size != devices * nodes:
        raise UserError(
            f"trainer.devices={devices} on {nodes} node(s), but Lightning sees {trainer.world_size} "
            "process(es): the launcher's environment (SLURM_*, WORLD_SIZE) says otherwise; make them agree"
        )


def _peak_memory(trainer: pl.Trainer) -> int:
    """Bytes: of the device where it keeps count, else of this process."""
    import torch

    device = trainer.strategy.root_device
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _introduce(config: Mapping[str, Any], model: Any, module: TranslationModule) -> None:
    """Says at the start what is trained and how it will be judged."""
    counts = model.parameter_counts()
    cell = ", ".join(f"{axis} {option or 'none'}" for axis, option in _facts(config).cell.items())
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
