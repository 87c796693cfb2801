"""Text to ids and back, for one side or, joint, for both."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path

import tokenizers

from attnlab.errors import UserError

PAD, UNK, START, END = MARKS = ("<pad>", "<unk>", "<s>", "</s>")
UNKNOWN_TEXT = "⁇"
TIE, SPACE = "‿", "▁"


class Tokenizer:
    """A trained tokeniser over HF `tokenizers`; `attnlab.data.recipes` says how text is cut.

    Attributes:
        size: ids, marks included.
        pad, unk, start, end: the ids of the marks.
    """

    def __init__(self, inner: tokenizers.Tokenizer) -> None:
        self.inner = inner
        inner.encode_special_tokens = True  # '</s>' in a text is text
        self.size: int = inner.get_vocab_size()
        vocabulary: dict[str, int] = inner.get_vocab()
        self.pad, self.unk, self.start, self.end = (vocabulary[mark] for mark in MARKS)
        self._text = sorted(vocabulary, key=vocabulary.__getitem__)
        self._subword = inner.decoder is not None
        ties = inner.normalizer is not None and TIE in str(json.loads(inner.to_str())["normalizer"])
        # What each id says of the white space around it: none on its left, none on its right.
        signs = [ties and _is_sign(piece.strip(TIE)) for piece in self._text]
        pieces = list(zip(self._text, signs, strict=True))
        self._tied_right = [sign and piece.endswith(TIE) for piece, sign in pieces]
        self._tied_left = [sign and piece.startswith(TIE) for piece, sign in pieces]
        if self._subword:
            self._tied_left = [not piece.startswith(SPACE) for piece in self._text]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, without marks; a line without words gives no ids."""
        marks = {self.pad, self.start, self.end}
        found = [
            encoding.ids for encoding in self.inner.encode_batch_fast(list(lines), add_special_tokens=False)
        ]
        # A word that is spelt like a mark is an unknown word.
        return [[self.unk if i in marks else i for i in ids] if marks & set(ids) else ids for ids in found]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the pieces up to the end mark; marks are left out, unknown pieces read `⁇`."""
        kept = self._kept(ids)
        parts: list[str] = []
        glued = True
        for i in kept:
            if not (glued or self._tied_left[i]):
                parts.append(" ")
            parts.append(self._bare(i))
            glued = self._tied_right[i]
        return " ".join("".join(parts).split())

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The vocabulary's spelling of each id, ties and `▁` included."""
        return [self._text[i] for i in ids]

    def words(self, ids: Iterable[int]) -> list[int]:
        """The white-space word (from 0) that each piece belongs to, as far as the ids tell.

        An unknown piece counts as a word of its own: where punctuation was unknown, ask `words_of(line)`.
        """
        found: list[int] = []
        word, tied = -1, False
        for i in ids:
            if word < 0 or not (tied or self._tied_left[i]):
                word += 1
            found.append(word)
            tied = self._tied_right[i]
        return found

    def words_of(self, line: str) -> list[int]:
        """The white-space word of each piece of `encode([line])`, by its place in the text."""
        begins = [match.start() for match in re.finditer(r"\S+", line)]
        encoding = self.inner.encode(line, add_special_tokens=False)
        found = []
        for _, end in encoding.offsets:
            at = end - 1  # the last character of a piece is in its word; of a lone '▁', the space before it
            found.append(bisect_right(begins, at) - (not line[at].isspace()))
        return found

    def _kept(self, ids: Iterable[int]) -> list[int]:
        kept: list[int] = []
        for i in ids:
            if i == self.end:
                break
            if i not in (self.pad, self.start):
                kept.append(int(i))
        return kept

    def _bare(self, i: int) -> str:
        if i == self.unk:
            return UNKNOWN_TEXT
        if self._subword:
            return self._text[i].replace(SPACE, " ")
        if self._tied_left[i] or self._tied_right[i]:
            return self._text[i].strip(TIE)
        return self._text[i]

    @property
    def fingerprint(self) -> str:
        """A hash of the whole tokeniser."""
        return hashlib.blake2b(self.inner.to_str().encode(), digest_size=8).hexdigest()

    def save(self, path: Path | str) -> None:
        """Write it as one JSON file."""
        self.inner.save(str(path))

    @classmethod
    def load(cls, path: Path | str) -> Tokenizer:
        """Read what `save` wrote.

        Raises:
            UserError: the file is absent or no tokeniser.
        """
        try:
            inner = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise UserError(
                f"{path}: no tokeniser can be read from it ({error}); train the run again"
            ) from error
        if inner.token_to_id(UNK) is None:
            raise UserError(
                f"{path}: holds a tokeniser without the marks {' '.join(MARKS)}; train the run again"
            )
        return cls(inner)


def _is_sign(core: str) -> bool:
    """Whether it is one character, and no letter, mark or digit: the only kind of piece that carries ties."""
    return len(core) == 1 and unicodedata.category(core)[0] not in "LMN"
