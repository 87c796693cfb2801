"""From the ids of a hypothesis to one line of text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch

from attnlab.search import replace_unknown as replaced


def detokenised(
    tokens: Sequence[int],
    weights: Any,
    *,
    source: str,
    source_tokenizer: Any,
    target_tokenizer: Any,
    replace_unknown: bool = False,
) -> str:
    """One line of text, whatever was emitted; line breaks that a vocabulary may hold become spaces.

    Args:
        tokens: the hypothesis, without end mark.
        weights: [T or T+1, S], its attention; used only where unknown words are replaced.
        source: the raw source line.
        source_tokenizer: the source side's tokeniser.
        target_tokenizer: the target side's.
        replace_unknown: put the source word with the most attention in the place of each unknown token.
    """
    ids = list(tokens)
    if not replace_unknown or target_tokenizer.unk not in ids:
        return " ".join(target_tokenizer.decode(ids).split("\n")).strip()
    unknown = target_tokenizer.pieces([target_tokenizer.unk])[0]
    word_of = source_tokenizer.words_of(source)
    pieces = replaced(
        target_tokenizer.pieces(ids),
        torch.as_tensor(weights)[:, : len(word_of)],
        unknown=unknown,
        words=source.split(),
        word_of=word_of,
    )
    # word by word, so that the tokeniser's own joining is used wherever nothing was replaced
    words = []
    for _, group in groupby(enumerate(target_tokenizer.words(ids)), key=lambda pair: pair[1]):
        places = [place for place, _ in group]
        parts = []
        for is_unknown, found in groupby(places, key=lambda place: ids[place] == target_tokenizer.unk):
            run = list(found)
            parts.append(
                "".join(pieces[place] for place in run)
                if is_unknown
                else target_tokenizer.decode([ids[place] for place in run])
            )
        words.append("".join(parts))
    return " ".join(word for word in words if word)
