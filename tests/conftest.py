"""What every test gets: one thread, no network, and the corpora where they are at hand."""

import os
from pathlib import Path

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

torch.set_num_threads(1)

# No deadline: the machines that run this are shared. Derandomised: a failure is everybody's.
settings.register_profile("attnlab", deadline=None, derandomize=True)
settings.load_profile("attnlab")

REPOSITORY = Path(__file__).resolve().parents[1]


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
