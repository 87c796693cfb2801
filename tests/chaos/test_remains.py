"""What a kill or a signal in the last moments of a cell leaves behind."""

from contextlib import suppress

import pytest
from hydra import compose as hydra_compose

from attnlab import resume, run
from attnlab.data import cache
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


def test_what_a_kill_left_in_the_cache_is_cleared_away_by_the_next_who_makes_it(tmp_path, monkeypatch):
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(cache.shutil, "rmtree", lambda *_, **__: None)  # as SIGKILL has it

        def cut(place):
            (place / "half").touch()
            raise KeyboardInterrupt

        cache.once(tmp_path, "kind", {"of": "this"}, cut)
    (tmp_path / "kind" / "other.k1ll3d").mkdir()
    assert len([path for path in (tmp_path / "kind").iterdir() if path.is_dir()]) == 2
    made = cache.once(tmp_path, "kind", {"of": "this"}, lambda place: (place / "whole").touch())
    assert sorted(path.name for path in made.iterdir()) == ["identity.json", "whole"]
    folders = [path for path in (tmp_path / "kind").iterdir() if path.is_dir()]
    assert sorted(folders) == sorted([made, tmp_path / "kind" / "other.k1ll3d"])
