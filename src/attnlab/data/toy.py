"""A generated language with gold alignments: the corpus that needs no files and no network.

What its sentences are like is in `grammar.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from attnlab.data.corpus import Corpus
from attnlab.data.grammar import VERSION, Grammar, Lexicon
from attnlab.errors import UserError

if TYPE_CHECKING:
    from datasets import Dataset


@dataclass(frozen=True, kw_only=True)
class ToyCorpus(Corpus):
    """The generated language as a corpus; the same options give the same sentences everywhere.

    Its splits are `train`, `val`, `test`, and as many further ones as wanted whose names begin with `test`.

    Args:
        train_pairs, val_pairs, test_pairs: pairs of the training, the validation and each test split.
        vocabulary: content words of the source; articles, prepositions and the like come on top.
        min_words, max_words: the source lengths, all equally frequent.
    """

    source: str = "src"
    target: str = "tgt"
    train_pairs: int = 20000
    val_pairs: int = 500
    test_pairs: int = 1000
    vocabulary: int = 600
    min_words: int = 3
    max_words: int = 66
    licence: str | None = "CC0-1.0"
    show_samples: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 3 <= self.min_words <= self.max_words:
            raise UserError(
                f"data.min_words={self.min_words} data.max_words={self.max_words}: the generated language "
                "needs 3 <= min_words <= max_words"
            )
        if min(self.train_pairs, self.val_pairs, self.test_pairs, self.vocabulary) < 1:
            raise UserError(
                "data.{train,val,test}_pairs and data.vocabulary of the toy language must be at least 1"
            )
        for option in ("train", "val", "test"):
            given = getattr(self, option)
            for name in given if isinstance(given, list) else [given]:
                _known(name, f"data.{option}={name}")

    @property
    def origin(self) -> str:
        """The seed makes the language."""
        return f"generated, seed {self.seed}"

    @property
    def version(self) -> str | None:
        """The version of the grammar."""
        return VERSION

    @cached_property
    def grammar(self) -> Grammar:
        """The seed's lexicon with the rules."""
        return Grammar(Lexicon(self.vocabulary, self.seed))

    def sentences(self, name: str) -> Iterator[tuple[str, str, str]]:
        """Source, target and `i-j` links, one stream of random numbers a split."""
        _known(name, "data=toy")
        # A split that is used twice, such as data.test=[val], is the same one both times.
        counts = {
            "train": self.train_pairs,
            "val": self.val_pairs,
            **dict.fromkeys(self.test, self.test_pairs),
            self.val: self.val_pairs,
            self.train: self.train_pairs,
        }
        pairs = counts.get(name, self.test_pairs)
        random = Random(f"{self.seed}/{name}/{VERSION}")
        for _ in range(pairs):
            length = self.min_words + math.floor(random.random() * (self.max_words - self.min_words + 1))
            words, target = self.grammar.sentence(length, random)
            links = sorted((i, j) for j, (_, sources) in enumerate(target) for i in sources)
            yield (
                " ".join(words),
                " ".join(word for word, _ in target),
                " ".join(f"{i}-{j}" for i, j in links),
            )

    def read(self, name: str) -> Dataset:
        """Generate the split."""
        from datasets import Dataset

        columns = zip(*self.sentences(name), strict=True)
        return Dataset.from_dict(
            dict(zip(("source", "target", "alignment"), map(list, columns), strict=True))
        )

    def write(self, folder: Path | str) -> None:
        """Write `{train,val,test}.{src,tgt,align}` (the names of the splits and languages) to `folder`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in self.splits:
            rows = self.split(name)
            for column, ending in (("source", self.source), ("target", self.target), ("alignment", "align")):
                text = "".join(line + "\n" for line in rows[column][:])
                (folder / f"{name}.{ending}").write_text(text, encoding="utf-8", newline="\n")


def _known(name: str, where: str) -> None:
    """Raise UserError for a split that the language does not have: any name would give sentences."""
    if name not in ("train", "val") and not re.fullmatch(r"test[\w.-]*", name):
        raise UserError(
            f"{where}: there is no split {name}; there are: train, val, test, "
            "and more test sets by names that begin with test, such as test2"
        )
