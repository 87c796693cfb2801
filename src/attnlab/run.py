"""One cell from settings to record: build, fit, restore the best checkpoint, decode the test sets once.

Every rank runs this; rank 0 alone writes. `result.json` is the last file to appear, so a folder that has one
holds a whole run. A run that fails, or is stopped, leaves `failed.json` with the reason and what it cost.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab import account, provenance, results
from attnlab.errors import UserError
from attnlab.progress import ProgressFile
from attnlab.surroundings import honest_ends, logged, prepare, quiet, terminable

if TYPE_CHECKING:
    import pytorch_lightning as pl

    from attnlab.training import TranslationModule

log = logging.getLogger(__name__)


def run_cell(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Trains and tests one cell, from the beginning or from the checkpoint of an earlier attempt.

    Args:
        config: plain, resolved settings, with the keys `cell`, `overrides` and `command` beside them.
        folder: the run folder; where an attempt in it was stopped, this one goes on, unless `rerun` is set.

    Returns:
        The record, as `result.json` has it; empty on ranks other than 0.

    Raises:
        UserError: settings or data that cannot be trained, or a training that diverged.
    """
    from pytorch_lightning.utilities.rank_zero import rank_zero_only

    folder = Path(folder)
    first = int(getattr(rank_zero_only, "rank", 0) or 0) == 0
    if first:
        prepare(folder, config)
    progress = ProgressFile(folder, first)
    with logged(folder, first), quiet():
        try:
            return _run(dict(config), folder, progress)
        except BaseException as error:
            # A signal may come when the record is written: the run is done then, and has not failed.
            if first and not (folder / results.FILES[results.DONE]).exists():
                progress.write()
                account.failed(config, folder, error, progress.seconds())
            raise


def _run(config: dict[str, Any], folder: Path, progress: ProgressFile) -> dict[str, Any]:
    import torch

    from attnlab import build, compiling, ranks, resume, threads
    from attnlab.callbacks import Progress

    threads.set_up(config["trainer"].get("threads"))
    compiling.precision(config["trainer"].get("matmul_precision", "highest"))
    with terminable():
        progress.phase("data")
        data = build.build_data(config)
        data.prepare_data()
        data.setup("fit")
        metrics = build.build_metrics(config)
        search = build.build_search(config)
        model = build.build_model(config, data)
        module = build.build_module(config, model, data, metrics)
        loggers = build.build_loggers(config, folder, account.facts(config))
    code, record = 1, {}
    try:
        trainer = build.build_trainer(config, folder, loggers, [Progress(progress)])
        _check_world(config, trainer)
        form = config["trainer"].get("compile", "none")
        compiling.check(form, trainer.strategy.root_device, trainer.world_size)
        compiling.apply(model.decoder, form)
        with terminable():
            start, before = _take_up(config, folder, trainer, data, loggers, progress)
            if trainer.is_global_zero:
                data.save(folder / "tokenizer")
                account.introduce(config, model, module)
        # Dropout's stream: one a rank, and the same whatever was drawn while the model was built.
        torch.manual_seed(int(config["seed_order"]) + 1_000_003 * trainer.global_rank)
        progress.phase("training")
        with honest_ends():
            try:
                trainer.fit(module, datamodule=data, ckpt_path=start, weights_only=True)
            except ValueError as error:
                if "val_check_interval" not in str(error):
                    raise
                raise UserError(
                    f"trainer.val_check_interval={config['trainer']['val_check_interval']}: an epoch has "
                    "fewer batches; lower it, or count over epochs with trainer.check_val_every_n_epoch=null"
                ) from error
        progress.phase("testing", update=trainer.global_step)
        wall = progress.training_s()
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
                "peak_memory": max(account.peak_memory(trainer), before.get("peak_memory", 0)),
                "resumed_at": progress.resumed_at,
            }
            # A long test set is no standstill; the encoder is asked for each of its batches.
            ticking = model.encoder.register_forward_hook(lambda *_: progress.tick())
            test = _test(config, folder, module, trainer, data, search, metrics)
            ticking.remove()
            if trainer.is_global_zero:
                record = results.build(
                    **account.identity(config),
                    machine=provenance.machine(
                        provenance.device_name(trainer.strategy.root_device), trainer.world_size
                    ),
                    data=data.describe(),
                    parameters=model.parameter_counts(),
                    train=train,
                    val={**kept["val"], "signature": metrics.bleu.signature},
                    test=test,
                )
        code = 0
    finally:
        for logger in loggers:
            if hasattr(logger, "close"):
                logger.close(code)
            else:
                logger.finalize("success" if code == 0 else "failed")
    with terminable():
        if record:  # after the loggers: a run with a record is never looked at again
            log.info("record: %s", os.path.relpath(results.write(record, folder)))
            resume.tidy(folder, bool(config["callbacks"].get("save_last", True)))
            progress.remove()
        ranks.barrier()
    return record


def _take_up(
    config: Mapping[str, Any],
    folder: Path,
    trainer: pl.Trainer,
    data: Any,
    loggers: Sequence[Any],
    progress: ProgressFile,
) -> tuple[Path | None, dict[str, Any]]:
    """Where the training goes on, if anywhere, and what it had cost by then; sets back what came after."""
    from attnlab import checkpoints, ranks, resume

    whose = resume.identity(config, data.describe(), trainer.world_size)
    path, before = folder / "checkpoints" / checkpoints.LAST, {}
    if resume.started_together(trainer):  # rank 0 decides first
        trainer.strategy.setup_environment()
    if trainer.is_global_zero:
        point = resume.choose(folder, whose)
        progress.resumed_at = progress.resumed_at if point is not None else []
        if point is not None:
            before = point.costs
            progress.at_least(before.get("training_s", 0.0))
            progress.resumed_at = [*(progress.resumed_at or point.resumed_at), point.update]
            log.info("goes on from update %d%s", point.update, ", to be tested" if point.finished else "")
        rows = resume.rewind(folder / "metrics.jsonl", point.update if point is not None else -1)
        for logger in loggers:
            if hasattr(logger, "begin"):  # takes seconds, which are no training time
                logger.begin()
        resume.replay(rows, loggers[1:])
    if resume.started_together(trainer):
        ranks.barrier()
    start = path if path.exists() else None
    keeper: Any = trainer.checkpoint_callback
    keeper.identity, keeper.resumed_at, keeper.start = whose, progress.resumed_at, start
    keeper.costs = lambda: {"training_s": progress.training_s(), "peak_memory": account.peak_memory(trainer)}
    return start, before


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
            progress=bool(config["trainer"].get("enable_progress_bar", True)),
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
            if data.corpus.show_samples and hasattr(logger, "log_translations"):
                rows = data.rows(name)
                logger.log_translations(name, rows["source"][:], scored.hypotheses, rows["target"][:])
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


def _check_world(config: Mapping[str, Any], trainer: pl.Trainer) -> None:
    """A launcher's variables can turn two devices into one without a word: refuse."""
    devices, nodes = config["trainer"]["devices"], config["trainer"].get("num_nodes", 1)
    if isinstance(devices, int) and devices > 0 and trainer.world_size != devices * nodes:
        raise UserError(
            f"trainer.devices={devices} on {nodes} node(s), but Lightning sees {trainer.world_size} "
            "process(es): the launcher's environment (SLURM_*, WORLD_SIZE) says otherwise; make them agree"
        )
