"""W&B over the runs of a sweep: groups of cells, and a helper process that ends, is killed, or is slow."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import hydra
import pytest

from attnlab import account
from attnlab.loggers import WandbLogger
from attnlab.sweep import compose

from ..wandb_files import Offline
from .runs import FACTS, Server

GRID = list(product(("dot", "general"), ("global", "local_m"), (1, 2, 3)))


def test_the_seeds_of_a_cell_are_one_group_and_the_axes_are_flat_keys(offline, tmp_path):
    groups: dict[str, set[tuple[str, str]]] = {}
    seen = []
    with compose.composing():
        for number, (scorer, window, seed) in enumerate(GRID):
            overrides = [f"scorer={scorer}", f"window={window}", f"seed={seed}", "study=grid"]
            whole = hydra.compose("config", overrides=overrides, return_hydra_config=True)
            folder = tmp_path / str(number)
            logger = WandbLogger(folder, account.facts(compose.cell_dict(whole)))
            logger.begin()
            logger.close(0)
            log = Offline(folder)
            groups.setdefault(log.run.run_group, set()).add((scorer, window))
            keys = ("scorer", "window", "decoder", "encoder", "seed")
            seen.append(tuple(log.config[key] for key in keys))
            assert log.run.job_type == "grid"
    assert seen == [(scorer, window, "post_combine", "bilstm", seed) for scorer, window, seed in GRID]
    assert len(groups) == 4 and all(len(cells) == 1 for cells in groups.values())


CHILDREN = """
def helpers():
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = status.read_text().split("(", 1)[1].rsplit(") ", 1)
        except OSError:
            continue
        if rest.split()[1] == str(os.getpid()) and "wandb" in name:
            found.append(int(status.parent.name))
    return found
"""

FIVE = f"""
import os, sys
from pathlib import Path
from attnlab.loggers import Facts, WandbLogger
{CHILDREN}
for number in range(5):
    logger = WandbLogger(Path(sys.argv[1]) / str(number), Facts(cell={{}}, cell_id="a", seed=number))
    logger.log_metrics({{"train/loss": 1.0}}, step=1)
    logger.close(0)
print(*helpers())
"""

KILLED = f"""
import logging, os, signal, sys
from pathlib import Path
from attnlab.loggers import Facts, WandbLogger
{CHILDREN}
logging.basicConfig(format="%(message)s")
logger = WandbLogger(Path(sys.argv[1]), Facts(cell={{}}, cell_id="a", seed=1))
logger.log_metrics({{"train/loss": 1.0}}, step=1)
for helper in helpers():
    os.kill(helper, signal.SIGKILL)
    while Path(f"/proc/{{helper}}/stat").exists() and ") Z " not in Path(f"/proc/{{helper}}/stat").read_text():
        pass
for step in range(2, 30):
    logger.log_metrics({{"train/loss": 1.0}}, step=step)
logger.log_evaluation("test", {{"bleu": {{"score": 1.0, "signature": "s"}}}})
logger.close(0)
print("the run goes on to its end")
"""


def python(code, folder):
    """Runs it in a process of its own, as a cell is, with a helper of its own."""
    environment = {name: value for name, value in os.environ.items() if "WANDB_SERVICE" not in name}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_after_five_runs_no_helper_of_wandbs_is_left(offline, tmp_path):
    helpers = python(FIVE, tmp_path).stdout.split()
    assert len(helpers) == 1  # one for all five, and it is the one that we look for
    assert not Path(f"/proc/{helpers[0]}").exists()
    assert [Offline(tmp_path / str(number)).exit for number in range(5)] == [0] * 5


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_run_outlives_wandbs_own_process_with_one_warning(offline, tmp_path):
    done = python(KILLED, tmp_path)
    assert done.stdout.strip() == "the run goes on to its end"
    assert done.stderr.count("the run goes on without it, metrics.jsonl has all numbers") == 1


def test_another_error_is_no_lost_process(offline, tmp_path, monkeypatch):
    server = Server()
    monkeypatch.setattr("wandb.init", server.init)
    monkeypatch.setattr(server, "log", lambda row: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        WandbLogger(tmp_path, FACTS, mode="online").log_metrics({"train/loss": 1.0}, step=1)


def test_the_end_of_a_run_waits_so_long_for_an_upload_and_no_longer(offline, tmp_path, monkeypatch):
    server = Server()
    monkeypatch.setattr("wandb.init", server.init)
    WandbLogger(tmp_path / "a", FACTS, mode="online").begin()
    assert server.settings.finish_timeout == 300
    WandbLogger(tmp_path / "b", FACTS, mode="online", finish_timeout=5).begin()
    assert server.settings.finish_timeout == 5
