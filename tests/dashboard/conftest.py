"""Two cells that have logged to W&B offline: the numbers of a run without the training."""

from dataclasses import replace

import numpy as np
import pytest

from attnlab.loggers import Example, Sample, WandbLogger

from ..loggers.conftest import keyless
from ..loggers.runs import RESULT, SHOWN

EXAMPLES = [Example(["a", "b"], ["x", "</s>"], np.array([[0.9, 0.1], [0.2, 0.8]], dtype=np.float32))]


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    """Their folder."""
    folder = tmp_path_factory.mktemp("pair")
    with pytest.MonkeyPatch.context() as patch:
        keyless(patch, folder)
        for name in ("dot", "general"):
            cell = {**SHOWN.cell, "scorer": name}
            config = {**SHOWN.config, "logger": {"wandb": {"samples": 5, "translations": True}}}
            facts = replace(SHOWN, cell=cell, cell_id=f"{name}-0a1b2c3d", config=config)
            logger = WandbLogger(folder / name, facts, heatmaps=1)
            logger.log_metrics({"train/loss": 2.5, "train/lr": 0.1, "train/tokens_per_s": 9.0}, step=10)
            logger.log_samples([Sample(0, "a b", "x", "x y")], step=10)
            logger.log_metrics({"val/loss": 2.0, "val/bleu": 12.0}, step=10)
            logger.log_translations("test", ["a b"], ["x"], ["x y"])
            logger.log_evaluation("test", RESULT, EXAMPLES)
            logger.close(0)
    return folder
