"""`attnlab dashboard` as its users meet it."""

import sys
from types import SimpleNamespace

import pytest
import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws

from attnlab.dashboard import __main__ as verb
from attnlab.dashboard import building, checked, panels

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
    for missing in ("wandb_workspaces", "wandb"):
        monkeypatch.setattr(
            verb, "find_spec", lambda name, missing=missing: None if name == missing else name
        )
        err = dashboard("attnlab", "--dry-run")[2]
        assert f"{missing.replace('_', '-')} is missing: pip install 'attnlab[dashboard]'" in err


@pytest.fixture
def server(monkeypatch):
    """Takes what is saved, and keeps the objects; `refused` names the kinds that it does not take."""
    kept = SimpleNamespace(saved={}, refused={})

    def take(kind):
        def save(built):
            if kind in kept.refused:
                raise kept.refused[kind]
            kept.saved[kind] = built
            return SimpleNamespace(url=f"a/{kind}")

        return save

    monkeypatch.setattr(ws.Workspace, "save", take("workspace"))
    monkeypatch.setattr(wr.Report, "save", take("report"))
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    return kept


def test_with_a_key_both_are_saved_and_their_addresses_printed(dashboard, server):
    status, out, err = dashboard("team/attnlab", "--study", "grid")
    assert (status, out, err) == (0, "workspace: a/workspace\nreport: a/report\n", "")
    for built in server.saved.values():
        assert (built.entity, built.project) == ("team", "attnlab")
    runs = [runs for block in server.saved["report"].blocks for runs in getattr(block, "runsets", ())]
    assert runs and {(one.entity, one.project) for one in runs} == {("team", "attnlab")}


def test_what_is_saved_is_what_was_checked(dashboard, server, monkeypatch):
    looked = []
    faults = checked.faults
    monkeypatch.setattr(checked, "faults", lambda built, found: looked.append(built) or faults(built, found))
    assert dashboard("team/attnlab", "--study", "grid")[0] == 0
    assert looked[0] is server.saved["workspace"] and looked[1] is server.saved["report"]


def test_what_the_server_refuses_is_one_line(dashboard, server):
    server.refused["workspace"] = ValueError("no such entity\nand more")
    status, out, err = dashboard("team/attnlab")
    assert (status, out) == (2, "")
    assert err == (
        "attnlab: W&B: team/attnlab: the workspace is not saved: no such entity; check the entity, the project "
        "and the key, or look at it with --dry-run\n"
    )


def test_a_workspace_that_is_saved_is_told_where_the_report_fails(dashboard, server):
    server.refused["report"] = OSError("gone")
    status, out, err = dashboard("team/attnlab")
    assert (status, out) == (2, "workspace: a/workspace\n")
    assert "team/attnlab: the report is not saved: gone" in err and err.count("\n") == 1


def test_a_fault_of_ours_is_no_fault_of_the_servers(dashboard, server, monkeypatch):
    def broken(*arguments):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(building, "addressed", broken)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        dashboard("team/attnlab")


@pytest.mark.parametrize("project", ["team/a<x>", "team/" + "a" * 200])
def test_a_title_that_wandb_does_not_take_is_one_line(dashboard, project):
    status, out, err = dashboard(project, "--dry-run")
    assert (status, out) == (2, "")
    assert "W&B takes no such title" in err and err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["team/attnlab", "--bogus"]])
def test_wrong_arguments_are_one_line(dashboard, capsys, arguments):
    with pytest.raises(SystemExit) as end:
        dashboard(*arguments)
    err = capsys.readouterr().err
    assert end.value.code == 2 and err.startswith("attnlab: ") and err.count("\n") == 1


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
