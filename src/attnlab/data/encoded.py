"""A split as ids: two flat arrays a side, mapped from the cache, with what was counted on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

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

    def save(self, folder: Path) -> None:
        """Write the arrays and the counts into an existing folder."""
        for name, array in self.arrays.items():
            np.save(folder / f"{name}.npy", array)
        (folder / "stats.json").write_text(json.dumps(self.stats, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Encoded:
        """Map what `save` wrote."""
        names = ("rows", "source", "source_ends", "target", "target_ends")
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in names}
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
        marked = side == "target" or corpus.source_eos
        # A blank source stays without pieces: the search answers it without the model.
        closes = _with_end(tokenizer.end, always=side == "target") if marked else None
        ids, ends, unknown, tokens = _flat(tokenizer, lines, closes)
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


def _with_end(end: int, *, always: bool) -> Callable[[list[int]], list[int]]:
    return lambda ids: [*ids, end] if ids or always else ids


def _flat(
    tokenizer: Tokenizer, lines: Sequence[str], closes: Callable[[list[int]], list[int]] | None
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """All ids one after the other (int32), where each line ends, unknown pieces, pieces without marks."""
    parts: list[np.ndarray] = []
    lengths: list[int] = []
    unknown = tokens = 0
    for first in range(0, len(lines), _CHUNK):
        found: Iterable[list[int]] = tokenizer.encode(lines[first : first + _CHUNK])
        for ids in found:
            unknown += ids.count(tokenizer.unk)
            tokens += len(ids)
            closed = closes(ids) if closes else ids
            lengths.append(len(closed))
            parts.append(np.asarray(closed, dtype=np.int32))
    flat = np.concatenate(parts) if parts else np.zeros(0, np.int32)
    return flat, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), unknown, tokens
