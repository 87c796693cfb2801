"""Unknown words, replaced by the source word with the most attention (Jean et al. 2015, 3.3)."""

from collections.abc import Sequence

from torch import Tensor


def replace_unknown(
    tokens: Sequence[str], weights: Tensor, *, unknown: str, words: Sequence[str], word_of: Sequence[int]
) -> list[str]:
    """Puts a source word in the place of each unknown token.

    The weight of a source word is the sum over its pieces; among equals the first wins. Where nothing was
    looked at (no attention, or a row of zeros), the unknown token stays.

    Args:
        tokens: the pieces of a hypothesis, without end mark.
        weights: [T or T + 1, S], a row a piece; a row for the end mark is ignored.
        unknown: the text of the unknown token.
        words: the source's raw words.
        word_of: for each of the S source tokens the index of its word.
    """
    out = list(tokens)
    for i, token in enumerate(tokens):
        if token != unknown or not words:
            continue
        seen = [0.0] * len(words)
        for word, weight in zip(word_of, weights[i].tolist(), strict=True):
            seen[word] += weight
        best = max(seen)
        if best > 0:
            out[i] = words[seen.index(best)]
    return out
