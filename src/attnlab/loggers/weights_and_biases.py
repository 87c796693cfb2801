"""Weights & Biases: one run a cell and seed, grouped by cell, with BLEU against length on an axis of its own.

Without a key the run is kept offline, in the run folder, with one warning; nothing ever asks a question.

A run that was stopped and goes on is one run here too. Its id is a hash of cell, study, seed and run folder,
and is kept in `wandb/id`; a rerun gets a new one. All attempts log the same rows in the same order, the first
of them replayed from `metrics.jsonl` and their translations from `wandb/samples.jsonl`: offline they replace
what the last attempt wrote, online as many as the server has are passed over.

Where W&B's own process dies, the run goes on without it.
"""

from __future__ import annotations

import hashlib
import logging
import netrc
import os
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from attnlab.ending import ReaderGone
from attnlab.errors import UserError
from attnlab.loggers import media
from attnlab.loggers.base import Example, Facts, Sample, flat, scalars
from attnlab.metrics.length import centre

log = logging.getLogger(__name__)

MODES = ("online", "offline", "disabled")
STAGED = "data"
"""Where under `wandb/` the files of tables wait for their upload."""
FORBIDDEN = "/\\#?%:"
"""Characters that W&B takes in no project's name."""


KEY = "samples/validation"
"""Of the table that grows with each validation."""


def _tolerant(log_something: Callable[..., None]) -> Callable[..., None]:
    """Of a method: where W&B's own process is gone, one warning, and nothing from then on.

    W&B then raises an error of its connection, or one of a module that is not public.
    """

    @wraps(log_something)
    def tried(self: WandbLogger, *args: Any, **kwargs: Any) -> None:
        if self._lost:
            return
        try:
            log_something(self, *args, **kwargs)
        except Exception as error:
            gone = isinstance(error, ConnectionError) or type(error).__name__ == "MailboxClosedError"
            if isinstance(error, ReaderGone) or not gone:
                raise
            self._lost, self._run = True, None
            log.warning(
                "W&B: its process has ended (%s); the run goes on without it, metrics.jsonl has all numbers",
                type(error).__name__,
            )

    return tried


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
    runs in one panel. Where `data.show_samples` allows it, `samples/validation` has some translations of each
    validation, and `translations/<set>` those of a whole test set.

    Args:
        folder: the run folder; all that W&B writes lies in its `wandb/`.
        facts: who the run is.
        project, entity, group, job_type, name, tags: W&B's own; null takes group = cell, job_type = study
            or `run`, name = `<cell> seed<k>`.
        mode: online, offline or disabled; null is online where a key is found, offline elsewhere.
        heatmaps: sentences drawn per test set.
        heatmap_tokens: a sentence with more source pieces is not drawn, a longer hypothesis is cut.
        samples: sentences of each validation that are shown with their translation.
        translations: whether the translations of each test set are logged as a table.
        finish_timeout: seconds that the end of a run waits for an upload; what is left lies in the folder.

    Raises:
        UserError: an unknown mode, a project that W&B does not take, a number that cannot be.
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
        samples: int = 5,
        translations: bool = True,
        finish_timeout: float = 300,
    ):
        super().__init__()
        asked = "logger.wandb.mode" if mode else "WANDB_MODE"
        mode = mode or os.environ.get("WANDB_MODE") or None
        if mode is not None and mode not in MODES:
            raise UserError(f"{asked}={mode}: must be one of {', '.join(MODES)}, or null")
        if not project or set(project) & set(FORBIDDEN):
            raise UserError(f"logger.wandb.project={project}: must be a name without {' '.join(FORBIDDEN)}")
        if samples < 0 or finish_timeout <= 0:
            raise UserError(
                f"logger.wandb.samples={samples}, logger.wandb.finish_timeout={finish_timeout}: must be at "
                "least 0, and above 0"
            )
        self._mode, self.folder, self.facts = mode, Path(folder), facts
        self.heatmaps, self.heatmap_tokens = heatmaps, heatmap_tokens
        shows = bool((facts.config.get("data") or {}).get("show_samples"))
        self.samples, self.translations = samples if shows else 0, translations and shows
        self._finish_timeout = finish_timeout
        self._run: Any = None
        self._lost = False
        self._logged, self._had = 0, 0
        self._samples: media.Samples | None = None
        self._shown: tuple[int, Sequence[Sample]] | None = None
        self._whole = False
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
    @_tolerant
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
            for earlier in [*place.glob("offline-run-*"), place / STAGED]:
                shutil.rmtree(earlier, ignore_errors=True)
            self._run = wandb.init(
                dir=self.folder,
                mode=mode,
                id=identity,
                resume="allow" if mode == "online" else None,
                reinit="create_new",  # cells that share a process must not share a run
                save_code=False,
                settings=wandb.Settings(
                    silent=True,
                    console="off",
                    disable_git=True,
                    root_dir=str(self.folder),
                    finish_timeout=self._finish_timeout,
                ),
                **self._settings,
            )
            self._logged, self._had = 0, int(self._run.starting_step)
            self._run.define_metric("trainer/step", hidden=True)
            for pattern in ("train/*", "val/*"):
                self._run.define_metric(pattern, step_metric="trainer/step")
            self._run.define_metric("length/source", hidden=True)
            self._samples = media.Samples(place / "samples.jsonl")
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

    def _log(self, row: dict[str, Any], samples: Sequence[media.Row] = ()) -> None:
        """One row, with what is appended to the table of samples, unless the server has it already."""
        run = self._begun()
        self._logged += 1
        if self._logged > self._had:
            with media.staged(self.folder / "wandb" / STAGED):
                if samples and self._samples is not None:
                    row[KEY] = self._samples.appended(samples)
                run.log(row)

    @rank_zero_only
    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: the settings are the run's config from its first moment."""

    @rank_zero_only
    def log_samples(self, samples: Sequence[Sample], step: int) -> None:
        """Translations of a validation, which go with the row of its numbers: an attempt has both or none."""
        self._shown = step, samples

    @rank_zero_only
    @_tolerant
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """A row of scalars; `trainer/step` is the number of finished updates."""
        self._begun()
        rows: Sequence[media.Row] = ()
        if self.samples and self._samples is not None and step is not None and "val/loss" in metrics:
            new = self._shown[1] if self._shown is not None and self._shown[0] == step else None
            rows = self._samples.noted(step, new)
        self._log({**metrics, "trainer/step": step} if step is not None else dict(metrics), rows)

    @rank_zero_only
    @_tolerant
    def log_translations(
        self, name: str, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
    ) -> None:
        """All translations of a test set, in its order; before the first set, all samples of validations.

        Of the growing table the run's page shows the last `media.INCREMENTS` validations only.
        """
        if not self._whole and self._samples is not None and self._samples.rows:
            self._log(media.table(f"{KEY}/all", media.SAMPLE_COLUMNS, self._samples.rows))
        self._whole = True
        if self.translations and hypotheses:
            rows = media.translations(sources, hypotheses, references)
            self._log(media.table(f"translations/{name}", media.TRANSLATION_COLUMNS, rows))

    @rank_zero_only
    @_tolerant
    def log_evaluation(self, name: str, result: Mapping[str, Any], examples: Sequence[Example] = ()) -> None:
        """A scored test set: summary, length curve and table, heat maps.

        Args:
            name: the test set's.
            result: `test.<name>` of the record.
            examples: sentences with their attention, in a fixed order.
        """
        run = self._begun()
        run.summary.update(scalars(name, result))
        curve = f"length/{name}/bleu"
        run.define_metric(curve, step_metric="length/source")
        for bucket in result.get("by_source_length") or []:
            if bucket["bleu"] is not None:
                self._log({"length/source": centre(bucket), curve: bucket["bleu"]})
        for kind in ("source", "reference"):
            rows = media.lengths(result.get(f"by_{kind}_length") or [])
            self._log(media.table(f"length/{name}/by_{kind}", media.LENGTH_COLUMNS, rows))
        # Which sentences are drawn depends on the sources alone, so that all runs draw the same ones.
        fits = (item for item in enumerate(examples) if 0 < len(item[1].source) <= self.heatmap_tokens)
        for number, example in islice(fits, self.heatmaps):
            # A key each: W&B lays the images of one key out as if they were of one size.
            self._log({f"attention/{name}/{number}": media.heat_map(example, self.heatmap_tokens)})

    @rank_zero_only
    @_tolerant
    def close(self, exit_code: int = 0) -> None:
        """Finishes the run; W&B shows one with another exit code than 0 as failed."""
        if self._run is not None:
            self._run.finish(exit_code=exit_code)
            self._run = None
