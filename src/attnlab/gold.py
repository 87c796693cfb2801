"""How far the weights of a decoded test set agree with gold links, under both credits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab import metrics as measures
from attnlab.decoding import Sentence
from attnlab.metrics.attention import Rows, rows_of


class Agreement(NamedTuple):
    """What is known of a set with gold links.

    Attributes:
        record: the record's `alignment`.
        counts: [n, credits, 4], as `Segments.alignment`.
        rows: of each sentence the statistics of the weights while its reference was read.
    """

    record: dict[str, Any]
    counts: np.ndarray
    rows: list[Rows]


def agree(
    sentences: Sequence[Sentence],
    sources: Sequence[str],
    references: Sequence[str],
    lines: Sequence[str],
    source_tokenizer: Any,
    target_tokenizer: Any,
) -> Agreement:
    """Arg-max links beside gold links.

    Of every reference while it is read (forced decoding), and of the weights of search: these are those of
    the hypothesis, so only sentences whose hypothesis is the reference can be compared with its gold links.

    Args:
        sentences: decoded with forced weights.
        sources: raw lines.
        references: raw lines.
        lines: gold links, a Pharaoh line a sentence.
        source_tokenizer: the source side's.
        target_tokenizer: the target side's.
    """
    gold = [measures.parse(line or "", f"alignment of sentence {n}") for n, line in enumerate(lines)]
    words = [
        (source_tokenizer.words_of(source), target_tokenizer.words_of(target))
        for source, target in zip(sources, references, strict=True)
    ]
    same = [n for n, s in enumerate(sentences) if s.finished and s.tokens == s.reference]
    record: dict[str, Any] = {}
    search: dict[str, Any] = {}
    counts, rows = [], None
    for credit in measures.CREDITS:
        merged = [
            measures.merge(columns(s.forced, w[0]), *w, credit)
            for s, w in zip(sentences, words, strict=True)
            if s.forced is not None
        ]
        links = [measures.arg_max_links(matrix) for matrix in merged]
        record[credit] = measures.agreement(links, gold)
        counts.append(measures.counts(links, gold))
        rows = rows or rows_of(merged, [item.possible for item in gold])
        searched = [
            measures.links(columns(sentences[n].weights, words[n][0]), *words[n], credit) for n in same
        ]
        search[credit] = measures.agreement(searched, [gold[n] for n in same])
    return Agreement({**record, "search": search}, np.stack(counts, axis=1), rows or [])


def columns(weights: np.ndarray, words: Sequence[int]) -> np.ndarray:
    """The weights of the pieces of words; `data.source_eos` puts one more position behind them."""
    return weights[:, : len(words)]
