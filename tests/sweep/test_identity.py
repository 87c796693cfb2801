"""What changes a cell's hash and what does not, and the names of folders."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.sweep import identity

BASE: dict[str, Any] = {
    "seed": 1,
    "seed_init": 1,
    "seed_order": 1,
    "study": None,
    "out": "outputs",
    "rerun": False,
    "data": {"_target_": "x.Bitext", "dir": "/here/multi30k", "source": "de", "seed": 7, "cache_dir": "/c"},
    "encoder": {"hidden_size": 512},
    "decoder": {"hidden_size": 512},
    "scorer": {"_target_": "x.Dot"},
    "window": {"half_width": 10},
    "model": {"dropout": 0.2, "initialise": {"scale": 1, "seed": 1}},
    "trainer": {"max_epochs": 12, "devices": 1, "accelerator": "auto", "precision": "32-true"},
    "logger": {"csv": {}},
    "about": {"unused": {}},
    "cell": {"encoder": "bilstm", "scorer": "dot", "decoder": "post_combine", "window": "global"},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    values = copy.deepcopy(BASE)
    node = values
    *above, name = path.split(".")
    for key in above:
        node = node[key]
    node[name] = value
    return values


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("seed", 2),
        ("seed_init", 2),
        ("seed_order", 2),
        ("model.initialise.seed", 2),
        ("study", "first"),
        ("out", "/elsewhere"),
        ("rerun", True),
        ("data.dir", "/there/multi30k"),
        ("data.cache_dir", "/d"),
        ("trainer.devices", 2),
        ("trainer.accelerator", "cpu"),
        ("trainer.compile", "cuda_graph"),
        ("trainer.matmul_precision", "highest"),  # as it was before there was this option
        ("logger", {"wandb": {}}),
        ("about.factors", {"asks": "current"}),
        ("model.initialise.scale", 1.0),
        ("encoder.hidden_size", 512.0),
    ],
)
def test_what_does_not_matter_leaves_the_hash(path: str, value: Any) -> None:
    assert identity.digest(changed(path, value)) == identity.digest(BASE)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("data.seed", 8),
        ("data.dir", "/here/iwslt"),
        ("data.source", "fr"),
        ("encoder.hidden_size", 256),
        ("scorer._target_", "x.General"),
        ("window.half_width", 5),
        ("model.dropout", 0.3),
        ("model.dropout", "0.2"),
        ("trainer.max_epochs", 13),
        ("trainer.precision", "bf16-mixed"),
        ("trainer.matmul_precision", "high"),
        ("optim", {"lr": 0.1}),
    ],
)
def test_what_matters_changes_the_hash(path: str, value: Any) -> None:
    assert identity.digest(changed(path, value)) != identity.digest(BASE)


def test_what_is_unused_leaves_the_hash() -> None:
    wide, narrow = changed("window.half_width", 5), copy.deepcopy(BASE)
    for values in (wide, narrow):
        values["about"]["unused"] = {"window": ["window.half_width"]}
    assert identity.digest(wide) == identity.digest(narrow)
    other = changed("scorer._target_", "x.General")
    for values in (other, narrow):
        values["about"]["unused"] = {"decoder": ["scorer", "window"]}
    assert identity.digest(other) == identity.digest(narrow)


@given(st.permutations(list(BASE)))
def test_the_order_of_keys_leaves_the_hash(keys: list[str]) -> None:
    assert identity.digest({key: BASE[key] for key in keys}) == identity.digest(BASE)


def test_the_name_says_the_axes_and_none_where_one_has_no_effect() -> None:
    assert identity.cell_name(BASE) == f"dot-post_combine-global-bilstm-{identity.digest(BASE)}"
    values = copy.deepcopy(BASE)
    values["about"]["unused"] = {"decoder": ["scorer", "window"]}
    assert identity.cell(values) == {
        "encoder": "bilstm",
        "scorer": None,
        "decoder": "post_combine",
        "window": None,
    }
    assert identity.cell_name(values).startswith("none-post_combine-none-bilstm-")


def test_seeds_set_apart_do_not_share_a_folder() -> None:
    assert identity.seed_name(BASE) == "seed1"
    assert identity.seed_name(changed("seed_init", 4)) == "seed1-init4"
    assert identity.seed_name(changed("seed_order", 5)) == "seed1-order5"


def test_runs_of_no_study_have_a_folder_too() -> None:
    assert identity.study_name(None) == "runs"
    assert identity.study_name("first") == "first"
