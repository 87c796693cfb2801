"""The workspace and the report of some sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from pydantic import ValidationError

from attnlab.dashboard.panels import Section
from attnlab.errors import UserError


def filters(study: str | None) -> str:
    """W&B's expression for the runs of a study; of all runs where there is none."""
    return "" if study is None else f"Config('study') = '{study}'"


def title(study: str | None, project: str) -> str:
    """Of the workspace and the report."""
    return f"{study or project}: attention grid"


def check_title(study: str | None, project: str) -> None:
    """Whether W&B takes the title.

    Raises:
        UserError: it does not: a name of more than 128 characters, or with symbols.
    """
    name = title(study, project)
    try:
        ws.Workspace(entity="", project=project, name=name, sections=[])
        wr.Report(entity="", project="", title=name)
    except ValidationError as error:
        said = error.errors()[0]["msg"]
        raise UserError(
            f"{name}: W&B takes no such title ({said}); choose another study or project"
        ) from error


def addressed(built: Any, entity: str, project: str) -> Any:
    """A workspace or report that was built without an entity, with the one it is saved under.

    It is the object that was checked; only where it goes, and whose runs it shows, is set.
    """
    built.entity = entity
    for block in getattr(built, "blocks", ()):
        for runs in getattr(block, "runsets", ()):
            runs.entity, runs.project = entity, project
    return built


def workspace(entity: str, project: str, study: str | None, sections: Sequence[Section]) -> ws.Workspace:
    """A saved view of the project: its runs grouped by cell, the sections open."""
    return ws.Workspace(
        entity=entity,
        project=project,
        name=title(study, project),
        sections=[
            ws.Section(name=section.name, panels=section.panels, is_open=True)
            for section in sections
            if section.panels
        ],
        settings=ws.WorkspaceSettings(x_axis="trainer/step", max_runs=100),
        runset_settings=ws.RunsetSettings(filters=filters(study), groupby=[ws.Metric("Group")]),
    )


def report(project: str, study: str | None, sections: Sequence[Section]) -> wr.Report:
    """A page of the same panels, each section with one sentence and the runs of the study.

    It has no entity, and its runs no project, before it is `addressed`: with them a server would be asked
    when it is turned into what W&B stores.
    """
    blocks: list[Any] = [wr.TableOfContents()]
    for section in sections:
        if section.panels:
            runs = wr.Runset(
                entity="",
                project="",
                name="runs",
                filters=filters(study),
                groupby=["group"],
            )
            blocks += [
                wr.H2(section.name),
                wr.P(section.words),
                wr.PanelGrid(runsets=[runs], panels=section.panels),
            ]
    words = "Written by attnlab dashboard. Numbers for a paper come from attnlab report."
    return wr.Report(
        entity="",
        project=project,
        title=title(study, project),
        description=words,
        blocks=blocks,
        width="fluid",
    )
