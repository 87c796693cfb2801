"""The plan of a grid: its cells, composed and checked, before the first one starts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hydra.core.config_loader import ConfigLoader
from hydra.errors import HydraException
from omegaconf import DictConfig

from attnlab.check import faults
from attnlab.errors import UserError
from attnlab.sweep import compose, state


@dataclass
class Plan:
    """What a sweep will do; every line is fit to be printed."""

    jobs: list[list[str]] = field(default_factory=list)  # overrides of the cells to train
    folders: list[Path] = field(default_factory=list)  # their run folders
    repeated: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The plan in words: what is left out and why, then the count."""
        left_out = [
            *(f"repeated: {line}" for line in self.repeated),
            *(f"done: {line}" for line in self.finished),
        ]
        total = len(self.jobs) + len(self.finished)
        return [*left_out, f"{total} cells, {len(self.finished)} of them finished, {len(self.jobs)} to train"]


def labels(jobs: Sequence[Sequence[str]]) -> list[str]:
    """Each cell in one line: those of its overrides that not all cells share."""
    shared = set.intersection(*(set(job) for job in jobs)) if len(jobs) > 1 else set()
    return [" ".join(item for item in job if item not in shared) or "the cell" for job in jobs]


def make(loader: ConfigLoader, master: DictConfig, jobs: Sequence[Sequence[str]]) -> Plan:
    """Compose and check every cell; leave out the repeated and the finished.

    Args:
        loader: Hydra's.
        master: the sweep's own configuration.
        jobs: the overrides of each cell, all of them.
    """
    plan = Plan()
    seen: dict[Path, str] = {}
    defaults: dict[str, dict[str, object]] = {}  # per choice of options: a compose costs as much as a cell's
    for number, (job, line) in enumerate(zip(jobs, labels(jobs), strict=True)):
        overrides = list(job)
        try:
            config = compose.cell_config(loader, master, overrides, number)
            choice = str(config.hydra.runtime.choices)
            if choice not in defaults:
                defaults[choice] = compose.defaults(loader, config)
            wrong = faults(config, defaults[choice])
            if wrong:
                plan.faults.extend(f"{fault} [{line}]" for fault in wrong)
                continue
            folder = compose.sweep_folder(config)
        except (HydraException, UserError) as error:
            plan.faults.append(
                f"{compose.reason(error, loader, str(master.hydra.job.config_name), overrides)} [{line}]"
            )
            continue
        if folder in seen:
            plan.repeated.append(f"{line} trains as {seen[folder]} does")
        else:
            seen[folder] = line
            if not config.rerun and state.finished(folder) is not None:
                plan.finished.append(f"{line} in {folder}")
            else:
                plan.jobs.append(overrides)
                plan.folders.append(folder)
    return plan
