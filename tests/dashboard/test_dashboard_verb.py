"""`attnlab dashboard` as its users meet it."""

import sys
from typing import Any

import pytest
import wandb_workspaces.reports.v2 as wr

from attnlab.dashboard import __main__ as verb
from attnlab.dashboard import building, panels

from ..loggers.conftest import keyless


@pytest.fixture
def dashboard(pair, monkeypatch, capsys, tmp_path):
    """From arguments to exit status, standard output and standard error, without a key."""
    keyless(monkeypatch, tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attnlab dashboard", *arguments, "--runs", str(pair)])
        status = verb.main()
        return status, *capsys.readouterr()

    return run


def test_a_dry_run_shows_what_would_be_built(dashboard):
    status, out, err = dashboard("team/attnlab", "--study", "grid", "--dry-run")
    assert (status, err) == (0, "")
    title, *lines = out.splitlines()
    assert title == "grid: attention grid: checked against 2 runs"
    assert "    test: BLEU by source length, all cells  (LinePlot)" in lines
    assert "    samples/validation  (WeavePanelSummaryTable)" in lines


def test_a_wrong_panel_stops_it_with_one_line(dashboard, monkeypatch):
    wrong = panels.Section("Training", "", [wr.LinePlot(title="curve", x="trainer/step", y=["val/blue"])])
    monkeypatch.setattr(panels, "_training", lambda logged: wrong)
    status, out, err = dashboard("team/attnlab", "--dry-run")
    assert (status, out) == (2, "")
    assert err.startswith("attnlab: curve: no run logs val/blue as a number over the run; ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["team/attnlab"], "W&B: no key found to save a workspace with: wandb login"),
        (["a/b/c", "--dry-run"], "a/b/c: give W&B's project as ENTITY/PROJECT"),
        (["/b", "--dry-run"], "/b: give W&B's project"),
        (["team/attnlab", "--study", "it's", "--dry-run"], "a study's name has no quotes"),
        (["team/attnlab", "--study", "none", "--dry-run"], "--study none: no run of it among 2"),
    ],
)
def test_bad_input_is_one_line_and_status_2(dashboard, arguments, words):
    status, out, err = dashboard(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("attnlab: ") and words in err and err.count("\n") == 1


def test_without_the_extra_the_line_says_what_to_install(dashboard, monkeypatch):
    monkeypatch.setattr(verb, "find_spec", lambda name: None)
    assert "pip install 'attnlab[dashboard]'" in dashboard("attnlab", "--dry-run")[2]


class Saved:
    """Stands in for a workspace or a report that the server has taken, or not."""

    def __init__(self, url: str, error: Exception | None = None):
        self.url, self.error = url, error

    def save(self) -> "Saved":
        if self.error is not None:
            raise self.error
        return self


def test_with_a_key_both_are_saved_and_their_addresses_printed(dashboard, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    given: list[Any] = []
    workspace = building.workspace

    def made(*arguments):
        given.append(arguments[:3])
        return workspace(*arguments) if len(given) == 1 else Saved("a/workspace")

    report = building.report
    monkeypatch.setattr(building, "workspace", made)
    monkeypatch.setattr(
        building, "report", lambda entity, *rest: Saved("a/report") if entity else report(entity, *rest)
    )
    status, out, err = dashboard("team/attnlab", "--study", "grid")
    assert (status, out, err) == (0, "workspace: a/workspace\nreport: a/report\n", "")
    assert given == [("team", "attnlab", "grid")] * 2


def test_what_the_server_refuses_is_one_line(dashboard, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    workspace, made = building.workspace, []

    def refused(*arguments):
        made.append(arguments)
        return workspace(*arguments) if len(made) == 1 else Saved("", ValueError("no such entity\nand more"))

    monkeypatch.setattr(building, "workspace", refused)
    status, out, err = dashboard("team/attnlab")
    assert (status, out) == (2, "")
    assert err == (
        "attnlab: W&B: team/attnlab: no such entity; check the entity, the project and the key, or look at it "
        "with --dry-run\n"
    )


@pytest.mark.slow
def test_every_panel_stands_on_what_two_trained_cells_have_logged(real_command, monkeypatch, tmp_path):
    keyless(monkeypatch, tmp_path)
    for name in ("NETRC", "WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "XDG_DATA_HOME"):
        real_command.environment[name] = str(tmp_path / name)
    trained = real_command(
        *("train", "-m", "scorer=dot,general", "study=tiny", "logger=wandb", "logger.wandb.mode=offline"),
        *(
            "trainer.max_epochs=1",
            "trainer.accelerator=cpu",
            "encoder.hidden_size=8",
            "decoder.hidden_size=8",
        ),
        *("model.embedding_size=8", "data.train_pairs=60", "data.val_pairs=4", "data.test_pairs=6"),
        *("data.max_words=8", "data.cache_dir=cache", "hydra.launcher.slots=1"),
    )
    assert trained.returncode == 0, trained.stderr
    done = real_command("dashboard", "team/attnlab", "--study", "tiny", "--dry-run")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "tiny: attention grid: checked against 2 runs"
    assert sum(line.startswith("    ") for line in lines) == 17
    assert not any("left out" in line for line in lines)
