"""Whether sentences of a source may be shown: an option of each, off wherever the terms are not ours."""

from inspect import signature

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import get_class

from attnlab.data.corpus import Corpus
from attnlab.sweep.compose import conf_dir

OPTIONS = sorted(path.stem for path in (conf_dir() / "data").glob("*.yaml") if path.stem != "base")
OPEN = {"toy"}  # generated here, CC0


@pytest.mark.parametrize("option", OPTIONS)
def test_every_source_has_the_option_and_only_open_text_has_it_on(option):
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        data = compose("config", overrides=[f"data={option}"]).data
    assert data.show_samples is (option in OPEN)
    assert "show_samples" in signature(get_class(data._target_)).parameters


def test_a_source_of_ones_own_shows_nothing_unless_it_says_so():
    assert signature(Corpus).parameters["show_samples"].default is False
