"""The grid's panels, in sections: what a group watches while a sweep runs, and reads when it has ended.

Which test sets, axes and attention pictures there are is taken from what the runs have logged; what a panel
is of is written here, so that `checked.py` finds a key that was renamed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import wandb_workspaces.reports.v2 as wr

from attnlab.dashboard.logged import Logged
from attnlab.sweep.identity import AXES

GROUP = "Group"  # W&B's name of a run's group, which is its cell: the seeds and nothing else
MOST = 200  # runs in one chart; W&B's own default is 10


class Section(NamedTuple):
    """Panels under one heading.

    Attributes:
        name: the heading.
        words: one sentence for the report.
        panels: of `wandb_workspaces`.
    """

    name: str
    words: str
    panels: list[Any]


def sets(logged: Logged) -> list[str]:
    """The test sets with a score."""
    found = {key[len("test/") : -len("/bleu")] for key in logged.summary if _is_score(key)}
    return sorted(found)


def _is_score(key: str) -> bool:
    return key.startswith("test/") and key.endswith("/bleu") and key.count("/") == 2


def axes(logged: Logged) -> list[str]:
    """The axes on which the runs differ; all where they differ on none."""
    return [axis for axis in AXES if len(logged.values(axis)) > 1] or list(AXES)


def _pooled(**options: Any) -> dict[str, Any]:
    """Mean and range over the runs of a group."""
    return {"groupby_aggfunc": "mean", "groupby_rangefunc": "minmax", "max_runs_to_show": MOST, **options}


def _lines(title: str, y: str, by: Any = GROUP, x: str = "trainer/step", **options: Any) -> Any:
    return wr.LinePlot(title=title, x=x, y=[y], **_pooled(groupby=by), **options)


def _bars(title: str, metric: str, by: Any) -> Any:
    return wr.BarPlot(title=title, metrics=[metric], **_pooled(groupby=by))


def _by_length(logged: Logged) -> Section:
    panels = []
    for name in sets(logged):
        key, axis_of = f"length/{name}/bleu", {"x": "length/source", "title_x": "source words"}
        panels.append(_lines(f"{name}: BLEU by source length, all cells", key, **axis_of, title_y="BLEU"))
        for axis in axes(logged):
            title = f"{name}: BLEU by source length, by {axis}"
            panels.append(_lines(title, key, wr.Config(axis), **axis_of, title_y="BLEU"))
    words = "One curve a cell, or an option of an axis: the mean over its runs, with their range."
    return Section("BLEU by source length", words, panels)


def _scores(logged: Logged) -> Section:
    panels = []
    for name in sets(logged):
        panels.append(_bars(f"{name}: BLEU by cell", f"test/{name}/bleu", GROUP))
        for axis in axes(logged):
            panels.append(_bars(f"{name}: BLEU by {axis}", f"test/{name}/bleu", wr.Config(axis)))
    words = (
        "By cell, the seeds of a cell are one bar, their mean and range. By an axis, all runs of an option "
        "are one bar, whatever their other options: a difference there is one factor's only where the grid "
        "is full."
    )
    return Section("Scores by axis", words, panels)


def _across(logged: Logged) -> Section:
    panels = []
    for name in sets(logged):
        columns = [wr.ParallelCoordinatesPlotColumn(metric=wr.Config(axis)) for axis in axes(logged)]
        columns += [
            wr.ParallelCoordinatesPlotColumn(metric=wr.SummaryMetric(f"test/{name}/{score}"), inverted=down)
            for score, down in (("perplexity", True), ("bleu", False))
        ]
        panels.append(wr.ParallelCoordinatesPlot(title=f"{name}: axes and scores", columns=columns))
    words = "One line a run, through its options to its scores; perplexity is drawn upside down."
    return Section("Across the axes", words, panels)


def _alignment(logged: Logged) -> Section:
    panels = []
    for name in sets(logged):
        family = f"test/{name}/alignment/"
        if any(key.startswith(family) for key in logged.summary):
            for credit in ("predicted", "input"):
                key = f"{family}{credit}/aer"
                for by, words in ((GROUP, "cell"), *((wr.Config(axis), axis) for axis in axes(logged))):
                    panels.append(_bars(f"{name}: AER ({credit}) by {words}", key, by))
    words = (
        "Weights against gold links, under both credits; lower is better. By cell the mean over its seeds, "
        "by an axis over all runs of an option."
    )
    return Section("Alignment error rate", words, panels)


def _attention(logged: Logged) -> Section:
    keys = sorted(key for key in logged.images if key.startswith("attention/"))
    panels = [
        wr.MediaBrowser(title=f"{name}: attention", media_keys=own, num_columns=2)
        for name in sets(logged)
        if (own := [key for key in keys if key.startswith(f"attention/{name}/")])
    ]
    return Section("Attention", "The same sentences for every run: source across, hypothesis down.", panels)


def _samples(logged: Logged) -> Section:
    panels = []
    if "True" in logged.values("data/show_samples"):  # otherwise no text is logged
        if set(logged.values("logger/wandb/samples")) - {"0"}:
            panels.append(wr.WeavePanelSummaryTable(table_name="samples/validation"))
        if "False" not in logged.values("logger/wandb/translations"):
            panels += [wr.WeavePanelSummaryTable(table_name=f"translations/{name}") for name in sets(logged)]
    return Section(
        "Samples", "Translations of the validation as training went, and of the test sets.", panels
    )


def _tables(logged: Logged) -> Section:
    panels = [wr.WeavePanelSummaryTable(table_name=f"length/{name}/by_source") for name in sets(logged)]
    return Section("Length buckets", "Sentences, BLEU and its interval in each bucket.", panels)


def _training(logged: Logged) -> Section:
    panels = [
        _lines("train/loss", "train/loss", title_y="nats a token"),
        _lines("val/loss", "val/loss", title_y="nats a token"),
        _lines("val/bleu", "val/bleu", title_y="BLEU"),
        _lines("tokens a second", "train/tokens_per_s"),
    ]
    return Section("Training", "Against finished updates, one curve a cell.", panels)


def sections(logged: Logged) -> list[Section]:
    """All sections, without panels where the runs have nothing of the kind (no gold links, no text shown)."""
    parts = (_by_length, _scores, _across, _alignment, _attention, _samples, _tables, _training)
    return [part(logged) for part in parts]
