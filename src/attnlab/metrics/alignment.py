"""Word links out of attention weights, and how well they agree with gold links.

A link `(i, j)` joins source word i with target word j, both counted from 0; in Pharaoh files it is written
`i-j`. Gold links are sure, or merely possible (`ipj`); every sure link is possible as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab.errors import UserError

Link = tuple[int, int]

CREDITS = {"predicted": 0, "input": 1}
"""Credit -> how many rows later the weights of a target token are found.

`predicted`: row t belongs to the token that step t emits. `input`: row t belongs to token t - 1, which step
t consumes (Luong 2015, footnote 14). There is a row for the end mark too.
"""


class Gold(NamedTuple):
    """Gold links of one sentence; `sure` is a subset of `possible`."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def parse(line: str, where: str = "alignment") -> Gold:
    """Reads one Pharaoh line: `i-j` is a sure link, `ipj` a possible one.

    Raises:
        UserError: an item is of neither form; `where` names the place.
    """
    sure, possible = set(), set()
    for item in line.split():
        mark = "-" if "-" in item else "p"
        left, _, right = item.partition(mark)
        if not (left.isdecimal() and right.isdecimal()):
            raise UserError(f"{where}: '{item}' is no link; write i-j (sure) or ipj (possible), from 0")
        link = (int(left), int(right))
        possible.add(link)
        if mark == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def format_links(links: Iterable[Link], possible: Iterable[Link] = ()) -> str:
    """Writes links as a Pharaoh line, in order of the target word; `possible` ones as `ipj`."""
    sure = set(links)
    marked = {link: "-" if link in sure else "p" for link in sure | set(possible)}
    return " ".join(f"{i}{marked[i, j]}{j}" for i, j in sorted(marked, key=lambda link: (link[1], link[0])))


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


def links(
    weights: np.ndarray, source_words: Sequence[int], target_words: Sequence[int], credit: str = "predicted"
) -> frozenset[Link]:
    """Word links of one sentence: `arg_max_links` of `merge`; the arguments are those of `merge`."""
    return arg_max_links(merge(weights, source_words, target_words, credit))


def agreement(predicted: Sequence[Iterable[Link]], gold: Sequence[Gold]) -> dict[str, Any]:
    """AER, precision and recall over all sentences together (Och and Ney 2003, equations 30 to 32).

    With links A, sure S and possible P: precision |A & P| / |A|, recall |A & S| / |S|,
    AER 1 - (|A & S| + |A & P|) / (|A| + |S|). None where a denominator is 0.

    Returns:
        `{aer, precision, recall, links, sure, n}`; the last three are counts of A, S and sentences.

    Raises:
        UserError: the numbers of sentences differ.
    """
    if len(predicted) != len(gold):
        raise UserError(
            f"{len(predicted)} sentences with links, {len(gold)} with gold links: not the same set"
        )
    found = sure = in_sure = in_possible = 0
    for sentence, truth in zip(predicted, gold, strict=True):
        proposed = set(sentence)
        found += len(proposed)
        sure += len(truth.sure)
        in_sure += len(proposed & truth.sure)
        in_possible += len(proposed & (truth.possible | truth.sure))
    return {
        "aer": 1 - (in_sure + in_possible) / (found + sure) if found + sure else None,
        "precision": in_possible / found if found else None,
        "recall": in_sure / sure if sure else None,
        "links": found,
        "sure": sure,
        "n": len(gold),
    }
