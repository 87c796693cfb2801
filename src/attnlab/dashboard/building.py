"""The workspace and the report of some sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws

from attnlab.dashboard.panels import Section


def filters(study: str | None) -> str:
    """W&B's expression for the runs of a study; of all runs where there is none."""
    return "" if study is None else f"Config('study') = '{study}'"


def title(study: str | None, project: str) -> str:
    """Of the workspace and the report."""
    return f"{study or project}: attention grid"


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


def report(entity: str, project: str, study: str | None, sections: Sequence[Section]) -> wr.Report:
    """A page of the same panels, each section with one sentence and the runs of the study.

    Without an entity no server is asked when the report is turned into what W&B stores.
    """
    blocks: list[Any] = [wr.TableOfContents()]
    for section in sections:
        if section.panels:
            runs = wr.Runset(
                entity=entity,
                project=project if entity else "",
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
        entity=entity,
        project=project,
        title=title(study, project),
        description=words,
        blocks=blocks,
        width="fluid",
    )
