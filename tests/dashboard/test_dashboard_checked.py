"""Every panel stands on a logged key; a panel that names another is refused."""

import pytest
import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws

from attnlab.dashboard import building, checked, logged, panels


@pytest.fixture(scope="module")
def found(pair):
    return logged.of_folders([pair], "grid")


@pytest.fixture(scope="module")
def sections(found):
    return panels.sections(found)


def test_no_panel_of_the_workspace_or_the_report_names_what_no_run_logs(found, sections):
    for built in (
        building.workspace("team", "attnlab", "grid", sections),
        building.report("attnlab", "grid", sections),
    ):
        assert checked.faults(built, found) == []
        shown = list(checked.panels(checked.model(built)))
        assert len(shown) == sum(len(section.panels) for section in sections) == 17


def test_the_sections_are_those_of_the_grid(sections):
    kinds = {section.name: [type(panel).__name__ for panel in section.panels] for section in sections}
    assert kinds == {
        "BLEU by source length": ["LinePlot"] * 2,  # all cells; by scorer, the one axis that differs
        "Scores by axis": ["BarPlot"] * 2,
        "Across the axes": ["ParallelCoordinatesPlot"],
        "Alignment error rate": ["BarPlot"] * 4,
        "Attention": ["MediaBrowser"],
        "Samples": ["WeavePanelSummaryTable"] * 2,
        "Length buckets": ["WeavePanelSummaryTable"],
        "Training": ["LinePlot"] * 4,
    }


def test_length_curves_overlay_all_cells_and_group_the_seeds(sections):
    stored = sections[0].panels[0]._to_model().config
    assert (stored.x_axis, stored.metrics) == ("length/source", ["length/test/bleu"])
    assert (stored.group_by, stored.group_agg, stored.group_area) == ("group", "mean", "minmax")
    assert stored.limit == 200


def test_both_show_the_runs_of_the_study_grouped_by_cell(found, sections):
    for built in (
        building.workspace("team", "attnlab", "grid", sections),
        building.report("attnlab", "grid", sections),
    ):
        sets = list(checked._run_sets(checked.model(built)))
        assert sets
        for runs in sets:
            ((only,), (group,)) = runs["filters"]["filters"], runs["grouping"]
            assert (only["key"]["name"], only["op"], only["value"]) == ("study", "=", "grid")
            assert (group["section"], group["name"]) == ("run", "group")


COLUMN = wr.ParallelCoordinatesPlotColumn


@pytest.mark.parametrize(
    ("panel", "fault"),
    [
        (
            wr.LinePlot(title="t", x="trainer/step", y=["val/blue"]),
            "t: no run logs val/blue as a number over the run",
        ),
        (
            wr.LinePlot(title="t", x="trainer/step", y=["length/test/bleu"]),
            "t: no run logs length/test/bleu in a row with trainer/step",
        ),
        (
            wr.LinePlot(title="t", x="trainer/step", y=["val/bleu"], groupby=wr.Config("scoring")),
            "t: no run logs scoring as a setting",
        ),
        (wr.LinePlot(title="t", y=["val/bleu"], groupby="Grouped"), "t: no run logs Grouped as a setting"),
        (
            wr.BarPlot(title="t", metrics=["test/test/blue"]),
            "t: no run logs test/test/blue as a final number",
        ),
        (
            wr.BarPlot(title="t", metrics=["test/test/bleu"], groupby=wr.Config("scoring")),
            "t: no run logs scoring as a setting",
        ),
        (
            wr.ParallelCoordinatesPlot(title="t", columns=[COLUMN(metric=wr.Config("scoring"))]),
            "t: no run logs scoring as a setting",
        ),
        (
            wr.ParallelCoordinatesPlot(title="t", columns=[COLUMN(metric=wr.SummaryMetric("test/aer"))]),
            "t: no run logs test/aer as a final number",
        ),
        (
            wr.MediaBrowser(title="t", media_keys=["attention/test/9"]),
            "t: no run logs attention/test/9 as a picture",
        ),
        (wr.WeavePanelSummaryTable(table_name="samples/val"), "Weave: no run logs samples/val as a table"),
        (
            wr.WeavePanelSummaryTable(table_name="attention/test/0"),  # it is there, but no table
            "Weave: no run logs attention/test/0 as a table",
        ),
        (
            wr.ScalarChart(title="t", metric="val/bleu"),
            "t: a Scalar Chart is a panel that this check cannot read",
        ),
    ],
)
def test_a_planted_wrong_panel_is_refused(found, panel, fault):
    section = panels.Section("planted", "", [panel])
    built = building.workspace("team", "attnlab", "grid", [section])
    assert checked.faults(built, found) == [fault]
    assert checked.faults(building.report("attnlab", "grid", [section]), found) == [fault]


def test_a_filter_on_what_no_run_has_is_refused(found):
    built = ws.Workspace(
        entity="team",
        project="attnlab",
        name="planted",
        runset_settings=ws.RunsetSettings(
            filters="Config('studie') = 'grid'", groupby=[ws.Config("cell"), ws.Metric("Grouped")]
        ),
    )
    assert checked.faults(built, found) == [
        "runs: no run logs studie as a setting",
        "runs: no run logs cell as a setting",
        "runs: a run has no Grouped",
    ]


def test_a_common_x_axis_that_no_run_logs_is_refused(found):
    settings = ws.WorkspaceSettings(x_axis="trainer/stepp")
    built = ws.Workspace(entity="team", project="attnlab", name="planted", settings=settings)
    assert checked.faults(built, found) == [
        "x axis of all charts: no run logs trainer/stepp as a number over the run"
    ]


def test_the_words_of_a_section_tell_bars_of_seeds_from_bars_of_pooled_runs(sections):
    words = {section.name: section.words for section in sections}
    for name in ("Scores by axis", "Alignment error rate"):
        assert "seeds" in words[name] and "all runs of an option" in words[name]


def test_what_no_run_has_is_left_out_and_not_named(found):
    import copy

    bare = copy.deepcopy(found)
    bare.summary = {key for key in bare.summary if "alignment" not in key}
    bare.settings["data/show_samples"] = {"False"}
    bare.images, bare.tables = set(), {key for key in bare.tables if key.startswith("length/")}
    sections = panels.sections(bare)
    assert [s.name for s in sections if not s.panels] == ["Alignment error rate", "Attention", "Samples"]
    assert checked.faults(building.workspace("team", "attnlab", None, sections), bare) == []
