"""The loaders under Lightning on two processes (pitfalls B9, B14, B15, B16, C2)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.ddp, pytest.mark.slow]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """20 training pairs, which make 7 batches of 3; 5 held-out ones."""
    folder = tmp_path_factory.mktemp("ranks")
    for name, count in (("train", 20), ("val", 5), ("test", 5)):
        for ending in ("de", "en"):
            lines = [" ".join(["w"] * (1 + i % 9)) + f" {name}{ending}{i}" for i in range(count)]
            (folder / f"{name}.{ending}").write_text("\n".join(lines) + "\n")
    for devices in (2, 1):
        script = Path(__file__).with_name("ranks.py")
        # Killed after two minutes: an uneven number of steps hangs for ever.
        subprocess.run([sys.executable, script, str(devices), folder], check=True, timeout=120)
    return {name: json.loads((folder / f"{name}.json").read_text()) for name in ("1-0", "2-0", "2-1")}


def flat(batches):
    return [i for batch in batches for i in batch]


def test_training_indices_are_disjoint_and_cover_all(found):
    for epoch in range(2):
        first, second = (flat(found[rank]["seen"]["train"][epoch]) for rank in ("2-0", "2-1"))
        assert not set(first) & set(second)
        assert sorted(first + second) == list(range(20))


def test_both_ranks_take_as_many_steps(found):
    for epoch in range(2):
        assert len(found["2-0"]["seen"]["train"][epoch]) == len(found["2-1"]["seen"]["train"][epoch]) == 4


def test_the_second_epoch_has_another_order(found):
    for name in found:
        first, second = found[name]["seen"]["train"]
        assert first != second


def test_held_out_rows_come_once_each(found):
    for split in ("validation", "test"):
        epochs = 2 if split == "validation" else 1
        one = flat(found["1-0"]["seen"][split])
        two = flat(found["2-0"]["seen"][split]) + flat(found["2-1"]["seen"][split])
        assert sorted(one) == sorted(two) == sorted(list(range(5)) * epochs)


def test_ranks_hold_one_plan_and_the_same_text(found):
    assert found["2-0"]["plan"] == found["2-1"]["plan"]
    assert found["2-0"]["facts"] == found["2-1"]["facts"] == found["1-0"]["facts"]


def test_two_ranks_encode_each_split_once_and_a_later_run_none(found):
    assert found["2-0"]["worked"] + found["2-1"]["worked"] == 3
    assert found["1-0"]["worked"] == 0
