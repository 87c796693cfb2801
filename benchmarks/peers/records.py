"""What a toolkit is given, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

QUIET = 0.10
"""Share of one core that all else on the machine may use in a quiet window."""


@dataclass(frozen=True)
class Setting:
    """One model, `ref-512` unless told otherwise.

    Attributes:
        order: `post_combine_feeding` or `post_combine`, as in `conf/decoder/`: what the peers call input
            feeding, and leaving it off; or `input_feeding`, which no peer has.
        scorer: `additive` or `general`, as in `conf/scorer/`.
        hidden: H of the decoder, K of the bidirectional encoder (both directions together), U of `additive`.
        embedding: E, of both sides.
        sentences: sentences a batch, in training.
        threads: of the whole process.
    """

    order: str = "post_combine_feeding"
    scorer: str = "additive"
    hidden: int = 512
    embedding: int = 256
    dropout: float = 0.2
    sentences: int = 64
    threads: int = 2

    @property
    def feeds(self) -> bool:
        """Whether the readout joins the next input, or the context the input of its own step."""
        return self.order.endswith("_feeding")

    @property
    def name(self) -> str:
        """`order/scorer`."""
        return f"{self.order}/{self.scorer}"

    @classmethod
    def parse(cls, name: str, threads: int = 2) -> Setting:
        """From `order/scorer`.

        Raises:
            ValueError: another name.
        """
        order, _, scorer = name.partition("/")
        orders = "post_combine_feeding", "post_combine", "input_feeding"
        if order not in orders or scorer not in ("additive", "general"):
            raise ValueError(f"{name}: not ORDER/SCORER of {', '.join(orders)} and additive, general")
        return cls(order, scorer, threads=threads)


@dataclass(frozen=True)
class Text:
    """Tokenised, lower-cased text that every toolkit reads as it is, split at spaces.

    Attributes:
        folder: holds `train`, `val` and `test` with the endings of both languages, `vocabulary.LANGUAGE`
            (a word a line, the most frequent first, no marks) and `text.json`.
        tokeniser: what made the tokens.
    """

    folder: Path
    source: str
    target: str
    tokeniser: str
    words: dict[str, int] = field(default_factory=dict)
    """Words of each language's vocabulary, marks not counted."""

    def path(self, split: str, language: str) -> Path:
        """`train.de` and its like."""
        return self.folder / f"{split}.{language}"

    def vocabulary(self, language: str) -> Path:
        """Words, one a line."""
        return self.folder / f"vocabulary.{language}"

    def lines(self, split: str, language: str) -> list[list[str]]:
        """The words of each line."""
        text = self.path(split, language).read_text(encoding="utf-8")
        return [line.split() for line in text.removesuffix("\n").split("\n")]


@dataclass(frozen=True)
class Window:
    """Some updates, as a toolkit reported them.

    Attributes:
        seconds: how long they took.
        rate: target tokens a second, by the toolkit's own count and clock.
        others: cores that all else on the machine used meanwhile, stolen time included.
        update: the last of them.
    """

    seconds: float
    rate: float
    others: float
    update: int


@dataclass(frozen=True)
class Trained:
    """A measured training.

    Attributes:
        windows: those after the warm-up.
        peak_mb: peak resident memory of the process, MiB.
        start_s: seconds from the command to the first report.
    """

    windows: list[Window]
    peak_mb: float
    start_s: float

    @property
    def quiet(self) -> list[Window]:
        """The windows in which nothing else used the cores."""
        return [window for window in self.windows if window.others < QUIET]

    @property
    def chosen(self) -> list[Window]:
        """The quiet windows where they are half of the time or more, else all."""
        quiet, total = self.quiet, sum(window.seconds for window in self.windows)
        return quiet if quiet and sum(window.seconds for window in quiet) >= total / 2 else self.windows

    @property
    def tokens_per_s(self) -> float:
        """Target tokens a second over `chosen`."""
        return sum(w.rate * w.seconds for w in self.chosen) / sum(w.seconds for w in self.chosen)

    @property
    def others(self) -> float:
        """Cores that all else used during `chosen`."""
        return sum(w.others * w.seconds for w in self.chosen) / sum(w.seconds for w in self.chosen)


@dataclass(frozen=True)
class Searched:
    """A measured search at one forced length.

    Attributes:
        sentences: how many were translated.
        length: decoder steps of each: output tokens, the end mark counted where the toolkit predicts it.
        seconds: by the toolkit's own timer, without loading.
        lengths_met: whether every output had the forced length.
        others: cores that all else used during the search.
    """

    sentences: int
    length: int
    seconds: float
    lengths_met: bool
    others: float

    @property
    def tokens_per_s(self) -> float:
        """Output tokens a second."""
        return self.sentences * self.length / self.seconds
