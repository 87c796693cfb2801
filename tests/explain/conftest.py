"""Runs as a training leaves them, without one."""

from types import SimpleNamespace

import hydra
import pytest
import torch
from omegaconf import OmegaConf

from attnlab import build
from attnlab.sweep import compose

TINY = [
    *(
        "data.train_pairs=60",
        "data.val_pairs=8",
        "data.test_pairs=5",
        "data.max_words=8",
        "data.vocabulary=20",
    ),
    *(
        "tokenizer.min_frequency=1",
        "encoder.hidden_size=8",
        "decoder.hidden_size=8",
        "model.embedding_size=8",
    ),
    *("logger=none", "window.half_width=2", "search.max_length_factor=1", "search.max_length_offset=2"),
]


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A folder of an untrained run with these options, as a training leaves it."""
    top = tmp_path_factory.mktemp("walks")
    made = {}

    def _runs(options, seed=1):
        key = f"{options} seed_init={seed}"
        if key not in made:
            with compose.composing():
                config = compose.cell_dict(
                    hydra.compose("config", overrides=[*TINY, *key.split()], return_hydra_config=True)
                )
            if "data" not in made:
                made["data"] = build.build_data(config)
                made["data"].prepare_data()
                made["data"].setup()
            model = build.build_model(config, made["data"])
            folder = top / str(len(made)) / f"seed{seed}"
            (folder / "checkpoints").mkdir(parents=True)
            made["data"].save(folder / "tokenizer")
            OmegaConf.save(OmegaConf.create(config), folder / "config.yaml")
            state = {f"model.{name}": value for name, value in model.state_dict().items()}
            torch.save({"state_dict": state, "global_step": 0}, folder / "checkpoints" / "best.ckpt")
            made[key] = folder
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(top / "cache"))
        yield _runs


@pytest.fixture(scope="session")
def sentence(runs):
    config = OmegaConf.to_container(OmegaConf.load(runs("scorer=dot") / "config.yaml"))
    rows = build.build_corpus(config).split("test")
    row = max(rows, key=lambda one: len(one["source"].split()))
    return SimpleNamespace(**row)
