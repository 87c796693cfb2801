"""Two cells of two processes each: Lightning runs a cell's own command again, and not the sweep's."""

from typing import Any

import pytest

from .small import SMALL


@pytest.mark.slow
@pytest.mark.ddp
def test_a_sweep_of_two_rank_cells_trains_each_once(real_command: Any) -> None:
    ranks = ["trainer.devices=2", "trainer.strategy=ddp"]
    done = real_command("train", "-m", *SMALL, "scorer=dot,general", *ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert real_command.folders() == ["cache", "outputs"]
    records = real_command.records()
    assert len(records) == len(list(real_command.folder.glob("outputs/*/*/seed*"))) == 2
    for name, record in records.items():
        assert record["machine"]["count"] == 2
        assert name == f"{record['cell_id']}/seed1"
        log = real_command.folder / "outputs" / "runs" / name / "train.log"
        assert log.read_text().count("restored best.ckpt") == 1
