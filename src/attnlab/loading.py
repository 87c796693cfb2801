"""From a run folder to a model that translates, aligns and attends: `attnlab.load(folder)`."""

from __future__ import annotations

from pathlib import Path
from pickle import UnpicklingError
from types import SimpleNamespace
from typing import Any, cast

import torch
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from attnlab import build, compiling, threads
from attnlab.data.tokenizer import Tokenizer
from attnlab.errors import UserError
from attnlab.loaded import Loaded

PARTS = ("data", "encoder", "decoder", "model", "search", "metrics")
"""What the settings of a run have at least."""


def read_config(folder: Path) -> dict[str, Any]:
    """The settings of a run.

    Raises:
        UserError: the folder holds no run, or its settings cannot be read.
    """
    from omegaconf import OmegaConf

    path = folder / "config.yaml"
    if not path.is_file():
        raise UserError(
            f"{folder}: no run is here (config.yaml is missing); give the folder that ends in seed<k>"
        )
    try:
        config = OmegaConf.to_container(OmegaConf.load(path), resolve=True)
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:
        raise UserError(f"{path}: cannot be read ({_line(error)}); train the run again") from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: these are no settings of a run; train the run again")
    return cast("dict[str, Any]", config)


def _line(error: Exception) -> str:
    """An error of a library in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def load(folder: Path | str, device: str | None = None) -> Loaded:
    """The best checkpoint of a run with its tokenisers and search.

    From here on float32 products are as precise as in its training (`trainer.matmul_precision`), the calling
    thread takes subnormal numbers as 0, and the process keeps up to 256 MB of the memory that it frees
    (`threads.py`).

    Args:
        folder: the run folder, `.../seed<k>`.
        device: such as `cpu` or `cuda:1`; by default the first GPU, or the CPU.

    Raises:
        UserError: the folder holds no run, none with a checkpoint that can be read, or no such device.
    """
    folder = Path(folder)
    config = read_config(folder)
    threads.set_up()
    products = (config.get("trainer") or {}).get("matmul_precision")
    if products is not None:
        compiling.precision(products)
    path = folder / "checkpoints" / "best.ckpt"
    if not path.is_file():
        raise UserError(f"{path} is missing: the run was never validated; train it again with rerun=true")
    lacking = [part for part in PARTS if part not in config]
    if lacking:
        raise UserError(f"{folder}/config.yaml: no settings of a run, for {', '.join(lacking)} is missing")
    source, target = (Tokenizer.load(folder / "tokenizer" / f"{side}.json") for side in ("source", "target"))
    model = build.build_model(config, SimpleNamespace(source_tokenizer=source, target_tokenizer=target))
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        state, step = checkpoint["state_dict"], int(checkpoint["global_step"])
    except PermissionError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check its permissions") from error
    except (OSError, EOFError, RuntimeError, ValueError, KeyError, TypeError, UnpicklingError) as error:
        # What torch says here is advice for those who know what the file holds.
        raise UserError(
            f"{path}: this is no checkpoint, or only a part of one; "
            "copy it again, or train the run again with rerun=true"
        ) from error
    try:
        prefix = "model."
        model.load_state_dict(
            {key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)}
        )
    except (RuntimeError, AttributeError, TypeError) as error:
        raise UserError(
            f"{path}: this is a checkpoint of another model than config.yaml describes ({_line(error)}); "
            "copy the run again, or train it again with rerun=true"
        ) from error
    try:
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        model.to(place)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        raise UserError(f"--device {device}: {_line(error)}; give cpu, or a device that is here") from error
    return Loaded(model.eval(), source, target, config, folder, place, step)
