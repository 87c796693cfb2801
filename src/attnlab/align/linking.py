"""Word links of sentence pairs out of a loaded run, or of two that translate in opposite directions.

Words are the white-space words of the given lines, however the tokenisers cut or lower-case them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from attnlab import build, metrics
from attnlab.errors import UserError
from attnlab.loaded import Loaded
from attnlab.metrics import CREDITS, Link
from attnlab.search import ready

CHUNK = 200
"""Sentences decoded between two reports of how far it is."""

Links = frozenset[Link]
Extract = Callable[[np.ndarray], Links]
"""From weights [target words, source words] to links."""


class Words(NamedTuple):
    """A sentence pair: its place, the target line, its weights [target words, source words] by credit."""

    row: int
    target: str
    weights: dict[str, np.ndarray]


@dataclass
class Linked:
    """What `link` found, in the order of the lines.

    Attributes:
        targets: the target lines: the given ones, or the hypotheses.
        links: credit -> the links of each sentence.
        matrices: of each sentence float32 weights [target words, source words] under the chosen credit.
        backward: the same out of the second run, [target words, source words] too; empty without one.
    """

    targets: list[str]
    links: dict[str, list[Links]]
    matrices: list[np.ndarray]
    backward: list[np.ndarray] = field(default_factory=list)


def link(
    run: Loaded,
    sources: Sequence[str],
    targets: Sequence[str] | None,
    *,
    credit: str = "predicted",
    extract: Extract = metrics.arg_max_links,
    reverse: Loaded | None = None,
    symmetrise: str = "grow-diag-final-and",
    told: Callable[[int], Any] = lambda done: None,
) -> Linked:
    """The links of sentence pairs, by forced decoding; without targets those of the run's own translations.

    Args:
        run: translates from source to target.
        sources: lines of text.
        targets: their translations; None: what the run's search finds.
        credit: of the matrices; links are made for all of `metrics.CREDITS`.
        extract: makes links out of weights.
        reverse: translates from target to source; it reads `sources` by force, its links are turned round.
        symmetrise: a key of `metrics.SYMMETRISERS`, used with `reverse`.
        told: called with the number of sentences after each chunk.

    Raises:
        UserError: a model has no attention, or the numbers of lines differ.
    """
    how = len(sources), credit, extract, told
    if targets is None:
        with ready(run.model):
            forward = _gathered(_searched(run, sources), *how)
    else:
        forward = _gathered(_forced(run, sources, targets), *how)
    if reverse is None:
        return forward
    back = _gathered(_forced(reverse, forward.targets, sources), *how)
    links = {
        each: [
            metrics.symmetrise(here, metrics.transpose(there), symmetrise)
            for here, there in zip(forward.links[each], back.links[each], strict=True)
        ]
        for each in CREDITS
    }
    turned = [np.ascontiguousarray(matrix.T) for matrix in back.matrices]
    return Linked(forward.targets, links, forward.matrices, turned)


def needs_attention(run: Loaded) -> None:
    """Refuses a model that attends to nothing.

    Raises:
        UserError: it does.
    """
    if run.model.decoder.attention is None:
        raise UserError(f"{run.folder}: this model has no attention, so it has no alignment to show")


def opposite(run: Loaded, reverse: Loaded) -> None:
    """Refuses a second run that translates out of the same language.

    Raises:
        UserError: it does.
    """
    here, there = (
        (each.config["data"].get("source"), each.config["data"].get("target")) for each in (run, reverse)
    )
    if here[0] and here[0] == there[0]:
        raise UserError(
            f"--reverse {reverse.folder}: translates from {there[0]} to {there[1]}, as {run.folder} does; "
            f"give a run from {here[1]} to {here[0]}"
        )


def _gathered(
    found: Iterator[list[Words]], size: int, credit: str, extract: Extract, told: Callable[[int], Any]
) -> Linked:
    gathered = Linked(
        [""] * size, {each: [frozenset()] * size for each in CREDITS}, [np.zeros((0, 0))] * size
    )
    for chunk in found:
        for row, target, weights in chunk:
            gathered.targets[row] = target
            for each, matrix in weights.items():
                gathered.links[each][row] = extract(matrix)
            gathered.matrices[row] = weights[credit].astype(np.float32)
        told(len(chunk))
    return gathered


def _forced(run: Loaded, sources: Sequence[str], targets: Sequence[str]) -> Iterator[list[Words]]:
    needs_attention(run)
    for first in range(0, len(sources), CHUNK):
        here, there = list(sources[first : first + CHUNK]), list(targets[first : first + CHUNK])
        attended = run.attend(here, there)
        yield [
            Words(
                first + place,
                target,
                _by_credit(run, source, target, run.target_tokenizer.words_of(target), weights),
            )
            for place, (source, target, (_, _, weights)) in enumerate(zip(here, there, attended, strict=True))
        ]


def _searched(run: Loaded, sources: Sequence[str]) -> Iterator[list[Words]]:
    needs_attention(run)
    search = build.build_search(run.config, n_best=1)
    tokenizer = run.target_tokenizer
    for first in range(0, len(sources), CHUNK):
        lines = list(sources[first : first + CHUNK])
        chunk = []
        for rows, batch in run.batches(run.source_ids(lines), beam=search.beam_size):
            found = search(run.model, batch.source, batch.source_lengths, end=tokenizer.end)
            for row, (best, *_) in zip(rows, found, strict=True):
                text = run.text(lines[row], best, search.replace_unknown)
                words = tokenizer.words(best.tokens)
                weights = _by_credit(run, lines[row], text, words, best.weights.numpy())
                chunk.append(Words(first + row, text, weights))
        yield chunk


def _by_credit(
    run: Loaded, source: str, target: str, target_words: list[int], weights: np.ndarray
) -> dict[str, np.ndarray]:
    """Weights of words under each credit; `data.source_eos` has one more column than the words' pieces."""
    source_words = run.source_tokenizer.words_of(source)
    columns = weights[:, : len(source_words)]
    size = len(target.split()), len(source.split())
    return {
        credit: _filled(metrics.merge(columns, source_words, target_words, credit), size)
        for credit in CREDITS
    }


def _filled(matrix: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The matrix with zeros for words at the end of a line that have no piece."""
    missing = [(0, max(0, wanted - there)) for wanted, there in zip(size, matrix.shape, strict=True)]
    return np.pad(matrix, missing)
