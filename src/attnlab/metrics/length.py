"""Length buckets: upper edges, inclusive, then the rest. Lengths are white-space words of the raw text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from attnlab.errors import UserError


def words(line: str) -> int:
    """White-space words of a raw line; 0 for an empty one."""
    return len(line.split())


def check_edges(edges: Sequence[int]) -> list[int]:
    """The edges as a list of ints.

    Raises:
        UserError: an edge is not a positive integer, or the edges do not rise.
    """
    values = list(edges) if isinstance(edges, Sequence) and not isinstance(edges, str) else None
    whole = values is not None and all(
        isinstance(edge, int) and not isinstance(edge, bool) for edge in values
    )
    if values is not None and whole and all(low < high for low, high in pairwise([0, *values])):
        return values
    raise UserError(
        f"metrics.length_edges={edges}: the edges must be rising integers from 1, e.g. [10,20,30]"
    )


def buckets(lengths: Sequence[int], edges: Sequence[int]) -> list[dict[str, Any]]:
    """Every bucket as `{lo, hi, members}`: both ends inclusive, `hi` None for the rest, members = indices.

    The first bucket starts at 0, so that empty lines belong to a bucket and the counts add up.
    """
    lows = [0, *(edge + 1 for edge in edges)]
    table: list[dict[str, Any]] = [
        {"lo": low, "hi": high, "members": []} for low, high in zip(lows, [*edges, None], strict=True)
    ]
    for index, length in enumerate(lengths):
        table[bisect_left(edges, length)]["members"].append(index)
    return table


def label(bucket: Mapping[str, Any]) -> str:
    """`<=10`, `11-20`, `>60`: how a bucket is called in tables and figures."""
    low, high = bucket["lo"], bucket["hi"]
    if high is None:
        return f">{low - 1}" if low else "all"
    return f"{low}-{high}" if low > 1 else f"<={high}"


def centre(bucket: Mapping[str, Any], width: float = 10.0) -> float:
    """Where a bucket is drawn, in words: its middle; the open one `width / 2` beyond its lower edge."""
    low, high = bucket["lo"], bucket["hi"]
    before = max(low - 1, 0)
    return before + width / 2 if high is None else (before + high) / 2
