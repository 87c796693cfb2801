"""Weights & Biases: one run a cell and seed, grouped by cell, with BLEU against length on an axis of its own.

Without a key the run is kept offline, in the run folder, with one warning; nothing ever asks a question.

A run that was stopped and goes on is one run here too. Its id is a hash of cell, study, seed and run folder,
and is kept in `wandb/id`; a rerun gets a new one. All attempts log the same rows in the same order, the first
of them replayed from `metrics.jsonl`: offline they replace what the last attempt wrote, online as many as the
server has are passed over.
"""

from __future__ import annotations

import hashlib
import logging
import netrc
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from attnlab.errors import UserError
from attnlab.loggers.base import Example, Facts, flat, scalars
from attnlab.metrics.length import centre, label

log = logging.getLogger(__name__)

MODES = ("online", "offline", "disabled")
FORBIDDEN = "/\\#?%:"
"""Characters that W&B takes in no project's name."""


def has_key() -> bool:
    """Whether W&B would find a key without asking: WANDB_API_KEY, or the netrc entry of its host."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlsplit(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname
    names = [os.environ["NETRC"]] if "NETRC" in os.environ else ["~/.netrc", "~/_netrc"]
    for name in names:
        try:
            if host and netrc.netrc(Path(name).expanduser()).authenticators(host):
                return True
        except (OSError, netrc.NetrcParseError):
            continue
    return False


class WandbLogger(Logger):
    """Writes a W&B run: curves, final scores, BLEU by length, attention heat maps.

    The x-axis `length/source` holds a bucket's centre in words (`metrics.length.centre`: the open last bucket
    5 words beyond its lower edge); `length/<set>/bleu` is drawn against it, so W&B overlays the curves of all
    runs in one panel.

    Args:
        folder: the run folder; all that W&B writes lies in its `wandb/`.
        facts: who the run is.
        project, entity, group, job_type, name, tags: W&B's own; null takes group = cell, job_type = study
            or `run`, name = `<cell> seed<k>`.
        mode: online, offline or disabled; null is online where a key is found, offline elsewhere.
        heatmaps: sentences drawn per test set.
        heatmap_tokens: a sentence with more source pieces is not drawn, a longer hypothesis is cut.

    Raises:
        UserError: an unknown mode, or a project that W&B does not take.
    """

    def __init__(
        self,
        folder: Path,
        facts: Facts,
        project: str = "attnlab",
        entity: str | None = None,
        mode: str | None = None,
        group: str | None = None,
        job_type: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        heatmaps: int = 4,
        heatmap_tokens: int = 60,
    ):
        super().__init__()
        asked = "logger.wandb.mode" if mode else "WANDB_MODE"
        mode = mode or os.environ.get("WANDB_MODE") or None
        if mode is not None and mode not in MODES:
            raise UserError(f"{asked}={mode}: must be one of {', '.join(MODES)}, or null")
        if not project or set(project) & set(FORBIDDEN):
            raise UserError(f"logger.wandb.project={project}: must be a name without {' '.join(FORBIDDEN)}")
        self._mode, self.folder, self.facts = mode, Path(folder), facts
        self.heatmaps, self.heatmap_tokens = heatmaps, heatmap_tokens
        self._run: Any = None
        self._logged, self._had = 0, 0
        self._settings: dict[str, Any] = {
            "project": project,
            "entity": entity,
            "group": group or facts.cell_id,
            "job_type": job_type or facts.study or "run",
            "name": name or f"{facts.cell_id} seed{facts.seed}",
            "tags": list(tags),
            "config": {**flat(facts.config), **facts.cell, "seed": facts.seed, "study": facts.study},
        }

    @property
    def name(self) -> str:
        """The project."""
        return str(self._settings["project"])

    @property
    def version(self) -> str | None:
        """W&B's id of the run, once it has begun."""
        return self._run.id if self._run is not None else None

    @rank_zero_only
    def begin(self) -> None:
        """Starts the run where it has not begun."""
        self._begun()

    def _begun(self) -> Any:
        """The run, started where it has not begun."""
        if self._run is None:
            import wandb

            mode: Any = self._mode
            if mode is None:
                mode = "online" if has_key() else "offline"
                if mode == "offline":
                    log.warning(
                        "W&B: no key found, the run is kept offline under %s/wandb; `wandb sync` uploads it",
                        self.folder,
                    )
            place = self.folder / "wandb"
            place.mkdir(parents=True, exist_ok=True)
            identity = self._identity(place / "id")
            for earlier in place.glob("offline-run-*"):
                shutil.rmtree(earlier, ignore_errors=True)
            self._run = wandb.init(
                dir=self.folder,
                mode=mode,
                id=identity,
                resume="allow" if mode == "online" else None,
                reinit="create_new",  # cells that share a process must not share a run
                save_code=False,
                settings=wandb.Settings(
                    silent=True, console="off", disable_git=True, root_dir=str(self.folder)
                ),
                **self._settings,
            )
            self._logged, self._had = 0, int(self._run.starting_step)
            self._run.define_metric("trainer/step", hidden=True)
            for pattern in ("train/*", "val/*"):
                self._run.define_metric(pattern, step_metric="trainer/step")
            self._run.define_metric("length/source", hidden=True)
        return self._run

    def _identity(self, path: Path) -> str:
        """The run's id: the one that an earlier attempt has left, or a new one."""
        if path.is_file():
            return path.read_text(encoding="utf-8").strip()
        if self.facts.config.get("rerun"):
            new = uuid.uuid4().hex[:16]
        else:
            own = [str(self.facts.config.get(f"seed_{part}", self.facts.seed)) for part in ("init", "order")]
            names = [self.facts.study, self.facts.cell_id, self.facts.seed, *own, self.folder.resolve()]
            new = hashlib.sha256("\n".join(map(str, names)).encode()).hexdigest()[:16]
        path.write_text(f"{new}\n", encoding="utf-8")
        return new

    def _log(self, row: dict[str, Any]) -> None:
        """One row, unless the server has it from an earlier attempt."""
        run = self._begun()
        self._logged += 1
        if self._logged > self._had:
            run.log(row)

    @rank_zero_only
    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: the settings are the run's config from its first moment."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """A row of scalars; `trainer/step` is the number of finished updates."""
        self._log({**metrics, "trainer/step": step} if step is not None else dict(metrics))

    @rank_zero_only
    def log_evaluation(self, name: str, result: Mapping[str, Any], examples: Sequence[Example] = ()) -> None:
        """A scored test set: summary, length curve and table, heat maps.

        Args:
            name: the test set's.
            result: `test.<name>` of the record.
            examples: sentences with their attention, in a fixed order.
        """
        import wandb

        run = self._begun()
        run.summary.update(scalars(name, result))
        curve = f"length/{name}/bleu"
        run.define_metric(curve, step_metric="length/source")
        columns: list[str | int] = ["bucket", "lo", "hi", "n", "bleu", "ci_low", "ci_high", "mark"]
        for key, kind in (("by_source_length", "source"), ("by_reference_length", "reference")):
            table = wandb.Table(columns=columns)
            for bucket in result.get(key) or []:
                low, high = bucket.get("ci") or (None, None)
                row = [bucket["lo"], bucket["hi"], bucket["n"], bucket["bleu"], low, high, bucket.get("mark")]
                table.add_data(label(bucket), *row)
                if kind == "source" and bucket["bleu"] is not None:
                    self._log({"length/source": centre(bucket), curve: bucket["bleu"]})
            self._log({f"length/{name}/by_{kind}": table})
        # Which sentences are drawn depends on the sources alone, so that all runs draw the same ones.
        fits = (item for item in enumerate(examples) if 0 < len(item[1].source) <= self.heatmap_tokens)
        for number, example in islice(fits, self.heatmaps):
            # A key each: W&B lays the images of one key out as if they were of one size.
            self._log({f"attention/{name}/{number}": self._draw(example)})

    def _draw(self, example: Example) -> Any:
        """A W&B image of one attention matrix with its tokens."""
        import wandb
        from matplotlib.figure import Figure

        weights = example.weights[: self.heatmap_tokens]
        rows, columns = weights.shape
        figure = Figure(figsize=(1.5 + 0.3 * columns, 1.5 + 0.3 * rows), layout="constrained")
        axes = figure.subplots()
        axes.imshow(weights, cmap="Greys", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(columns), example.source, rotation=90)
        axes.set_yticks(range(rows), example.hypothesis[:rows])
        axes.xaxis.tick_top()
        axes.set_xlabel("source")
        axes.set_ylabel("hypothesis")
        return wandb.Image(figure, caption=" ".join(example.hypothesis))

    @rank_zero_only
    def close(self, exit_code: int = 0) -> None:
        """Finishes the run; W&B shows one with another exit code than 0 as failed."""
        if self._run is not None:
            self._run.finish(exit_code=exit_code)
            self._run = None
