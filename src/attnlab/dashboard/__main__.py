"""`attnlab dashboard ENTITY/PROJECT`: a W&B workspace and report with the grid's panels."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attnlab.ending import Parser, told
from attnlab.errors import UserError

_WORDS = """\
Builds a W&B workspace and report of a project or of a study in it: length curves of all cells in one chart,
scores by axis with the seeds of a cell as one bar, parallel coordinates over the axes, AER, attention
pictures, samples. Reads the W&B files of finished runs in --runs: which test sets and axes there are, and the
keys that every panel is checked against. Writes to W&B alone. The package: pip install 'attnlab[dashboard]'.

  attnlab dashboard my-team/attnlab --study grid --runs outputs/grid --dry-run    shows and checks; no key
  attnlab dashboard my-team/attnlab --study grid --runs outputs/grid              saves both
"""


def _arguments() -> argparse.Namespace:
    parser = Parser(
        "attnlab dashboard",
        description=_WORDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("project", metavar="ENTITY/PROJECT", help="W&B's; ENTITY/ may be left out")
    parser.add_argument("--study", help="the runs of this study alone")
    parser.add_argument(
        "--runs", metavar="FOLDER", nargs="+", type=Path, default=[Path("outputs")], help="default: outputs"
    )
    parser.add_argument("--dry-run", action="store_true", help="show and check what would be saved")
    return parser.parse_args()


def _main() -> int:
    given = _arguments()
    entity, slash, project = given.project.rpartition("/")
    if not project or (slash and not entity) or "/" in entity:
        raise UserError(f"{given.project}: give W&B's project as ENTITY/PROJECT or PROJECT")
    if given.study and "'" in given.study:
        raise UserError(f"--study {given.study}: a study's name has no quotes")
    for package in ("wandb_workspaces", "wandb"):
        if find_spec(package) is None:
            name = package.replace("_", "-")
            raise UserError(f"the package {name} is missing: pip install 'attnlab[dashboard]'")
    if not given.dry_run:
        _needs_key()

    from attnlab.dashboard import building, checked, logged, panels

    building.check_title(given.study, project)
    found = logged.of_folders(given.runs, given.study)
    if not panels.sets(found):
        named = ", ".join(map(str, given.runs))
        raise UserError(f"{named}: no run has logged the score of a test set; wait until one has finished")
    sections = panels.sections(found)
    made = building.workspace(entity, project, given.study, sections)
    page = building.report(project, given.study, sections)
    faults = list(dict.fromkeys([*checked.faults(made, found), *checked.faults(page, found)]))
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        fix = "a run of another version may lack keys of docs/wandb.md: leave it out of --runs"
        raise UserError(f"{faults[0]}{more}; {fix}")
    if given.dry_run:
        print(f"{building.title(given.study, project)}: checked against {found.runs} runs")
        for section in sections:
            print(f"  {section.name}" + ("" if section.panels else ": left out, no run has any"))
            for panel in section.panels:
                print(f"    {_named(panel)}")
        return 0
    _save(made, page, entity, project)
    return 0


def _named(panel: Any) -> str:
    """A panel in one line."""
    return f"{getattr(panel, 'title', None) or panel.table_name}  ({type(panel).__name__})"


def _needs_key() -> None:
    from attnlab.loggers.weights_and_biases import has_key

    if not has_key():
        remedy = "wandb login, or set WANDB_API_KEY; --dry-run needs none"
        raise UserError(f"W&B: no key found to save a workspace with: {remedy}")


def _save(workspace: Any, report: Any, entity: str, project: str) -> None:
    """Saves both, as they were checked, and prints where each is as soon as it is there.

    Raises:
        UserError: W&B refuses one, or cannot be reached.
    """
    import wandb

    from attnlab.dashboard.building import addressed

    wandb.setup(wandb.Settings(silent=True))
    entity = entity or _told_by_wandb(f"?/{project}", lambda: str(wandb.Api().default_entity))
    for kind, built in (("workspace", workspace), ("report", report)):
        ready = addressed(built, entity, project)
        saved = _told_by_wandb(f"{entity}/{project}: the {kind} is not saved", ready.save)
        print(f"{kind}: {saved.url}", flush=True)


def _told_by_wandb(what: str, asked: Callable[[], Any]) -> Any:
    """The answer of W&B's library, whose errors are of many kinds.

    Raises:
        UserError: it raises anything.
    """
    try:
        return asked()
    except Exception as error:
        words = (str(error) or type(error).__name__).strip().splitlines()[0]
        remedy = "check the entity, the project and the key, or look at it with --dry-run"
        raise UserError(f"W&B: {what}: {words}; {remedy}") from error


def main() -> int:
    """Saves or shows the dashboard; 0, or 2 with one line on stderr."""
    return told(_main)


if __name__ == "__main__":
    sys.exit(main())
