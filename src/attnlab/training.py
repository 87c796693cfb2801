"""The training loop's own part: the objective, the validation metrics, the learning rate, what is logged.

The objective is the summed cross-entropy of the global batch divided by the global batch's target tokens, the
end mark counted, whatever the number of ranks. Validation sums over the set and the ranks before it divides.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from attnlab import ranks
from attnlab.errors import UserError
from attnlab.model.moving import to_device
from attnlab.optim import Recipe
from attnlab.validation import Validation

if TYPE_CHECKING:
    from attnlab.data import Batch

__all__ = ["TranslationModule", "Validation", "clip", "objective", "real", "summed_loss"]

log = logging.getLogger(__name__)


def real(lengths: Tensor, steps: int) -> Tensor:
    """Which positions of a padded [B,T] hold a token."""
    return torch.arange(steps, device=lengths.device) < lengths[:, None]


def summed_loss(model: Any, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
    """Cross-entropy in nats, summed over the batch's target tokens (end marks included).

    Real positions are picked out before the vocabulary projection, so padding costs no logits and enters
    neither the loss nor the smoothing.
    """
    readouts = model(batch.source, batch.source_lengths, batch.target).readouts.flatten(0, 1)
    target, steps = batch.target.flatten(), batch.target.shape[1]
    lengths = batch.target_lengths
    if lengths.min() < steps:  # the lengths are on the host, where looking waits for no device
        places = to_device(real(lengths, steps).flatten().nonzero().squeeze(1), target.device)
        readouts, target = readouts[places], target[places]
    loss: Tensor = model.cross_entropy(readouts, target, label_smoothing)
    return loss


def _sums(loss: Tensor, batch: Batch) -> Tensor:
    """`[loss, tokens]` of a batch, on the loss's device; a number of the host's is filled in, not copied."""
    kind = ranks.exact(loss.device)
    tokens = int(batch.target_lengths.sum())
    return torch.stack([loss.to(kind), torch.full_like(loss, tokens, dtype=kind)])


def objective(loss: Tensor, sums: Tensor) -> Tensor:
    """This rank's share, so that the mean that DDP takes over ranks is the loss per global target token.

    Args:
        loss: this rank's summed loss, with gradient.
        sums: the global `[loss, tokens]` of the batch.
    """
    return loss * (ranks.world() / sums[1].to(loss.dtype))


def clip(parameters: Iterable[nn.Parameter], most: float) -> None:
    """Scales gradients to a common norm of `most`, where it is larger or no number.

    Short ones are left alone, not multiplied by 1; a GPU's host would have to wait to know.
    """
    parameters = list(parameters)
    norm = nn.utils.get_total_norm([each.grad for each in parameters if each.grad is not None])
    if norm.device.type != "cpu" or not norm <= most:
        nn.utils.clip_grads_with_norm_(parameters, most, norm)


class TranslationModule(pl.LightningModule):
    """Trains a `Seq2Seq` by a `Recipe`, and validates it.

    Args:
        model: the network.
        recipe: optimiser, schedule and label smoothing.
        validation: how `val/bleu` is computed; None leaves it out.
        config: the run's plain settings, kept in each checkpoint; containers and scalars only.
    """

    def __init__(
        self,
        model: Any,
        recipe: Recipe,
        validation: Validation | None = None,
        config: Mapping[str, Any] | None = None,
    ):
        super().__init__()
        self.model, self.recipe, self.validation = model, recipe, validation
        self.config = dict(config or {})
        self.validations = 0
        """Validations finished, the sanity pass not counted."""
        self.bleus: list[float] = []
        self.last: dict[str, float] = {}
        """The metrics of the last validation, and how many sentences `val/bleu` is over."""
        self.shown: dict[str, float] = {}
        """The numbers last logged, for the progress bar: reading them never waits for the device."""
        self.trained_tokens, self.trained_seconds = 0.0, 0.0
        self._window: Tensor | None = None
        self._since: float | None = None
        self._before = 0.0  # seconds of the open window in an earlier attempt
        self._validated: Tensor | None = None

    # --- training -------------------------------------------------------------------------------------------

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """The recipe's optimiser; the rate is set by `_set_rate`, not by a torch scheduler."""
        return self.recipe.optimizer(p for p in self.parameters() if p.requires_grad)

    def configure_gradient_clipping(
        self,
        optimizer: Any,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clips by norm with torch itself wherever gradients are not scaled.

        Lightning's own way refuses every fused optimiser under mixed precision; only float16 has the scaler
        that it guards against.
        """
        scaled = getattr(self.trainer.precision_plugin, "scaler", None) is not None
        if scaled or not gradient_clip_val or gradient_clip_algorithm == "value":
            self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)
        else:
            clip(self.parameters(), gradient_clip_val)

    def on_train_epoch_start(self) -> None:
        """Brings the learning rate up to date."""
        self._set_rate()

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Starts the clock again after a validation, or where an earlier attempt stopped it."""
        if self._since is None:
            self._since = time.perf_counter() - self._before
            self._before = 0.0

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The objective of one batch; its sums stay on the device until they are logged."""
        loss = summed_loss(self.model, batch, self.recipe.label_smoothing)
        sums = ranks.total(_sums(loss.detach(), batch))
        self._window = sums if self._window is None else self._window.to(sums) + sums
        return objective(loss, sums)

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Logs every `log_every_n_steps` updates."""
        every: int = getattr(self.trainer, "log_every_n_steps", 1)
        if self.global_step % max(1, every) == 0:
            self.flush()

    def on_train_end(self) -> None:
        """Logs what is left; says so when every validation BLEU was 0."""
        self.flush()
        if self.bleus and max(self.bleus) == 0:
            self._warn_zero()

    def flush(self) -> None:
        """Reads loss and tokens off the device and logs them. One wait for the device, however many updates.

        Raises:
            UserError: the loss is not finite.
        """
        if self._window is None:
            return
        loss, tokens = self._window.tolist()
        self._window = None
        seconds = time.perf_counter() - self._since if self._since is not None else 0.0
        self._since = time.perf_counter()
        if not math.isfinite(loss):
            raise UserError(
                f"training diverged: train/loss is {loss} by update {self.global_step}; "
                "lower optim.lr or trainer.gradient_clip_val"
            )
        self.trained_tokens += tokens
        self.trained_seconds += seconds
        self._emit(
            {
                "train/loss": loss / tokens,
                "train/tokens_per_s": tokens / seconds if seconds else 0.0,
                "train/lr": self.recipe.rate(self.current_epoch, self.validations),
            }
        )

    def exclude(self, seconds: float) -> None:
        """Leaves out a pause that was no training from the speed."""
        if self._since is not None:
            self._since += seconds

    # --- validation -----------------------------------------------------------------------------------------

    def on_validation_epoch_start(self) -> None:
        """Closes the training window, so that the time spent here is not counted as training."""
        self.flush()
        self._since = None
        self._validated = None
        if self.validation is not None:
            self.validation.start()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Adds the batch's loss (never smoothed) and the hypotheses of its sampled sentences."""
        loss = summed_loss(self.model, batch)
        sums = _sums(loss, batch)
        self._validated = sums if self._validated is None else self._validated + sums
        if self.validation is not None and not self._sanity:
            self.validation.add(self.model, batch)

    def on_validation_epoch_end(self) -> None:
        """Turns the sums into `val/loss` (nats per token; exp is the perplexity) and `val/bleu`."""
        if self._sanity:
            return
        sums = self._validated
        if sums is None:  # this rank had no sentence; the others wait in the same reduction
            sums = torch.zeros(2, device=self.device, dtype=ranks.exact(self.device))
        loss, tokens = ranks.total(sums).tolist()
        metrics = {"val/loss": loss / tokens if tokens else math.nan}
        if self.validation is not None:
            metrics["val/bleu"] = self.validation.finish()
            self.bleus.append(metrics["val/bleu"])
            if len(self.bleus) == 3 and max(self.bleus) == 0:
                self._warn_zero()
        self.validations += 1
        self.last = {
            **metrics,
            "sentences": len(self.validation.sample) if self.validation is not None else 0,
        }
        # float32 is Lightning's type for what callbacks watch; the logged number keeps its precision
        self.log_dict(
            {k: torch.tensor(v, dtype=torch.float32) for k, v in metrics.items()},
            logger=False,
            sync_dist=True,  # the same on all ranks already; this only tells Lightning so
        )
        self._show()
        self._emit(metrics)
        if self.recipe.schedule is not None:
            self.recipe.schedule.observe(metrics)
        if not self.trainer.validating or self.trainer.state.fn == "fit":
            self._set_rate()

    @property
    def _sanity(self) -> bool:
        return bool(self.trainer.sanity_checking)

    # --- shared ---------------------------------------------------------------------------------------------

    def _set_rate(self) -> None:
        rate = self.recipe.rate(self.current_epoch, self.validations)
        for optimizer in self.trainer.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate

    def _emit(self, metrics: Mapping[str, float]) -> None:
        """One row for every logger, on rank 0, at the count of finished updates."""
        self.shown.update(metrics)
        if self.trainer.is_global_zero:
            for logger in self.trainer.loggers:
                logger.log_metrics({**metrics, "epoch": self.current_epoch}, step=self.global_step)

    def _show(self) -> None:
        """Some translations of the validation, for the loggers that ask for them; on rank 0."""
        for logger in self.trainer.loggers if self.trainer.is_global_zero else []:
            count = getattr(logger, "samples", 0)
            if count and self.validation is not None and hasattr(logger, "log_samples"):
                logger.log_samples(self.validation.shown(count), step=self.global_step)

    def _warn_zero(self) -> None:
        if self.trainer.is_global_zero:
            log.warning(
                "val/bleu was 0 in all %d validations so far: the model translates nothing yet, or "
                "hypotheses and references do not fit together; callbacks.monitor=val/loss still tells "
                "models apart",
                len(self.bleus),
            )

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Adds plain numbers and containers only, so that `torch.load(weights_only=True)` reads the file."""
        schedule = self.recipe.schedule
        open_for = time.perf_counter() - self._since if self._since is not None else 0.0
        checkpoint.setdefault("attnlab", {}).update(
            config=self.config,
            validations=self.validations,
            bleus=list(self.bleus),
            val=dict(self.last),
            schedule=schedule.state() if schedule is not None else {},
            trained=[self.trained_tokens, self.trained_seconds],
            window=None if self._window is None else [*self._window.tolist(), open_for],
        )

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Takes up the counts and the sums not yet logged; `config` stays the one this run was given."""
        kept = checkpoint["attnlab"]
        self.validations, self.bleus = int(kept["validations"]), list(kept["bleus"])
        self.last = dict(kept["val"])
        self.trained_tokens, self.trained_seconds = kept["trained"]
        if kept["window"] is not None:
            *sums, self._before = kept["window"]
            self._window = torch.tensor(sums, dtype=torch.float64)
        if self.recipe.schedule is not None:
            self.recipe.schedule.load(kept["schedule"])
