"""A split as ids: two flat arrays a side, mapped from the cache, with what was counted on the way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.data.batches import Joined
from attnlab.data.corpus import Corpus
from attnlab.data.tokenizer import Tokenizer

_CHUNK = 10_000


class Encoded:
    """Pairs of id arrays. `pairs[k]` is `(row in the split, source ids, target ids with the end mark)`.

    Attributes:
        rows: [n] the row of each pair in its split: training leaves some rows out.
        source_lengths, target_lengths: [n].
        stats: counts for the record.
    """

    def __init__(self, arrays: dict[str, np.ndarray], stats: dict[str, Any]) -> None:
        self.arrays, self.stats = arrays, stats
        self.rows = arrays["rows"]
        self.source_lengths = np.diff(arrays["source_ends"])
        self.target_lengths = np.diff(arrays["target_ends"])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, k: int) -> tuple[int, np.ndarray, np.ndarray]:
        source, target = self.arrays["source_ends"], self.arrays["target_ends"]
        return (
            int(self.rows[k]),
            self.arrays["source"][source[k] : source[k + 1]],
            self.arrays["target"][target[k] : target[k + 1]],
        )

    def __getitems__(self, places: Sequence[int]) -> Joined:
        """Many pairs at once, without a loop over them: a loader asks for its batches here."""
        at = np.asarray(places)
        return Joined(self.rows[at], *self._side("source", at), *self._side("target", at))

    def _side(self, side: str, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ends = self.arrays[f"{side}_ends"]
        first, lengths = ends[at], ends[at + 1] - ends[at]
        # What is the i-th of all ids here is the (i - ids of the sentences before)-th of its own sentence.
        before = np.cumsum(lengths) - lengths
        places = np.arange(int(lengths.sum())) + np.repeat(first - before, lengths)
        return self.arrays[side][places], lengths

    def save(self, folder: Path) -> None:
        """Write the arrays and the counts into an existing folder."""
        for name, array in self.arrays.items():
            np.save(folder / f"{name}.npy", array)
        (folder / "stats.json").write_text(json.dumps(self.stats, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Encoded:
        """Map what `save` wrote."""
        names = ("rows", "source", "source_ends", "target", "target_ends")
        # As plain arrays: the class `memmap` looks at each slice again, which takes longer than the slice.
        arrays = {name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in names}
        return cls(arrays, json.loads((folder / "stats.json").read_text(encoding="utf-8")))


def kept_rows(corpus: Corpus) -> tuple[np.ndarray, dict[str, int]]:
    """The rows of the training split that are used, and how many were dropped for which reason.

    Only training drops: pairs with a blank side, pairs beyond `max_train_length` white-space words on
    either side, pairs beyond `max_train_pairs`. Validation and test sets are never thinned.
    """
    split = corpus.split(corpus.train)
    counts = np.array([[len(text.split()) for text in split[side][:]] for side in ("source", "target")])
    blank = counts.min(0) == 0
    long = np.zeros_like(blank)
    if corpus.max_train_length is not None:
        long = ~blank & (counts.max(0) > corpus.max_train_length)
    rows = np.flatnonzero(~blank & ~long)
    over = 0
    if corpus.max_train_pairs is not None and len(rows) > corpus.max_train_pairs:
        over = len(rows) - corpus.max_train_pairs
        drawn = np.random.default_rng(corpus.seed).permutation(len(rows))[: corpus.max_train_pairs]
        rows = rows[np.sort(drawn)]
    return rows, {"blank": int(blank.sum()), "too_long": int(long.sum()), "over_max_train_pairs": over}


def encode(
    corpus: Corpus, name: str, source: Tokenizer, target: Tokenizer, training: bool = False
) -> Encoded:
    """Tokenise a split; the training split may be a test set too, and is then whole."""
    split = corpus.split(name)
    rows, dropped = kept_rows(corpus) if training else (np.arange(len(split)), {})
    arrays: dict[str, np.ndarray] = {"rows": rows}
    stats: dict[str, Any] = {
        "pairs": len(rows),
        "words": {},
        "tokens": {},
        "unknown": {},
        "dropped": dropped,
        "empty": {},
    }
    for side, tokenizer in (("source", source), ("target", target)):
        column = split[side][:]
        lines = [column[row] for row in rows.tolist()]
        # A blank source stays without pieces: the search answers it without the model.
        closed = "all" if side == "target" else "filled" if corpus.source_eos else "none"
        ids, ends, unknown, tokens = _flat(tokenizer, lines, closed)
        arrays[side], arrays[f"{side}_ends"] = ids, ends
        stats["words"][side] = sum(len(line.split()) for line in lines)
        stats["tokens"][side] = tokens
        stats["unknown"][side] = unknown / tokens if tokens else 0.0
        stats["empty"][side] = sum(not line.strip() for line in lines)
    return Encoded(arrays, stats)


def overlap(corpus: Corpus, name: str) -> dict[str, int]:
    """Rows of a split whose pair (`pairs`), or whose source (`sources`), is among the training pairs."""
    train = corpus.split(corpus.train)
    source, target = train["source"][:], train["target"][:]
    rows = kept_rows(corpus)[0].tolist()
    pairs, sources = {(source[row], target[row]) for row in rows}, {source[row] for row in rows}
    held_out = corpus.split(name)
    both = list(zip(held_out["source"][:], held_out["target"][:], strict=True))
    return {"pairs": sum(pair in pairs for pair in both), "sources": sum(pair[0] in sources for pair in both)}


def _flat(tokenizer: Tokenizer, lines: Sequence[str], closed: str) -> tuple[np.ndarray, np.ndarray, int, int]:
    """All ids one after the other (int32), where each line ends, unknown pieces, pieces without marks.

    `closed` says which lines get the end mark: all, those that are filled, or none.
    """
    parts: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    unknown = tokens = 0
    for first in range(0, len(lines), _CHUNK):
        found = tokenizer.encode(lines[first : first + _CHUNK])
        lengths = np.fromiter(map(len, found), np.int64, len(found))
        ids = np.fromiter(chain.from_iterable(found), np.int32, int(lengths.sum()))
        unknown += int((ids == tokenizer.unk).sum())
        tokens += len(ids)
        marked = {"all": lengths >= 0, "filled": lengths > 0, "none": lengths < 0}[closed]
        parts.append(np.insert(ids, np.cumsum(lengths)[marked], tokenizer.end))
        counts.append(lengths + marked)
    flat = np.concatenate(parts) if parts else np.zeros(0, np.int32)
    ends = np.cumsum(np.concatenate([[0], *counts]), dtype=np.int64)
    return flat, ends, unknown, tokens
