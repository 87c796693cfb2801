"""From a corpus and a tokeniser's recipe to loaders, alike on every rank, with counts for the record."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.rank_zero import rank_zero_only
from torch.utils.data import DataLoader

from attnlab.data.batches import Batch, BatchSampler, Collate
from attnlab.data.cache import once
from attnlab.data.corpus import Corpus, content_hash
from attnlab.data.encoded import Encoded, encode, kept_rows, overlap
from attnlab.data.recipes import Recipe
from attnlab.data.summary import lines, reasons, remedy, shortfall, warnings
from attnlab.data.tokenizer import Tokenizer
from attnlab.errors import UserError

if TYPE_CHECKING:
    from datasets import Dataset

log = logging.getLogger("attnlab.data")

FORMAT = 1  # of the cached arrays


def _first() -> bool:
    """Whether this process is the one that speaks."""
    return getattr(rank_zero_only, "rank", 0) in (0, None)


class TranslationData(pl.LightningDataModule):
    """Batches of one corpus.

    Tokenisers and encoded text lie in the corpus's cache under the hash of what made them: a changed line,
    option or library version makes new ones, and of several ranks or cells one does the work.

    Args:
        corpus: the text and the loading options.
        tokenizer: how to learn the tokenisers.
        seed_order: of the order of training batches.
        tokenizers: a folder that `save` wrote. With it nothing is learnt and training text is not read
            unless it is asked for: how a finished run is evaluated.
    """

    def __init__(
        self, corpus: Corpus, tokenizer: Recipe, *, seed_order: int = 1, tokenizers: Path | str | None = None
    ) -> None:
        super().__init__()
        self.corpus, self.recipe, self.seed_order = corpus, tokenizer, seed_order
        self.folder = Path(tokenizers) if tokenizers is not None else None
        self._tokenizers: tuple[Tokenizer, Tokenizer] | None = None
        self._encoded: dict[tuple[str, bool], Encoded] = {}
        self._described: dict[str, Any] | None = None
        self._told = False
        self._start = (0, 0)

    # What Lightning calls.

    def prepare_data(self) -> None:
        """Read every split and fill the cache; whatever is wrong with the text comes up here."""
        self.describe()

    def setup(self, stage: str | None = None) -> None:
        """Load everything from the cache, print the counts once, and compare the ranks' data."""
        facts = self.describe()
        if not self._told and _first():
            for line in lines(facts):
                log.info(line)
            for line in warnings(facts, self.corpus.unknown_limit):
                log.warning(line)
            for line in shortfall(facts, self.recipe.asked if self.folder is None else None):
                log.warning(line)
            if self.folder is None and self.corpus.train in (self.corpus.val, *self.corpus.test):
                log.warning(
                    "%s: is trained on and held out at once; its scores say nothing", self.corpus.train
                )
        self._told = True
        self._compare_ranks(facts)

    def train_dataloader(self) -> DataLoader[Batch]:
        """Training batches: another order each epoch, the same number on each rank."""
        name = self.corpus.train
        loader = self._loader(name, seed=self.seed_order)
        sampler: Any = loader.batch_sampler
        # Lightning names the epoch only after workers have begun to fetch.
        (sampler.epoch, sampler.skip), self._start = self._start, (0, 0)
        if _first():
            note = f"{len(sampler)} batches an epoch on each of {sampler.ranks} ranks"
            if sampler.dropped:
                note += (
                    f"; {sampler.dropped} pairs, the shortest, left out so that all ranks take as many steps"
                )
            if sampler.oversized:
                note += f"; {sampler.oversized} pairs longer than data.batch_tokens are batches of their own"
            log.info("%s: %s; order %s", name, note, content_hash([json.dumps(sampler.plan(0))]))
        if len(sampler) == 0:
            pairs = len(self.encoded(name, training=True))
            raise UserError(
                f"{self.corpus.origin}: {pairs} training pairs are too few for "
                f"{sampler.ranks} processes; set trainer.devices lower"
            )
        return loader

    def start_at(self, epoch: int, batches: int) -> None:
        """Where the next training loader begins: how many batches of which epoch (from 0) are done."""
        self._start = (epoch, batches)

    def val_dataloader(self) -> DataLoader[Batch]:
        """Validation batches; over the ranks each row comes once."""
        return self._loader(self.corpus.val)

    def test_dataloader(self, name: str | None = None) -> Any:
        """Batches of the test set `name`, each row once over the ranks; without a name a list, one a set."""
        if name is not None:
            return self._loader(name)
        return [self._loader(each) for each in self.corpus.test]

    # What everything else asks.

    @property
    def source_tokenizer(self) -> Tokenizer:
        """The source side's."""
        return self._both()[0]

    @property
    def target_tokenizer(self) -> Tokenizer:
        """The target side's; the same object as the source side's where it is joint."""
        return self._both()[1]

    def rows(self, split: str) -> Dataset:
        """The raw text of a split, blank lines included; `Batch.index` counts these rows."""
        return self.corpus.split(split)

    def encoded(self, name: str, *, training: bool = False) -> Encoded:
        """A split as ids: whole, or, for training, without the pairs that are left out."""
        key = (name, training)
        if key not in self._encoded:
            source, target = self._both()
            identity = {
                "format": FORMAT,
                "text": self.corpus.fingerprint(name),
                "tokenizers": [source.fingerprint, target.fingerprint],
                "source_eos": self.corpus.source_eos,
                **(self._drops() if training else {}),
            }
            folder = once(
                self.corpus.cache,
                "encoded",
                identity,
                lambda folder: encode(self.corpus, name, source, target, training).save(folder),
            )
            self._encoded[key] = Encoded.load(folder)
            self._some(self._encoded[key].stats["dropped"], len(self._encoded[key]))
        return self._encoded[key]

    def describe(self) -> dict[str, Any]:
        """The record's `data`: origin, fingerprints, counts of each split, overlap with training."""
        if self._described is None:
            corpus = self.corpus
            names = corpus.splits if self.folder is None else list(dict.fromkeys(corpus.test))
            for name in names:
                corpus.split(name)  # all of the text, before anything is learnt from some of it
            splits = {name: self._stats(name) for name in names}
            sides = dict(zip(("source", "target"), self._both(), strict=True))
            held_out = [name for name in names if corpus.train in names and name != corpus.train]
            self._described = {
                **corpus.describe(),
                "lowercase": corpus.lowercase,
                "show_samples": corpus.show_samples,
                "seed": corpus.seed,
                "seed_order": self.seed_order,
                "fingerprints": {name: corpus.fingerprint(name) for name in names},
                "tokenizers": {s: {"size": t.size, "fingerprint": t.fingerprint} for s, t in sides.items()},
                "splits": splits,
                "overlap": {name: self._overlap(name) for name in held_out},
            }
        return self._described

    def save(self, folder: Path | str) -> None:
        """Write `source.json` and `target.json`; `TranslationData(..., tokenizers=folder)` reads them."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.source_tokenizer.save(folder / "source.json")
        self.target_tokenizer.save(folder / "target.json")

    # How it is done.

    def _drops(self) -> dict[str, Any]:
        corpus = self.corpus
        drawn = (
            {"max_train_pairs": corpus.max_train_pairs, "seed": corpus.seed} if corpus.max_train_pairs else {}
        )
        return {"train": True, "max_train_length": corpus.max_train_length, **drawn}

    def _some(self, dropped: dict[str, int], kept: int) -> None:
        if kept == 0:
            raise UserError(
                f"{self.corpus.origin}: every pair of split '{self.corpus.train}' was left out "
                f"({reasons(dropped)}); {remedy(dropped)}"
            )

    def _both(self) -> tuple[Tokenizer, Tokenizer]:
        if self._tokenizers is None:
            if self.folder is not None:
                source, target = (
                    Tokenizer.load(self.folder / f"{side}.json") for side in ("source", "target")
                )
            elif self.recipe.joint:
                source = target = self._learn("source", "target")
            else:
                source, target = self._learn("source"), self._learn("target")
            joint = source.fingerprint == target.fingerprint
            self._tokenizers = (source, source) if joint else (source, target)
        return self._tokenizers

    def _learn(self, *sides: str) -> Tokenizer:
        corpus = self.corpus

        def text(rows: list[int]) -> Iterable[str]:
            for side in sides:
                column = corpus.split(corpus.train)[side][:]
                yield from (column[row] for row in rows)

        def make(folder: Path) -> None:
            kept, dropped = kept_rows(corpus)
            self._some(dropped, len(kept))  # before anything is learnt from no text at all
            self.recipe.train(text(kept.tolist()), lowercase=corpus.lowercase).save(folder / "tokenizer.json")

        identity = {
            **self.recipe.identity(),
            "lowercase": corpus.lowercase,
            "text": corpus.fingerprint(corpus.train),
            "sides": list(sides),
            **self._drops(),
        }
        return Tokenizer.load(once(corpus.cache, "tokenizers", identity, make) / "tokenizer.json")

    def _stats(self, name: str) -> dict[str, Any]:
        stats = dict(self.encoded(name, training=self.folder is None and name == self.corpus.train).stats)
        edition = self.corpus.edition(name, stats["pairs"])
        return stats if edition is None else {**stats, "edition": edition}

    def _overlap(self, name: str) -> dict[str, int]:
        corpus = self.corpus
        texts = {"train": corpus.fingerprint(corpus.train), "held_out": corpus.fingerprint(name)}

        def make(folder: Path) -> None:
            (folder / "overlap.json").write_text(json.dumps(overlap(corpus, name)), encoding="utf-8")

        folder = once(corpus.cache, "overlap", {**texts, **self._drops()}, make)
        counts: dict[str, int] = json.loads((folder / "overlap.json").read_text(encoding="utf-8"))
        return counts

    def _loader(self, name: str, seed: int | None = None) -> DataLoader[Batch]:
        corpus, trainer = self.corpus, self.trainer
        pairs = self.encoded(name, training=seed is not None)
        ranks, rank = (trainer.world_size, trainer.global_rank) if trainer else (1, 0)
        if len(pairs) < ranks:
            raise UserError(
                f"{corpus.origin}: split '{name}' has {len(pairs)} pairs for {ranks} processes; "
                "set trainer.devices lower"
            )
        sampler = BatchSampler(
            pairs.source_lengths,
            pairs.target_lengths,
            tokens=corpus.batch_tokens,
            sentences=corpus.batch_sentences,
            ranks=ranks,
            rank=rank,
            seed=seed,
        )
        # A generator of its own: loading draws nothing from the stream that dropout uses.
        generator = torch.Generator().manual_seed(self.seed_order)
        return DataLoader(
            pairs,  # type: ignore[arg-type]
            batch_sampler=sampler,
            collate_fn=Collate(self.source_tokenizer.pad, self.target_tokenizer.pad),
            num_workers=corpus.workers,
            persistent_workers=corpus.workers > 0,
            pin_memory=trainer is not None and trainer.strategy.root_device.type == "cuda",
            generator=generator,
        )

    def _compare_ranks(self, facts: dict[str, Any]) -> None:
        """Refuse ranks that hold other text or another tokeniser than rank 0."""
        from torch import distributed

        if not (distributed.is_available() and distributed.is_initialized()):
            return
        mine = {key: facts[key] for key in ("fingerprints", "tokenizers", "seed_order")}
        found: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(found, mine)
        if any(other != found[0] for other in found):
            raise UserError(
                "the processes hold different text or tokenisers: give all machines the same files and "
                "one data.cache_dir that all of them reach"
            )
