"""What every test gets: one thread, no network, and the corpora where they are at hand."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

# Before anything imports torch, datasets or wandb; the processes that tests start inherit it.
os.environ.update(
    OMP_NUM_THREADS="1",
    MKL_NUM_THREADS="1",
    HF_HUB_OFFLINE="1",
    HF_DATASETS_OFFLINE="1",
    WANDB_MODE="offline",
    WANDB_SILENT="true",
    TOKENIZERS_PARALLELISM="false",
)

import pytest
import torch
from hypothesis import settings
from jaxtyping import install_import_hook

import attnlab

torch.set_num_threads(1)

# In a shell's background they are ignored, and would be by every process that a test starts and interrupts.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

# Shapes and types are checked here alone. An int is taken where a float is asked for (PEP 484), as Python, mypy
# and a user who writes model.dropout=0 have it; beartype's own default is stricter.
install_import_hook(
    ["attnlab.attention", "attnlab.model", "attnlab.search"],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)

# No deadline: the machines that run this are shared. Derandomised: a failure is everybody's.
settings.register_profile("attnlab", deadline=None, derandomize=True)
settings.load_profile("attnlab")

REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where processes share the tests, the files with slow ones first: the last to end is then a short one."""
    if hasattr(config, "workerinput"):
        tests = Counter(item.path for item in items)
        slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
        items.sort(key=lambda item: (-slow[item.path] / tests[item.path], -tests[item.path]))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real corpora (multi30k/ and others); without it the tests that ask are skipped."""
    folder = Path(os.environ.get("ATTNLAB_TEST_DATA") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no corpora at {folder}: name their folder in ATTNLAB_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top of the checkout."""
    return REPOSITORY


# Takes the place of attnlab.run in a process that a test starts, so that the command can be tried without a
# training. What a cell does is told by its seed; it notes itself in its run folder.
_STAND_IN = """
import json, os, sys, time, types
from pathlib import Path

def wait_for(path):
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.05)
    raise RuntimeError(f"{path} never came")

def run_cell(config, folder):
    from attnlab.errors import UserError
    from attnlab.sweep import identity
    seed, here = config["seed"], Path(os.environ["STAND_IN"])
    (here / f"started-{seed}").write_text(str(os.getpid()))
    print("words of the cell", flush=True)
    if seed in (11, 12):  # each needs the other to be running
        wait_for(here / f"started-{23 - seed}")
    if seed == 21:
        raise RuntimeError("a fault in the cell")
    if seed == 22:
        os._exit(9)
    if seed == 23:
        raise UserError("a fault of the user: mend it")
    if seed >= 30:
        wait_for(here / "release")
    record = {
        "status": "done", "cell_id": identity.cell_name(config), "cell": config["cell"], "config": config,
        "command": config["command"], "overrides": config["overrides"], "pid": os.getpid(),
        "threads": os.environ.get("OMP_NUM_THREADS"), "devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "val": {"bleu": 20.0}, "test": {"test": {"bleu": {"score": 12.3456}}},
    }
    (folder / "result.json").write_text(json.dumps(record))
    return record

module = types.ModuleType("attnlab.run")
module.run_cell = run_cell
sys.modules["attnlab.run"] = module
if "ATTNLAB_LAUNCHED" in os.environ:  # a cell of a sweep, which has rehearsed it: it need not import torch
    module = types.ModuleType("attnlab.build")
    module.rehearse = lambda config: None
    sys.modules["attnlab.build"] = module
"""


class Command:
    """`python -m attnlab.cli` in a folder of its own, with the stand-in for trainings or without."""

    def __init__(self, folder: Path, stand_in_text: str) -> None:
        self.folder = folder
        stand_in = folder / "stand_in"
        stand_in.mkdir()
        (stand_in / "sitecustomize.py").write_text(stand_in_text)
        source = Path(attnlab.__file__).parents[1]
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(stand_in), str(source)]),
            "STAND_IN": str(stand_in),
        }
        self.notes = stand_in

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Start a command and return its process."""
        return subprocess.Popen(
            [sys.executable, "-m", "attnlab.cli", *arguments],
            cwd=self.folder,
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(*arguments, **variables)
        try:
            out, err = process.communicate(timeout=300)
        except BaseException:
            process.kill()  # what hangs must not outlive its test
            process.communicate()
            raise
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def records(self) -> dict[str, dict[str, Any]]:
        """The records of finished runs by `<cell>/<seed>`."""
        found = sorted(self.folder.glob("outputs/*/*/*/result.json"))
        return {
            f"{file.parent.parent.name}/{file.parent.name}": json.loads(file.read_text()) for file in found
        }

    def folders(self) -> list[str]:
        """What the command has made beside the stand-in."""
        return sorted(path.name for path in self.folder.iterdir() if path != self.notes)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command line, in an empty folder, with the stand-in for trainings."""
    return Command(tmp_path, _STAND_IN)


@pytest.fixture
def real_command(tmp_path: Path) -> Command:
    """The same with true trainings."""
    return Command(tmp_path, "")


@pytest.fixture(autouse=True)
def no_handler_of_an_earlier_test():
    """A verb that ran in this process may have left its log with a stream that pytest has closed since."""
    root = logging.getLogger()
    for handler in list(root.handlers):
        if getattr(getattr(handler, "stream", None), "closed", False):
            root.removeHandler(handler)


@pytest.fixture(autouse=True)
def subnormal_numbers():
    """A run in this process takes them as 0 (`attnlab.threads`), which its thread keeps."""
    yield
    torch.set_flush_denormal(False)
