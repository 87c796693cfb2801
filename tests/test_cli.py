"""The command as its users meet it: help, refusals, single runs, and the same from Python."""

import gc
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import attnlab
from attnlab.errors import UserError

VERBS = ["train", "plan", "status", "evaluate", "report", "translate"]


def test_help_imports_nothing_slow() -> None:
    code = (
        "import sys, attnlab.cli; sys.exit(any(name in sys.modules for name in ('hydra', 'torch', 'yaml')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("flag", ["--help", "-h", ""])
def test_help_lists_the_verbs_and_an_example(command: Any, flag: str) -> None:
    done = command(*([flag] if flag else []))
    assert done.returncode == 0
    for verb in VERBS:
        assert f"\n  {verb} " in done.stdout
    assert "attnlab train -m scorer=" in done.stdout


def test_version(command: Any) -> None:
    assert command("--version").stdout == f"attnlab {attnlab.__version__}\n"


def test_an_unknown_verb_gets_one_line_with_the_list(command: Any) -> None:
    done = command("trian")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert all(verb in done.stderr for verb in VERBS)


def test_every_verb_is_a_module_that_can_be_run() -> None:
    from attnlab.cli import VERBS as listed

    for module, _ in listed.values():
        found = importlib.util.find_spec(module)
        assert found is not None, module
        if found.submodule_search_locations is not None:
            assert importlib.util.find_spec(f"{module}.__main__") is not None, module


def test_train_is_hydra_as_its_users_know_it(command: Any) -> None:
    shown = command("train", "--cfg", "job", "scorer=general", "seed=3")
    assert shown.returncode == 0, shown.stderr
    config = yaml.safe_load(shown.stdout)
    assert config["seed"] == 3
    assert config["scorer"]["_target_"] == "attnlab.attention.General"
    helped = command("train", "--help").stdout
    assert helped.startswith("attnlab train ")
    assert "scorer: additive, concat, dot" in helped
    assert "attnlab train -m" in helped
    assert "Config search path" in command("train", "--info", "searchpath").stdout
    assert command.folders() == []


def test_the_module_is_the_same_command(command: Any) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "attnlab.train", "--cfg", "job", "-p", "scorer"],
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        text=True,
    )
    assert "_target_: attnlab.attention.Additive" in shown.stdout


def test_completion_offers_verbs_and_options(command: Any) -> None:
    script = command("-sc", "install=bash")
    assert script.returncode == 0
    assert script.stdout.rstrip().endswith("hydra_bash_completion attnlab")

    def offered(line: str) -> list[str]:
        done = command("-sc", "query=bash", COMP_LINE=line, COMP_POINT=str(len(line)))
        return done.stdout.split()

    assert offered("attnlab tr") == ["train", "translate"]
    assert {"scorer=dot", "scorer=general"} <= set(offered("attnlab train scorer="))
    assert offered("attnlab train seed=2 window.half") == ["window.half_width="]
    assert set(offered("attnlab train --config-d")) == {"--config-dir"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["scorer=dott"], ["scorer=dott", "scaled_dot", "general"]),
        (["scorer.unitz=3"], ["scorer has no unitz, but", "units; did you mean units?"]),
        (["sede=3"], ["did you mean seed?"]),
        (
            ["-m", "scorer=additive", "scorer.unitz=3,4"],
            ["scorer has no unitz, but", "[scorer.unitz=4]"],
        ),
        (["-m", "scorer=dott,general"], ["scorer=dott", "scaled_dot"]),
    ],
)
def test_misspelt_names_are_answered_with_the_choices(
    command: Any, arguments: list[str], words: list[str]
) -> None:
    done = command("train", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("attnlab: ")
    assert done.stderr.count("\n") == (1 if arguments[0] != "-m" else done.stderr.count("attnlab: "))
    for word in words:
        assert word in done.stderr
    assert command.folders() == []


def test_files_of_the_working_directory_do_not_stand_in_for_ours_but_can_be_named(command: Any) -> None:
    for name in ("attnlab", "tokenizers", "omegaconf"):
        (command.folder / f"{name}.py").write_text("raise SystemExit('the wrong file')\n")
    (command.folder / "my_own.py").write_text("from attnlab.attention import General as Mine\n")
    # The monitor is looked at after the model is made. -P: the console script does not look here either.
    overrides = ["scorer=general", "scorer._target_=my_own.Mine", "callbacks.monitor=val/blue"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "attnlab.cli", "train", *overrides],
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        text=True,
    )
    assert done.stderr.startswith("attnlab: monitor=val/blue: "), done.stderr


def test_a_folder_that_cannot_be_made_is_one_line(command: Any) -> None:
    done = command("train", "out=/dev/null/runs")
    assert done.returncode == 2
    assert done.stderr.startswith("attnlab: /dev/null/runs") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["scorer=dot", "encoder.hidden_size=512", "decoder.hidden_size=256"], "are 256 and 512"),
        (["encoder.hidden_size=511"], "multiple of 2"),
        (["encoder.hidden_size=many"], "encoder.hidden_size=many"),
        (["encoder.layers=2", "decoder.layers=1"], "decoder.layers == encoder.layers"),
        (["model.dropout=1"], "model.dropout=1"),
        (["window=local_m", "window.half_width=0"], "window.half_width=0"),
        (["scorer=location", "scorer.max_length=0"], "scorer.max_length=0"),
        (["model/readout=maxout", "decoder=post_combine"], "model/readout=maxout needs"),
        (["model/readout=plain", "decoder=post_combine_feeding"], "model/readout=plain needs"),
        (["model.tie_embeddings=true", "model.embedding_size=100"], "100"),
        (["search=greedy", "search.n_best=2"], "at most search.beam_size, but they are 2 and 1"),
        (["trainer.max_epochs=few"], "trainer.max_epochs=few"),
        (["seed=x"], "seed=x: must be a whole number"),
        (["encoder.cell=rnn"], "encoder.cell and decoder.cell take lstm, gru"),
        (["metrics.length_edges=[20,10]"], "the edges must be rising"),
        (["data.min_words=9", "data.max_words=3"], "min_words <= max_words"),
        (["callbacks.monitor=val/blue"], "val/bleu, val/loss"),
        (["study=../x"], "study='../x': must be one name of letters"),
        (["study=/x"], "to write elsewhere give out=DIR"),
        (["study="], "study='': must be one name"),
        (
            ["logger=wandb", "logger.wandb.mode=onlin"],
            "logger.wandb.mode=onlin: must be one of online, offline",
        ),
        (["logger=wandb", "logger.wandb.project=a/b"], "logger.wandb.project=a/b: must"),
        (["encoder=null"], "no option of encoder; choose bigru, bilstm"),
        (["encoder.hidden_size"], "missing EQUAL"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line_before_a_folder_is_made(
    command: Any, overrides: list[str], words: str
) -> None:
    done = command("train", *overrides)
    assert done.returncode == 2
    assert done.stderr.startswith("attnlab: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert command.folders() == []


def test_a_run_has_its_folder_and_hands_over_plain_containers(command: Any) -> None:
    done = command("train", "scorer=general", "seed=4", "study=first")
    assert done.returncode == 0, done.stderr
    ((name, record),) = command.records().items()
    assert name == f"{record['cell_id']}/seed4"
    assert record["cell_id"].startswith("general-post_combine-global-bilstm-")
    assert (command.folder / "outputs" / "first" / name / "result.json").exists()
    assert record["cell"] == {
        "encoder": "bilstm",
        "scorer": "general",
        "decoder": "post_combine",
        "window": "global",
    }
    assert record["overrides"] == ["scorer=general", "seed=4", "study=first"]
    assert record["command"] == "attnlab train scorer=general seed=4 study=first"
    assert record["config"]["seed_init"] == 4
    assert "hydra" not in record["config"]


def test_a_finished_run_is_trained_again_only_when_asked(command: Any) -> None:
    assert command("train").returncode == 0
    again = command("train")
    assert again.returncode == 2
    assert "rerun=true" in again.stderr
    assert again.stderr.count("\n") == 1
    (first,) = command.records().values()
    assert command("train", "rerun=true").returncode == 0
    (second,) = command.records().values()
    assert first["pid"] != second["pid"]


def test_a_fault_of_the_user_in_the_run_is_one_line(command: Any) -> None:
    done = command("train", "seed=23")
    assert done.returncode == 2
    assert done.stderr == "attnlab: a fault of the user: mend it\n"


def test_a_fault_of_the_user_in_a_true_run_is_told_once_and_logged(real_command: Any) -> None:
    small = ["data.train_pairs=60", "data.val_pairs=4", "data.test_pairs=4", "data.cache_dir=cache"]
    options = [*small, "encoder.hidden_size=8", "decoder.hidden_size=8", "trainer.val_check_interval=500"]
    words = "trainer.val_check_interval=500: an epoch has fewer batches"
    done = real_command("train", *options)
    assert done.returncode == 2
    assert (done.stdout + done.stderr).count(words) == 1
    assert done.stderr.startswith(f"attnlab: {words}")
    (log,) = real_command.folder.glob("outputs/*/*/*/train.log")
    assert log.read_text().count(words) == 1
    assert real_command("train", "-m", *options, "study=swept").returncode == 1
    (log,) = real_command.folder.glob("outputs/swept/*/*/train.log")
    assert log.read_text().count(words) == 1


def test_one_cell_is_not_trained_twice_at_once(command: Any) -> None:
    first = command.start("train", "seed=30")
    try:
        while not (command.notes / "started-30").exists():
            assert first.poll() is None
        second = command("train", "seed=30")
        assert second.returncode == 2
        assert f"is being trained by process {(command.notes / 'started-30').read_text()}" in second.stderr
        assert second.stderr.count("\n") == 1
    finally:
        (command.notes / "release").touch()
        first.communicate(timeout=60)
    assert first.returncode == 0


def test_options_of_the_users_own_come_from_config_dir(command: Any) -> None:
    own = command.folder / "mine" / "scorer"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("_target_: attnlab.attention.General\n_partial_: true\n")
    done = command("train", "--config-dir", "mine", "scorer=mine")
    assert done.returncode == 0, done.stderr
    (record,) = command.records().values()
    assert record["cell"]["scorer"] == "mine"
    assert f"--config-dir {own.parent}" in record["command"]
    misspelt = command("train", "--config-dir", "mine", "scorer=mine", "scorer.x=1")
    assert "scorer has no x, and takes no options" in misspelt.stderr


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Trainings in this process, replaced; what they were given."""
    import types

    given: list[Any] = []

    def run_cell(config: dict[str, Any], folder: Path) -> dict[str, Any]:
        given.append((config, folder))
        return {"seed": config["seed"]}

    module = types.ModuleType("attnlab.run")
    module.run_cell = run_cell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "attnlab.run", module)
    monkeypatch.chdir(tmp_path)
    return given


def test_train_is_a_function_in_python_too(stand_in: list[Any], tmp_path: Path) -> None:
    from hydra import version
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.hydra_config import HydraConfig

    before = version.getbase()
    assert attnlab.train(["scorer=dot", "seed=6"]) == {"seed": 6}
    importlib.import_module("attnlab.train")  # which sets the package's attribute to the module
    assert attnlab.train(["scorer=dot", "seed=7"]) == {"seed": 7}
    (config, folder), _ = stand_in
    assert config["overrides"] == ["scorer=dot", "seed=6"]
    assert config["command"] == "attnlab train scorer=dot seed=6"
    assert folder.parts[:2] == ("outputs", "runs")
    assert not GlobalHydra.instance().is_initialized()
    assert not HydraConfig.initialized()
    assert version.getbase() is before


def test_the_collector_sleeps_through_the_imports_and_wakes_for_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module: Any = importlib.import_module("attnlab.train")
    run = importlib.import_module("attnlab.run")
    awake: list[bool] = []

    def main() -> None:
        awake.append(gc.isenabled())
        module._run(None, tmp_path)

    monkeypatch.setattr(module, "main", main)
    monkeypatch.setattr(module.compose, "cell_dict", lambda config: {})
    monkeypatch.setattr(run, "run_cell", lambda config, folder: awake.append(gc.isenabled()) or {})
    try:
        module._alone()
        assert awake == [False, True]
        assert gc.get_freeze_count() > 0
    finally:
        gc.enable()
        gc.unfreeze()


def test_train_leaves_an_outer_hydra_as_it_was(stand_in: list[Any], repository: Path) -> None:
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    with initialize_config_dir(str(repository / "conf"), version_base="1.2"):
        outer = GlobalHydra.instance().hydra
        attnlab.train([])
        assert GlobalHydra.instance().hydra is outer


def test_train_refuses_in_python_as_on_the_command_line(stand_in: list[Any]) -> None:
    with pytest.raises(UserError, match=r"encoder\.hidden_size=0"):
        attnlab.train(["encoder.hidden_size=0"])
    assert stand_in == []
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trian"], ["no verb 'trian'", "did you mean train?"]),
        (["train", "scorer=addtive"], ["scorer=addtive: no option of scorer", "did you mean additive?"]),
        (["train", "logger=[csv,wand]"], ["no option of logger", "did you mean wandb?"]),
        (["train", "tranier.max_epochs=1"], ["there is no tranier.max_epochs", "did you mean trainer?"]),
        (["train", "encoder.hidden_size=31"], ["a multiple of 2, but it is 31: give 30 or 32"]),
        (["train", "--config-dir", "nowhere"], ["--config-dir nowhere: no such folder"]),
    ],
)
def test_a_slip_is_told_with_what_was_meant(command: Any, arguments: list[str], words: list[str]) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("attnlab: ")
    for word in words:
        assert word in line
    assert command.folders() == []
