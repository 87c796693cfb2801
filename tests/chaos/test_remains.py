"""What a kill or a signal in the last moments of a cell leaves behind."""

import pytest
from hydra import compose as hydra_compose

from attnlab import resume, run
from attnlab.surroundings import Stopped
from attnlab.sweep import compose, state

from .disturbed import TINY


@pytest.fixture(scope="module")
def config():
    with compose.composing():
        made = hydra_compose(
            "config", overrides=[*TINY, "trainer.max_epochs=1", "scorer.units=4"], return_hydra_config=True
        )
        return compose.cell_dict(made)


@pytest.mark.slow
def test_a_signal_after_the_record_leaves_a_run_that_is_done(config, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "cache"))

    def signalled(*_):
        raise Stopped(143)

    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".result.json.k1ll3d").write_text('{"schema": ')
    monkeypatch.setattr(resume, "tidy", signalled)
    with pytest.raises(Stopped):
        run.run_cell(config, folder)
    assert state.of(folder) == "done"
    assert state.failure(folder) is None
    assert not list(folder.glob(".result.json.*"))
