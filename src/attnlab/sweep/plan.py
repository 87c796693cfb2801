"""The plan of a grid: its cells, composed and checked, before the first one starts."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from attnlab.errors import UserError
from attnlab.provenance import code_state
from attnlab.results import DONE, FAILED
from attnlab.sweep import changes, compose, estimate, rehearsal, state, status
from attnlab.sweep import study as studies
from attnlab.sweep.resolve import Resolved, Resolver
from attnlab.sweep.slots import Slots

INVALID, DUPLICATE = "invalid", "duplicate"
STATES = (DONE, state.RUNNING, state.INTERRUPTED, FAILED, state.PENDING, INVALID, DUPLICATE)


@dataclass
class Cell:
    """One run of a plan: a cell with its seed.

    Args:
        overrides: of its command line.
        label: those of them that tell it from the others, in one line.
        state: one of `STATES`.
        folder: its run folder; None where it has none.
        faults: why it cannot be trained, a line each.
        note: what else there is to say of it, in a line.
        train: whether the sweep is to train it, or go on with it.
        values: its settings.
        seconds: what it still needs by `Plan.estimate`; None where that is unknown.
    """

    overrides: list[str]
    label: str
    state: str
    folder: Path | None = None
    faults: list[str] = field(default_factory=list)
    note: str = ""
    train: bool = False
    values: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None


@dataclass
class Plan:
    """What a sweep will do; every line is fit to be printed."""

    cells: list[Cell] = field(default_factory=list)
    study: studies.Study | None = None
    excluded: int = 0
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def to_train(self) -> list[Cell]:
        """The cells to train or to go on with."""
        return [cell for cell in self.cells if cell.train]

    @property
    def jobs(self) -> list[list[str]]:
        """The overrides of the cells to train."""
        return [cell.overrides for cell in self.to_train]

    @property
    def folders(self) -> list[Path]:
        """The run folders of the cells to train."""
        return [cell.folder for cell in self.to_train if cell.folder is not None]

    @property
    def repeated(self) -> list[str]:
        """The cells that are others' duplicates, a line each."""
        return [f"{cell.label} {cell.note}" for cell in self.cells if cell.state == DUPLICATE]

    @property
    def finished(self) -> list[str]:
        """The finished cells that are left alone, a line each."""
        return [_done(cell) for cell in self.cells if cell.state == DONE and not cell.train]

    @property
    def faults(self) -> list[str]:
        """What is wrong with cells, a line each."""
        return [f"{fault} [{cell.label}]" for cell in self.cells for fault in cell.faults]

    @property
    def counts(self) -> dict[str, int]:
        """How many cells are in each state."""
        found = Counter(cell.state for cell in self.cells)
        return {name: found[name] for name in STATES}

    def lines(self) -> list[str]:
        """The plan in words: what is left out and why, then the count."""
        left_out = [
            *(f"repeated: {line}" for line in self.repeated),
            *(f"done: {line}" for line in self.finished),
        ]
        jobs, done = len(self.to_train), len(self.finished)
        total = f"{jobs + done} cells, {done} of them finished, {jobs} to train"
        if self.excluded:
            total += f"; {self.excluded} excluded"
        return [*left_out, *self.notes, total]

    def estimate(self) -> None:
        """Set what each cell still needs, from the runs that have been measured beside it."""
        tops = {cell.folder.parent.parent for cell in self.cells if cell.folder is not None}
        estimates = estimate.Estimates(estimate.records(tops))
        for cell in self.to_train:
            assert cell.folder is not None
            whole = estimates.seconds(cell.folder.parent.name, cell.values)
            anew = cell.state == DONE or bool(cell.values.get("rerun"))
            said = None if anew else state.progress(cell.folder)
            cell.seconds = estimate.left(whole, cell.state, said)


def _done(cell: Cell) -> str:
    note = f" ({cell.note})" if cell.note else ""
    return f"{cell.label} in {cell.folder}{note}"


def labels(jobs: Sequence[Sequence[str]]) -> list[str]:
    """Each cell in one line: those of its overrides that not all cells share."""
    shared = set.intersection(*(set(job) for job in jobs)) if len(jobs) > 1 else set()
    return [" ".join(item for item in job if item not in shared) or "the cell" for job in jobs]


def of_sweep(loader: ConfigLoader, master: DictConfig, arguments: list[str], here: bool) -> Plan:
    """The plan of a command line: what `attnlab train -m`, or with the file of a study, would do.

    Args:
        loader: Hydra's.
        master: the sweep's own configuration.
        arguments: its overrides, lists among them.
        here: the cells train on this machine.

    Raises:
        UserError: the study's file cannot be used.
    """
    parsed = OverridesParser.create(config_loader=loader).parse_overrides(arguments)
    (jobs,) = BasicSweeper.split_arguments(parsed, max_batch_size=None)
    asked = _study(master, jobs)
    if asked is not None:
        jobs = asked.jobs(jobs)
    with rehearsal.Stage() as stage:
        plan = make(loader, master, jobs, asked, stage.start)
        rehearse(plan, here, stage)
    return plan


def _study(master: DictConfig, jobs: Iterable[Sequence[str]]) -> studies.Study | None:
    """The file of the study that a command line names, if it has one."""
    named = {item.partition("=")[2] for job in jobs for item in job if studies.key_of(item) == "study"}
    names = sorted(named) or [master.get("study")]
    paths = [path for name in names if (path := studies.find(name, compose.conf_dir())) is not None]
    if paths and len(names) > 1:
        raise UserError(
            f"study={','.join(names)}: {paths[0]} makes a sweep of its own; name one study at a time"
        )
    return studies.read(paths[0]) if paths else None


def slots(master: DictConfig) -> int | None:
    """How many cells will run side by side; None where the launcher does not say."""
    launcher = OmegaConf.to_container(master.hydra.launcher, resolve=True)
    if not isinstance(launcher, dict) or "per_device" not in launcher:
        return None
    return Slots(launcher.get("slots"), launcher["per_device"]).count


def make(
    loader: ConfigLoader,
    master: DictConfig,
    jobs: Sequence[Sequence[str]],
    asked: studies.Study | None = None,
    on_first: Callable[[], None] = lambda: None,
) -> Plan:
    """Compose and check every cell; leave out the excluded, the repeated and the finished.

    Args:
        loader: Hydra's.
        master: the sweep's own configuration.
        jobs: the overrides of each cell, all of them.
        asked: the study whose jobs they are, with its exclusions.
        on_first: called when there is something to train, while the rest is still to be composed.
    """
    plan = Plan(study=asked)
    resolve, look = Resolver(loader, master), _Looker()
    seen: dict[Path, str] = {}
    rules = asked.exclude if asked is not None else []
    used = [False] * len(rules)
    with resolve.ahead(jobs):
        for number, (job, line) in enumerate(zip(jobs, labels(jobs), strict=True)):
            overrides = list(job)
            try:
                found = resolve(overrides, number)
            except UserError as error:
                plan.cells.append(Cell(overrides, line, INVALID, faults=[str(error)]))
                continue
            matching = [
                n for n, rule in enumerate(rules) if studies.matches(rule, found.chosen, found.values)
            ]
            if matching:
                plan.excluded += 1
                used = [hit or n in matching for n, hit in enumerate(used)]
            elif found.faults:
                plan.cells.append(Cell(overrides, line, INVALID, faults=list(found.faults)))
            elif found.folder in seen:
                note = f"trains as {seen[found.folder]} does"
                plan.cells.append(Cell(overrides, line, DUPLICATE, note=note))
            else:
                seen[found.folder] = line
                plan.cells.append(look(overrides, line, found))
                if plan.cells[-1].train:
                    on_first()
    for rule, hit in zip(rules, used, strict=True):
        if not hit and asked is not None:
            words = ", ".join(f"{key}: {studies.written(values)}" for key, values in rule.items())
            plan.warnings.append(f"{asked.path}: exclude {{{words}}} matches no cell")
    plan.notes += look.notes()
    plan.warnings += look.warnings
    return plan


class _Looker:
    """Looks at the folders of cells: their states, and whether what made a finished one has changed."""

    def __init__(self) -> None:
        self._data, self._code = changes.Data(), Counter[str]()
        self._now: dict[str, Any] | None = None
        self.warnings: list[str] = []

    def __call__(self, overrides: list[str], label: str, found: Resolved) -> Cell:
        cell = Cell(overrides, label, state.of(found.folder), found.folder, values=found.values)
        rerun = bool(found.values.get("rerun"))
        cell.train = cell.state != DONE or rerun
        if rerun:
            cell.note = "trained again (rerun=true)" if cell.state == DONE else ""
        elif cell.state == DONE:
            self._compare(cell, state.finished(found.folder) or {})
        elif cell.state in (FAILED, state.INTERRUPTED):
            cell.note = status.why(found.folder)
        return cell

    def _compare(self, cell: Cell, record: dict[str, Any]) -> None:
        changed = self._data.changed(record, cell.values)
        if changed:
            cell.note = f"data changed: {changed}"
            self.warnings.append(
                f"{cell.label} in {cell.folder} is done, but with other data than there is now ({changed}):"
                " it stays as it is; train it again in its place with rerun=true, or in another study"
            )
        if self._now is None:
            self._now = code_state()
        commit = changes.other_code(record, self._now)
        if commit:
            self._code[commit] += 1

    def notes(self) -> list[str]:
        """What holds for many cells, a line each."""
        now = str((self._now or {}).get("commit"))[:8]
        code = [
            f"note: {count} finished by other code (commit {commit}); this is {now}"
            for commit, count in sorted(self._code.items())
        ]
        return [*code, *(f"note: {line}" for line in self._data.unknown)]


def rehearse(plan: Plan, here: bool, stage: rehearsal.Stage | None = None) -> None:
    """Adds what keeps a cell to train from being made to the plan's faults.

    Args:
        plan: its cells that have no other faults are made once.
        here: the cells train on this machine.
        stage: the rehearsal's process, if it has been started.
    """
    groups: dict[tuple[Any, ...], list[Cell]] = {}  # seeds share all but themselves
    for cell in plan.to_train:
        assert cell.folder is not None
        parts = (id(cell.values.get(part)) for part in ("data", "trainer", "logger"))
        groups.setdefault((cell.folder.parent, *parts), []).append(cell)
    if not groups:
        return
    told = rehearsal.faults([cells[0].values for cells in groups.values()], here, stage)
    for fault, cells in zip(told, groups.values(), strict=True):
        for cell in cells if fault else ():
            cell.state, cell.train, cell.faults = INVALID, False, [str(fault)]
