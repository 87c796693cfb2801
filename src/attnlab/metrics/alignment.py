"""Word links out of attention weights, and how well they agree with gold links.

A link `(i, j)` joins source word i with target word j, both counted from 0. Gold links are sure, or merely
possible; every sure link is possible as well. `links.py` reads and writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from attnlab.errors import UserError
from attnlab.metrics.links import Gold, Link

CREDITS = {"predicted": 0, "input": 1}
"""Credit -> how many rows later the weights of a target token are found.

`predicted`: row t belongs to the token that step t emits. `input`: row t belongs to token t - 1, which step
t consumes (Luong 2015, footnote 14). There is a row for the end mark too.
"""


def merge(
    weights: np.ndarray, source_words: Sequence[int], target_words: Sequence[int], credit: str = "predicted"
) -> np.ndarray:
    """Weights of words [target words, source words] from weights of pieces [rows, S].

    Summed over the pieces of a source word, averaged over the pieces of a target word. A piece whose row is
    missing (`input` credit of the last token of an unfinished hypothesis) is left out of the average; a
    word without any row keeps zeros.

    Args:
        weights: [T + 1 or T, S]: a row for each step, the end mark's last; source pieces in columns.
        source_words: [S]: the word each source piece belongs to.
        target_words: [T]: the word each target piece belongs to, end mark left out.
        credit: a key of `CREDITS`.

    Raises:
        UserError: `credit` is unknown.
        ValueError: the sizes do not fit.
    """
    if credit not in CREDITS:
        raise UserError(f"credit={credit}: choose one of {', '.join(CREDITS)}")
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim != 2 or weights.shape[1] != len(source_words):
        raise ValueError(f"weights of shape {weights.shape} do not fit {len(source_words)} source pieces")
    if not len(target_words) <= len(weights) <= len(target_words) + 1:
        raise ValueError(f"{len(weights)} rows of weights do not fit {len(target_words)} target pieces")
    sums = np.zeros((max(target_words, default=-1) + 1, max(source_words, default=-1) + 1))
    counts = np.zeros((len(sums), 1))
    rows = weights[CREDITS[credit] :][: len(target_words)]
    used = np.asarray(target_words[: len(rows)], dtype=np.int64)
    spread = np.zeros((len(rows), sums.shape[1]))
    np.add.at(spread.T, np.asarray(source_words, dtype=np.int64), rows.T)
    np.add.at(sums, used, spread)
    np.add.at(counts, used, 1.0)
    return sums / np.maximum(counts, 1.0)


def arg_max_links(weights: np.ndarray) -> frozenset[Link]:
    """One link a target word: the source word with the largest weight, the first one on a tie.

    `weights` [target words, source words]; a row of zeros (nothing was attended to) gives no link.
    """
    if not weights.size:
        return frozenset()
    best = weights.argmax(1)
    return frozenset((int(i), j) for j, i in enumerate(best) if weights[j, i] > 0)


def threshold_links(weights: np.ndarray, least: float) -> frozenset[Link]:
    """All source words of a target word with a weight of at least `least`; a row may give none, or several.

    `weights` [target words, source words]; a weight of 0 gives no link.

    Raises:
        UserError: `least` is not above 0 and at most 1.
    """
    if not 0 < least <= 1:
        raise UserError(f"threshold {least}: weights lie between 0 and 1; give a number above 0, such as 0.2")
    return frozenset((int(i), int(j)) for j, i in zip(*np.nonzero(weights >= least), strict=True))


def links(
    weights: np.ndarray, source_words: Sequence[int], target_words: Sequence[int], credit: str = "predicted"
) -> frozenset[Link]:
    """Word links of one sentence: `arg_max_links` of `merge`; the arguments are those of `merge`."""
    return arg_max_links(merge(weights, source_words, target_words, credit))


def counts(predicted: Sequence[Iterable[Link]], gold: Sequence[Gold]) -> np.ndarray:
    """The counts of each sentence that AER, precision and recall are made of; sums of them give `rates`.

    Returns:
        int64 [n, 4]: |A|, |S|, |A & S|, |A & P| for links A, sure S and possible P.

    Raises:
        UserError: the numbers of sentences differ.
    """
    if len(predicted) != len(gold):
        raise UserError(
            f"{len(predicted)} sentences with links, {len(gold)} with gold links: not the same set"
        )
    table = np.zeros((len(gold), 4), dtype=np.int64)
    for row, sentence, truth in zip(table, predicted, gold, strict=True):
        found = set(sentence)
        row[:] = (
            len(found),
            len(truth.sure),
            len(found & truth.sure),
            len(found & (truth.possible | truth.sure)),
        )
    return table


def rates(sums: Sequence[int] | np.ndarray) -> dict[str, float | None]:
    """AER, precision and recall from |A|, |S|, |A & S|, |A & P| (Och and Ney 2003, section 5).

    Precision |A & P| / |A|, recall |A & S| / |S|, AER 1 - (|A & S| + |A & P|) / (|A| + |S|). None where a
    denominator is 0.

    Returns:
        `{aer, precision, recall}`, shares.
    """
    found, sure, in_sure, in_possible = (int(value) for value in sums)
    return {
        "aer": 1 - (in_sure + in_possible) / (found + sure) if found + sure else None,
        "precision": in_possible / found if found else None,
        "recall": in_sure / sure if sure else None,
    }


def agreement(predicted: Sequence[Iterable[Link]], gold: Sequence[Gold]) -> dict[str, Any]:
    """`rates` over all sentences together (micro-averaged).

    Returns:
        `{aer, precision, recall, links, sure, n}`; the last three are counts of A, S and sentences.

    Raises:
        UserError: the numbers of sentences differ.
    """
    sums = counts(predicted, gold).sum(0)
    return {**rates(sums), "links": int(sums[0]), "sure": int(sums[1]), "n": len(gold)}
