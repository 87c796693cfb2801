"""Tokenisers: words, BPE and unigram pieces over HF `tokenizers`, each of which gives the text back.

The configuration names a recipe (`Words`, `BPE`, `Unigram`); `recipe.train(lines)` makes a `Tokenizer`.

**Words.** Text is split at white space and around each character that is no letter, mark or digit. Such a
character carries a tie where no white space was: `Hello, (you)` gives `Hello ‿, (‿ you ‿)`. Words never
carry one, so `you` is the same word before a comma and before a space, and joining the pieces at spaces and
taking the ties out gives the text back. The splitting is part of the stored file: it is done by the
normaliser, with zero-width replacements.

**Subwords.** A word begins with `▁`, as in SentencePiece; pieces never cross punctuation. The text's own `▁`
becomes `_`.

Both put every run of white space into one space. Unknown words come back as `⁇`.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers

from attnlab.errors import UserError

PAD, UNK, START, END = MARKS = ("<pad>", "<unk>", "<s>", "</s>")
UNKNOWN_TEXT = "⁇"
TIE, SPACE = "‿", "▁"

_WHITE = Regex(r"[\s\x1c-\x1f]+")  # what str.split() splits at
_LETTER = rf"[\p{{L}}\p{{M}}\p{{N}}{TIE}]"
_SIGN = rf"[^\s\p{{L}}\p{{M}}\p{{N}}{TIE}]"


class Tokenizer:
    """Text to ids and back, for one side or, joint, for both."""

    def __init__(self, inner: tokenizers.Tokenizer) -> None:
        self.inner = inner
        inner.encode_special_tokens = True  # '</s>' in a text is text
        self.size: int = inner.get_vocab_size()
        self.pad, self.unk, self.start, self.end = (inner.token_to_id(mark) for mark in MARKS)
        self._text = [inner.id_to_token(i) for i in range(self.size)]
        self._subword = inner.decoder is not None
        # What each id says of the white space around it: none on its left, none on its right.
        signs = [not self._subword and _is_sign(piece.strip(TIE)) for piece in self._text]
        self._tied_left = [self._left(piece, sign) for piece, sign in zip(self._text, signs, strict=True)]
        self._tied_right = [
            sign and piece.endswith(TIE) for piece, sign in zip(self._text, signs, strict=True)
        ]

    def _left(self, piece: str, sign: bool) -> bool:
        if self._subword:
            return not piece.startswith(SPACE)
        return sign and piece.startswith(TIE)

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
            if not (glued or (self._tied_left[i] and i != self.unk)):
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
        # A word's '▁' is read off the space before it: the last character of a piece is surely in the word.
        return [bisect_right(begins, max(start, end - 1)) - 1 for start, end in encoding.offsets]

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
    return len(core) == 1 and re.fullmatch(r"[^\w\s]|_", core) is not None


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What all recipes share.

    Args:
        size: most pieces, marks included; null: as many as `min_frequency` leaves.
        joint: one vocabulary for both sides, learnt from both.
    """

    size: int | None = None
    joint: bool = False

    def __post_init__(self) -> None:
        if self.size is not None and self.size <= len(MARKS):
            raise UserError(
                f"tokenizer.size={self.size}: {len(MARKS)} marks are part of it; set a larger size"
            )
        if getattr(self, "min_frequency", 1) < 1:
            raise UserError("tokenizer.min_frequency must be at least 1")

    def identity(self) -> dict[str, Any]:
        """Everything but the text that decides what is learnt."""
        return {"recipe": type(self).__qualname__, **asdict(self), "tokenizers": tokenizers.__version__}

    def train(self, lines: Iterable[str], *, lowercase: bool = False) -> Tokenizer:
        """Learn a tokeniser from lines of text (blank ones tell nothing)."""
        raise NotImplementedError

    def _normalizer(self, lowercase: bool, *more: Any) -> Any:
        steps = [normalizers.Replace(_WHITE, " "), normalizers.Strip()]
        if lowercase:
            steps.append(normalizers.Lowercase())
        return normalizers.Sequence([*steps, *more])

    def _learn(self, inner: tokenizers.Tokenizer, lines: Iterable[str], trainer: Any) -> Tokenizer:
        inner.train_from_iterator(lines, trainer)
        return Tokenizer(inner)

    def _trainer(self, made: Any, **options: Any) -> Any:
        marks = [AddedToken(mark, normalized=False, special=True) for mark in MARKS]
        return made(special_tokens=marks, show_progress=False, **options)


@dataclass(frozen=True, kw_only=True)
class Words(Recipe):
    """Whole words.

    Args:
        min_frequency: rarer words are unknown.
        split_punctuation: false: words are what white space separates, for text that is tokenised already.
    """

    min_frequency: int = 2
    split_punctuation: bool = True

    def train(self, lines: Iterable[str], *, lowercase: bool = False) -> Tokenizer:
        """Count the words; ties in frequency go by the alphabet."""
        ties = (
            [
                normalizers.Replace(Regex(rf"(?<=\S)(?={_SIGN})"), f" {TIE}"),
                normalizers.Replace(Regex(rf"(?<={_SIGN})(?={_LETTER})"), f"{TIE} "),
            ]
            if self.split_punctuation
            else []
        )
        inner = tokenizers.Tokenizer(models.WordLevel(unk_token=UNK))
        inner.normalizer = self._normalizer(lowercase, *ties)
        inner.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
        size = self.size or 2**31
        return self._learn(
            inner,
            lines,
            self._trainer(trainers.WordLevelTrainer, vocab_size=size, min_frequency=self.min_frequency),
        )


@dataclass(frozen=True, kw_only=True)
class _Subwords(Recipe):
    size: int | None = 8000

    def _pieces(self, model: Any, lowercase: bool) -> tokenizers.Tokenizer:
        inner = tokenizers.Tokenizer(model)
        inner.normalizer = self._normalizer(lowercase, normalizers.Replace(SPACE, "_"))
        inner.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Metaspace(SPACE, "always"),
                # Signs stand alone, each with the '▁' in front of it where there is one.
                pre_tokenizers.Split(Regex(rf"{SPACE}?[^\s{SPACE}\p{{L}}\p{{M}}\p{{N}}]"), "isolated"),
            ]
        )
        inner.decoder = decoders.Metaspace(SPACE, "always")
        return inner


@dataclass(frozen=True, kw_only=True)
class BPE(_Subwords):
    """Byte-pair encoding (Sennrich 2016) over characters.

    Args:
        min_frequency: pairs seen less often aren't merged.
    """

    joint: bool = True
    min_frequency: int = 2

    def train(self, lines: Iterable[str], *, lowercase: bool = False) -> Tokenizer:
        """Merge the most frequent pairs until `size` is reached."""
        inner = self._pieces(models.BPE(unk_token=UNK), lowercase)
        size = self.size or 2**31
        return self._learn(
            inner,
            lines,
            self._trainer(trainers.BpeTrainer, vocab_size=size, min_frequency=self.min_frequency),
        )


@dataclass(frozen=True, kw_only=True)
class Unigram(_Subwords):
    """The unigram language model over pieces (Kudo 2018).

    Two trainings on the same text may differ in `tokenizers` 0.23: the first one is cached, and each run
    stores the tokeniser it was trained with.
    """

    joint: bool = True

    def train(self, lines: Iterable[str], *, lowercase: bool = False) -> Tokenizer:
        """Prune a large set of pieces down to `size` by likelihood."""
        inner = self._pieces(models.Unigram(), lowercase)
        if self.size is None:
            raise UserError("tokenizer.size=null: unigram needs a size, such as 8000")
        try:
            return self._learn(
                inner, lines, self._trainer(trainers.UnigramTrainer, vocab_size=self.size, unk_token=UNK)
            )
        except BaseException as error:  # a panic of the library, where the text is too small, is no Exception
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            raise UserError(f"tokenizer=unigram: {error}; set a smaller tokenizer.size") from error
