"""Writing checkpoints: the best one, and the last one, from which a run that was stopped goes on exactly.

A checkpoint is written between two updates, when all that belongs to the first (its row in the log, the
validation behind it, the end of its epoch) is done and nothing of the second has begun. So there are only two
states to resume from: inside an epoch behind so many batches, and between two epochs.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins import TorchCheckpointIO
from pytorch_lightning.callbacks import Checkpoint
from pytorch_lightning.trainer.states import TrainerFn

from attnlab import ranks
from attnlab.errors import UserError

LAST, PREVIOUS, BEST = "last.ckpt", "previous.ckpt", "best.ckpt"
PARTIAL = ".partial-"
"""How the name of a file begins that is being written, and of one whose writing a kill cut short."""


def write(content: Mapping[str, Any], path: Path) -> None:
    """Writes a checkpoint under a temporary name, then renames it: what has the name is whole.

    Raises:
        UserError: there is no room for it, or it may not be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(PARTIAL + path.name)
    try:
        with temporary.open("wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
    except Exception as error:
        temporary.unlink(missing_ok=True)  # on a full disk, the room that `failed.json` needs
        # Where a write fails, torch raises a RuntimeError of its own on the way out.
        cause = next((one for one in (error, error.__context__) if isinstance(one, OSError)), None)
        if cause is None:
            raise
        raise UserError(
            f"{path}: cannot be written ({cause.strerror}); once it can, the same command goes on"
        ) from error
    if path.name == LAST and path.exists():
        path.replace(path.with_name(PREVIOUS))
    temporary.replace(path)


class Files(TorchCheckpointIO):
    """Lightning's way to the disk, by `write`: its own goes through the memory and the system's /tmp."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any | None = None
    ) -> None:
        """Writes the file whole or not at all."""
        write(checkpoint, Path(path))


class Checkpoints(Checkpoint):
    """`best.ckpt` and `last.ckpt`.

    `best.ckpt` has the weights of the best validation (of equal ones the first), the settings and the scores.
    `last.ckpt` has besides all that the training goes on from, the best weights among it: one file, so that
    nothing can be out of step. The one before is kept as `previous.ckpt`.

    Args:
        folder: `checkpoints/` of the run folder.
        monitor: the validation metric that chooses.
        mode: max or min.
        every: updates between two checkpoints; None writes them behind validations only.
    """

    def __init__(self, folder: Path, *, monitor: str, mode: str, every: int | None = None):
        super().__init__()
        self.folder, self.monitor, self.every = Path(folder), monitor, every
        self.sign = 1.0 if mode == "max" else -1.0
        self.best: dict[str, Any] | None = None
        """What `best.ckpt` holds; without weights on ranks other than 0."""
        self.score = float("-inf")
        """Of the best, the sign turned so that larger is better; float32, as Lightning keeps it."""
        self.identity: dict[str, Any] = {}
        """Whose checkpoint it is; see `resume.identity`."""
        self.costs: Callable[[], dict[str, Any]] = dict
        """What the run has cost so far, plain; kept in each checkpoint."""
        self.resumed_at: list[int] = []
        self.start: Path | None = None
        """The checkpoint that the run goes on from."""
        self._saved, self._due, self._better = 0, False, False
        self._point: dict[str, Any] | None = None
        self._random: list[dict[str, Any]] | None = None

    @property
    def best_model_path(self) -> str:
        """The path of `best.ckpt`, empty before the first validation; Lightning's name for it."""
        return str(self.folder / BEST) if self.best is not None else ""

    # --- when -----------------------------------------------------------------------------------------------

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Has Lightning write by `Files`; compares where the ranks go on.

        Raises:
            UserError: some ranks see a checkpoint that others do not.
        """
        trainer.strategy.checkpoint_io = Files()
        if len(set(ranks.gathered([self.start is not None]))) > 1:
            raise UserError(
                f"not all processes see {self.folder / LAST}: give all machines one folder with out=DIR"
            )

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Takes up the random numbers where they were; nothing before the first batch draws any."""
        self._saved = trainer.global_step
        if self._random is not None:
            _set_random(self._random[trainer.global_rank])
            self._random = None

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Between two updates of an epoch."""
        done = trainer.fit_loop.epoch_loop.batch_progress.current.completed
        if self._wanted(trainer) and done % trainer.accumulate_grad_batches == 0:
            self._save(trainer, pl_module, batches=done)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Looks whether the model is the best so far; the files are written when all is said about it."""
        if trainer.sanity_checking or trainer.state.fn != TrainerFn.FITTING:
            return
        if self.monitor not in trainer.callback_metrics:
            there = ", ".join(name for name in trainer.callback_metrics if name.startswith("val/"))
            raise UserError(f"callbacks.monitor={self.monitor}: no validation gives it; choose of {there}")
        score = self.sign * float(trainer.callback_metrics[self.monitor])
        score = float("-inf") if score != score else score
        self._due = True
        if self.best is None or score > self.score:
            self.score, self._better = score, True
            self.best = {
                "state_dict": _weights(trainer) if trainer.is_global_zero else {},
                "global_step": trainer.global_step,
                "epoch": trainer.current_epoch,
                "pytorch-lightning_version": pl.__version__,
            }
            pl_module.on_save_checkpoint(self.best)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Between two epochs; after the last one there is `on_train_end`."""
        epochs = _epochs(trainer)
        last = trainer.should_stop or epochs == trainer.max_epochs
        if self._wanted(trainer) and not last and not 0 < trainer.max_steps <= trainer.global_step:
            self._save(trainer, pl_module)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Behind the last update; from here nothing is trained any more, whatever happens."""
        flush = getattr(pl_module, "flush", None)
        if flush is not None:  # Lightning asks the callbacks before the module
            flush()
        self._save(trainer, pl_module, finished=True)

    def _wanted(self, trainer: pl.Trainer) -> bool:
        step = trainer.global_step
        return step > self._saved and (self._due or (self.every is not None and step % self.every == 0))

    # --- what -----------------------------------------------------------------------------------------------

    def _save(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batches: int = 0, finished: bool = False
    ) -> None:
        """On all ranks: each adds the state of its random numbers."""
        began = time.perf_counter()
        self._point = {"epoch": _epochs(trainer), "batches": batches, "finished": finished}
        try:
            trainer.save_checkpoint(self.folder / LAST)
        finally:
            self._point = None
        if self._better and trainer.is_global_zero:
            assert self.best is not None
            write(self.best, self.folder / BEST)
        ranks.barrier()
        self._saved, self._due, self._better = trainer.global_step, False, False
        exclude = getattr(pl_module, "exclude", None)
        if exclude is not None:  # no training time
            exclude(time.perf_counter() - began)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Adds what Lightning does not keep, and settles its counters on the point between two updates."""
        if self._point is None:  # somebody else's, from anywhere
            return
        checkpoint["loops"]["fit_loop"] = settled(checkpoint["loops"]["fit_loop"], self._point["batches"])
        best = self.best
        if best is not None and best["global_step"] == trainer.global_step:
            best = {**best, "state_dict": None}  # they are this checkpoint's own
        checkpoint.setdefault("attnlab", {})["resume"] = {
            **self._point,
            "identity": self.identity,
            "should_stop": bool(trainer.should_stop),
            "random": ranks.gathered([_random()]),
            "best": best,
            "score": self.score,
            "costs": self.costs(),
            "resumed_at": list(self.resumed_at),
        }

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Takes all of it up; called on every rank before the loaders are made."""
        kept = checkpoint.get("attnlab", {}).get("resume")
        if kept is None or trainer.state.fn != TrainerFn.FITTING:
            return
        self.best, self.score = best_of(checkpoint), float(kept["score"])
        if self.best is not None and not trainer.is_global_zero:
            self.best["state_dict"] = {}
        self._random = kept["random"]
        trainer.should_stop = kept["should_stop"]
        start_at = getattr(getattr(trainer, "datamodule", None), "start_at", None)
        if start_at is not None:
            start_at(kept["epoch"], kept["batches"])


def best_of(checkpoint: Mapping[str, Any]) -> dict[str, Any] | None:
    """What `best.ckpt` held when a `last.ckpt` was written; None before the first validation."""
    best = checkpoint["attnlab"]["resume"]["best"]
    if best is not None and best["state_dict"] is None:
        best = {**best, "state_dict": dict(checkpoint["state_dict"])}
    return best


def settled(loop: Mapping[str, Any], batches: int) -> dict[str, Any]:
    """The state of Lightning's fit loop, as it is between two updates.

    Hooks are called while some counters are one ahead of others, and what Lightning makes of that when it
    restarts depends on which. With all of them level it does nothing but go on.

    Args:
        loop: the loop's `state_dict`.
        batches: batches finished in the running epoch; 0 is between two epochs.
    """
    state = copy.deepcopy(dict(loop))
    for count in (state["epoch_progress"][name] for name in ("total", "current")):
        ended = count["completed"] if batches else count["processed"]
        running = ended + bool(batches)
        count.update(ready=running, started=running, processed=ended, completed=ended)
    progress = state["epoch_loop.batch_progress"]
    for name, done in (("total", progress["total"]["completed"]), ("current", batches)):
        progress[name].update(ready=done, started=done, processed=done, completed=done)
    progress["is_last_batch"] = False
    validation = state["epoch_loop.val_loop.batch_progress"]
    for name in ("total", "current"):
        validation[name].update(ready=0, started=0, processed=0, completed=0)
    validation["is_last_batch"] = False
    return state


def _epochs(trainer: pl.Trainer) -> int:
    """The epochs whose updates are done; `current_epoch` is one behind while an epoch ends."""
    progress: Any = trainer.fit_loop.epoch_progress.current
    return int(progress.processed)


def _weights(trainer: pl.Trainer) -> dict[str, Any]:
    """The weights now, on the CPU, out of reach of the next update."""
    state = trainer.strategy.lightning_module_state_dict()
    return {name: value.detach().to("cpu", copy=True) for name, value in state.items()}


def _random() -> dict[str, Any]:
    """The state of torch's random numbers; the training draws from no others."""
    device = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
    return {"cpu": torch.get_rng_state(), "cuda": device}


def _set_random(state: Mapping[str, Any]) -> None:
    torch.set_rng_state(state["cpu"].cpu())
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"].cpu())
