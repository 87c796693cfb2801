import os
from pathlib import Path

import pytest

from attnlab.data import FilesCorpus, TranslationData, Words


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch) -> Path:
    """A fresh cache for each test, wherever a corpus doesn't name one."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ATTNLAB_CACHE", str(folder))
    return folder


@pytest.fixture
def bitext(tmp_path):
    """Writes splits given as lists of pairs to a folder, and opens it as a corpus."""

    def make(train, val=(("a b", "x y"),), test=(("a", "x"),), **options):
        folder = tmp_path / "bitext"
        folder.mkdir(exist_ok=True)
        for name, pairs in (("train", train), ("val", val), ("test", test)):
            for side, ending in ((0, "de"), (1, "en")):
                text = "".join(pair[side] + "\n" for pair in pairs)
                (folder / f"{name}.{ending}").write_text(text, encoding="utf-8", newline="\n")
        return FilesCorpus(dir=str(folder), source="de", target="en", **options)

    return make


@pytest.fixture
def module(bitext):
    """The data module over `bitext`, each word in the vocabulary."""

    def make(*arguments, seed_order=1, recipe=None, **options):
        corpus = bitext(*arguments, **options)
        return TranslationData(corpus, recipe or Words(min_frequency=1), seed_order=seed_order)

    return make


assert os.environ.get("HF_HUB_OFFLINE") == "1", "tests must not reach for the hub"
