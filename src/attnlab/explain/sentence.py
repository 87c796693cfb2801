"""The sentence that runs are shown on: given, or a line of a test set with its reference and gold links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab import metrics
from attnlab.errors import UserError

if TYPE_CHECKING:
    from attnlab.explain.reading import Reading
    from attnlab.loaded import Loaded


class Sentence(NamedTuple):
    """A source sentence and what is known of it.

    Attributes:
        source: its text.
        reference: the translation of the test set; None for a sentence of nobody's.
        gold: its gold links as `i-j`, words counted from 0; None where there are none.
        unread: why the test and validation sets could not be searched for it; empty where they were.
    """

    source: str
    reference: str | None = None
    gold: str | None = None
    unread: str = ""


def line_of(config: Mapping[str, Any], number: int) -> Sentence:
    """Line `number`, from 0, of the first test set of a run.

    Raises:
        UserError: there is no such line, or the text cannot be read.
    """
    from attnlab.build import build_corpus

    try:
        corpus = build_corpus(config)
        rows = corpus.split(corpus.test[0])
    except UserError as error:
        said = "these are the settings of the first run, read where the verb runs"
        raise UserError(f"--test {number}: {error} ({said})") from error
    if not 0 <= number < len(rows):
        raise UserError(f"--test {number}: {corpus.test[0]} has the lines 0 to {len(rows) - 1}")
    return _of(rows[number])


def known(config: Mapping[str, Any], source: str) -> Sentence:
    """The sentence as the test or validation sets of a run have it; where none does, alone."""
    from attnlab.build import build_corpus

    try:
        corpus = build_corpus(config)
        for name in [*corpus.test, corpus.val]:
            rows = corpus.split(name)
            texts = rows["source"][:]
            if source in texts:
                return _of(rows[texts.index(source)])
    except (UserError, OSError) as error:  # the text is not at hand: then nothing is known of it
        return Sentence(source, unread=" ".join(str(error).split()))
    return Sentence(source)


def _of(row: Mapping[str, Any]) -> Sentence:
    return Sentence(row["source"], row["target"], row.get("alignment") or None)


def add_gold(reading: Reading, sentence: Sentence, run: Loaded) -> None:
    """The gold links as cells of pieces, where the run's translation is the reference."""
    if not sentence.gold or not reading.attends:
        return
    if sentence.reference is None or reading.text.split() != sentence.reference.split():
        reading.note = "The gold alignment belongs to the reference, and this translation is another."
        return
    tokenizer = run.target_tokenizer
    known = [*tokenizer.encode([sentence.reference])[0], tokenizer.end]
    # A search may have put the reference's words together of other pieces than its tokeniser would.
    as_encoded = reading.tokens == known[: len(reading.tokens)]
    written = [token for token in reading.tokens if token != tokenizer.end]
    rows = tokenizer.words_of(sentence.reference) if as_encoded else tokenizer.words(written)
    words = run.source_tokenizer.words_of(sentence.source), rows
    links = metrics.parse(sentence.gold, "the gold alignment").possible
    reading.gold = [
        (row, column)
        for row, j in enumerate(words[1])
        for column, i in enumerate(words[0])
        if (i, j) in links and row < len(reading.steps) and column < len(reading.source)
    ]
