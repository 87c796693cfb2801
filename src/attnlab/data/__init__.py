"""Corpora, the generated language, tokenisers, batches and the data module.

`datasets` and Lightning take seconds to import: the names below are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlab.data.batches import Batch, BatchSampler, Collate
    from attnlab.data.corpus import Corpus
    from attnlab.data.datamodule import TranslationData
    from attnlab.data.encoded import Encoded
    from attnlab.data.files import FilesCorpus
    from attnlab.data.hub import HubCorpus
    from attnlab.data.recipes import BPE, Unigram, Words
    from attnlab.data.tokenizer import Tokenizer
    from attnlab.data.toy import ToyCorpus

_HOME = {
    "Batch": "batches",
    "BatchSampler": "batches",
    "Collate": "batches",
    "Corpus": "corpus",
    "TranslationData": "datamodule",
    "Encoded": "encoded",
    "FilesCorpus": "files",
    "HubCorpus": "hub",
    "BPE": "recipes",
    "Tokenizer": "tokenizer",
    "Unigram": "recipes",
    "Words": "recipes",
    "ToyCorpus": "toy",
}

__all__ = [
    "BPE",
    "Batch",
    "BatchSampler",
    "Collate",
    "Corpus",
    "Encoded",
    "FilesCorpus",
    "HubCorpus",
    "Tokenizer",
    "ToyCorpus",
    "TranslationData",
    "Unigram",
    "Words",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"attnlab.data.{_HOME[name]}"), name)
    raise AttributeError(f"module 'attnlab.data' has no attribute {name!r}")
