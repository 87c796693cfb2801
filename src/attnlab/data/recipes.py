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

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers

from attnlab.data.tokenizer import MARKS, SPACE, TIE, UNK, Tokenizer
from attnlab.errors import UserError

_WHITE = Regex(r"[\s\x1c-\x1f]+")  # what str.split() splits at
LARGEST = 1_000_000
"""Most subwords of a vocabulary."""
_LETTER = rf"[\p{{L}}\p{{M}}\p{{N}}{TIE}]"
_SIGN = rf"[^\s\p{{L}}\p{{M}}\p{{N}}{TIE}]"


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

    @property
    def asked(self) -> int | None:
        """How many pieces are to be learnt, where that is a number to reach and not only a limit."""
        return None

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
        return Tokenizer(_without_gaps(inner))

    def _trainer(self, made: Any, **options: Any) -> Any:
        marks = [AddedToken(mark, normalized=False, special=True) for mark in MARKS]
        return made(special_tokens=marks, show_progress=False, **options)


def _without_gaps(inner: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """The tokeniser with ids 0..n-1 again where a word of the text was spelt like a mark.

    The library's trainer then gives the mark the id of the word and leaves its own unused.
    """
    vocabulary = inner.get_vocab(with_added_tokens=False)
    if not isinstance(inner.model, models.WordLevel) or max(vocabulary.values()) < len(vocabulary):
        return inner
    words = sorted(vocabulary.keys() - set(MARKS), key=vocabulary.__getitem__)
    ids = {word: i for i, word in enumerate((*MARKS, *words))}
    mended = tokenizers.Tokenizer(models.WordLevel(ids, unk_token=UNK))
    mended.normalizer, mended.pre_tokenizer = inner.normalizer, inner.pre_tokenizer
    mended.add_special_tokens([AddedToken(mark, normalized=False, special=True) for mark in MARKS])
    return mended


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

    def __post_init__(self) -> None:
        super().__post_init__()
        # The library makes room for all of them at once, and ends the process where it cannot.
        if self.size is None or self.size > LARGEST:
            size = "null" if self.size is None else self.size
            raise UserError(
                f"tokenizer.size={size}: subwords need a size of at most {LARGEST:,}, such as 8000"
            )

    @property
    def asked(self) -> int | None:
        """The size: pieces are made until there are so many."""
        return self.size

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
        trainer = self._trainer(trainers.BpeTrainer, vocab_size=self.size, min_frequency=self.min_frequency)
        return self._learn(inner, lines, trainer)


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
        try:
            return self._learn(
                inner, lines, self._trainer(trainers.UnigramTrainer, vocab_size=self.size, unk_token=UNK)
            )
        except BaseException as error:  # a panic of the library, where the text is too small, is no Exception
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            raise UserError(f"tokenizer=unigram: {error}; set a smaller tokenizer.size") from error
