"""Cells under engines that call us in processes of their own: submitit's local executor, and Slurm's words."""

import importlib.util
import json
import os
import re
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import hydra
import pytest
from omegaconf import OmegaConf

from attnlab.sweep import compose, engine

SMALL = [
    *("data.train_pairs=80", "data.val_pairs=8", "data.test_pairs=12", "data.max_words=8"),
    *("data.vocabulary=20", "data.batch_tokens=200", "tokenizer.min_frequency=1", "data.cache_dir=cache"),
    *("encoder.hidden_size=8", "decoder.hidden_size=8", "model.embedding_size=8", "search.beam_size=1"),
    *("trainer.accelerator=cpu", "metrics.bootstrap.samples=2", "metrics.length_edges=[4,6]", "logger=none"),
]
needs_submitit = pytest.mark.skipif(
    importlib.util.find_spec("hydra_plugins.hydra_submitit_launcher") is None,
    reason="hydra-submitit-launcher is not installed (the extra `slurm`)",
)
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None
    or importlib.util.find_spec("hydra_plugins.hydra_ray_launcher") is None,
    reason="hydra-ray-launcher is not installed (the extra `ray`, 350 MB)",
)


def options(repository: Path, name: str, **changes: Any) -> dict[str, Any]:
    node = OmegaConf.load(repository / "conf" / "hydra" / "launcher" / f"{name}.yaml")
    node.submitit_folder = "out/.submitit/%j"
    found: dict[str, Any] = OmegaConf.to_container(node)  # type: ignore[assignment]
    return {
        key: value for key, value in (found | changes).items() if key not in ("_target_", "show", "max_array")
    }


@needs_submitit
def test_a_sweep_is_one_array_with_a_cap_on_jobs_at_once_and_is_queued_again(repository: Path) -> None:
    from hydra_plugins.attnlab.submitit_launchers import script

    lines = script(options(repository, "slurm", partition="gpu", array_parallelism=4), 24).splitlines()
    assert "#SBATCH --array=0-23%4" in lines
    assert {"#SBATCH --requeue", "#SBATCH --partition=gpu", "#SBATCH --gpus-per-node=1"} <= set(lines)
    assert "#SBATCH --signal=USR2@120" in lines and "#SBATCH --time=1440" in lines
    assert any(line.startswith("srun ") and "submitit.core._submit" in line for line in lines)
    assert not any("--array" in line for line in script(options(repository, "slurm"), 1).splitlines())


@needs_submitit
def test_several_nodes_have_a_task_for_each_rank(repository: Path) -> None:
    from hydra_plugins.attnlab.submitit_launchers import script

    given = options(repository, "slurm", nodes=2, tasks_per_node=4, gpus_per_node=4)
    assert {"#SBATCH --nodes=2", "#SBATCH --ntasks-per-node=4"} <= set(script(given, 2).splitlines())


@needs_submitit
def test_scripts_are_shown_in_arrays_of_bounded_size_and_nothing_is_sent(command: Any) -> None:
    shown = ("hydra/launcher=slurm", "hydra.launcher.show=true", "hydra.launcher.max_array=2")
    done = command("train", "-m", "seed=1,2,3", *shown)
    assert done.returncode == 0, done.stderr
    assert re.findall("--array=(.*)", done.stdout) == ["0-1%2"]  # the third is a job alone
    assert done.stdout.count("#!/bin/bash") == 2
    assert command.records() == {}


@needs_submitit
def test_without_slurm_the_sweep_says_so_in_a_line(command: Any) -> None:
    done = command("train", "-m", "seed=1", "hydra/launcher=slurm")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "no srun" in line and "hydra.launcher.show=true" in line


def test_one_task_of_slurms_starts_its_ranks_itself() -> None:
    slurm = {"SLURM_JOB_ID": "77", "SLURM_NTASKS": "1", "SLURM_PROCID": "0", "SLURM_CPUS_PER_TASK": "8"}
    found = engine.variables(slurm, ranks=2)
    # Lightning detects Slurm, and with it one rank a task, unless the job has this name.
    assert found["SLURM_JOB_NAME"] == "interactive" and found["OMP_NUM_THREADS"] == "4"
    assert "RANK" not in found


def test_of_several_tasks_each_is_a_rank() -> None:
    slurm = {"SLURM_JOB_ID": "77", "SLURM_NTASKS": "8", "SLURM_PROCID": "5", "SLURM_LOCALID": "1"}
    found = engine.variables({**slurm, "SLURM_CPUS_PER_TASK": "3"}, ranks=4)
    assert (found["RANK"], found["LOCAL_RANK"], found["OMP_NUM_THREADS"]) == ("5", "1", "3")
    assert "SLURM_JOB_NAME" not in found


def test_threads_that_the_engine_has_set_stay() -> None:
    assert "OMP_NUM_THREADS" not in engine.variables({"OMP_NUM_THREADS": "2"}, ranks=1)


@needs_submitit
def test_submitit_runs_each_cell_as_a_process_that_harms_no_other(command: Any) -> None:
    done = command("train", "-m", "seed=1,22,2", "hydra/launcher=slurm_local")
    assert done.returncode == 1
    assert "failed: seed=22" in done.stderr and "ended with 9" in done.stderr
    records = command.records()
    assert [name.rpartition("/")[2] for name in records] == ["seed1", "seed2"]
    assert len({record["pid"] for record in records.values()}) == 2
    (failed,) = command.folder.glob("outputs/*/*/*/failed.json")
    assert json.loads(failed.read_text())["error"]["type"] == "Exited"
    # The same command leaves the finished ones alone.
    again = command("train", "-m", "seed=1,2", "hydra/launcher=slurm_local")
    assert again.returncode == 0 and again.stdout.count("done: ") == 2
    assert command.records() == records


@needs_submitit
@pytest.mark.slow
def test_a_preempted_job_goes_on_in_its_folder(real_command: Any) -> None:
    options = ["trainer.max_epochs=150", "callbacks.patience=null", "callbacks.save_every=5"]
    limits = ["trainer.check_val_every_n_epoch=20", "callbacks.validation_sentences=2"]
    sweep = real_command.start(
        *("train", "-m", "seed=1,2", *SMALL, *options, *limits, "hydra/launcher=slurm_local")
    )
    try:
        folders = wait(
            lambda: sorted(real_command.folder.glob("outputs/*/*/seed*/checkpoints/last.ckpt")), 2, sweep
        )
        preempted = folders[0].parents[1]
        before = json.loads((preempted / "progress.json").read_text())
        # The task of submitit's whose child trains there gets what Slurm sends before the end.
        os.kill(parent_of(before["pid"]), signal.SIGUSR2)
        out, err = sweep.communicate(timeout=900)
    finally:
        if sweep.poll() is None:
            sweep.kill()
            sweep.communicate()
    assert sweep.returncode == 0, out + err
    records = real_command.records()
    assert len(records) == 2  # no second folder
    resumed = {name.rpartition("/")[2]: record["train"]["resumed_at"] for name, record in records.items()}
    other = "seed2" if preempted.name == "seed1" else "seed1"
    assert len(resumed[preempted.name]) == 1 and resumed[preempted.name][0] >= 5
    assert resumed[other] == []
    steps = [json.loads(line)["step"] for line in (preempted / "metrics.jsonl").read_text().splitlines()]
    assert steps == sorted(steps)
    updates = {record["train"]["updates"] for record in records.values()}
    assert len(updates) == 1  # as many as the one that nothing happened to


@needs_ray
@pytest.mark.slow
def test_ray_runs_cells_side_by_side(command: Any, tmp_path: Path) -> None:
    # 11 and 12 each wait for the other
    with tempfile.TemporaryDirectory(prefix="ray") as short:  # the path of a socket may have 107 bytes
        limits = ["hydra.launcher.ray.init.num_cpus=2", f"+hydra.launcher.ray.init._temp_dir={short}"]
        done = command(
            *("train", "-m", "seed=11,12,22", "hydra/launcher=ray_cells", *limits), HOME=str(tmp_path)
        )
    assert done.returncode == 1, done.stdout + done.stderr
    assert [name.rpartition("/")[2] for name in command.records()] == ["seed11", "seed12"]
    assert "failed: seed=22" in done.stderr


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_what_an_extra_lacks_is_told_in_a_line(command: Any) -> None:
    done = command("train", "-m", "seed=1", "hydra/launcher=ray_cells")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("attnlab: ") and "attnlab[ray]" in line


def wait(found: Any, count: int, process: Any) -> Any:
    while len(there := found()) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    return there


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def test_the_command_that_an_agent_of_wandb_makes_composes(repository: Path) -> None:
    from wandb.sdk.launch.sweeps import utils

    sweep: Any = OmegaConf.to_container(
        OmegaConf.load(repository / "experiments" / "wandb_sweep" / "sweep.yaml"), resolve=False
    )
    drawn = {name: {"value": one["values"][-1]} for name, one in sweep["parameters"].items()}
    arguments = utils.create_sweep_command_args({"args": drawn})["args_no_hyphens"]
    words: list[str] = []
    for word in utils.create_sweep_command(sweep["command"]):
        words += arguments if word == "${args_no_hyphens}" else [word]
    assert words[:2] == ["attnlab", "train"]
    with compose.composing():
        config = hydra.compose("config", overrides=words[2:])
    assert (config.model.dropout, config.optim.lr, config.seed) == (0.2, 0.003, 2)
    assert config.scorer["_target_"].endswith("Additive") and config.study == "wandb_sweep"
