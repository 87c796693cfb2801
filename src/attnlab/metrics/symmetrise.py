"""One set of links from two, of models that translate in opposite directions.

`forward` holds the links of the model from source to target, `backward` those of the other one, both already
as (source word, target word). Intersection I and union U are as sets; the grow heuristics lie between
(Koehn, Och and Marcu 2003; pseudo-code in Koehn 2010, chapter 4):

- **grow-diag**: start from I; as long as links are added, go through them by target word, then by source
  word, and add each of the eight neighbours that is in U and whose source OR target word has no link yet.
- **grow-diag-final**: then add those links of `forward`, then of `backward`, whose source word OR target word
  has no link yet.
- **grow-diag-final-and**: the same with AND.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

from attnlab.errors import UserError
from attnlab.metrics.links import Link

Links = frozenset[Link]
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


class _Grown:
    """Links that grow, with the words they cover."""

    def __init__(self, links: Iterable[Link]):
        self.links = set(links)
        self.sources = {i for i, _ in self.links}
        self.targets = {j for _, j in self.links}

    def add(self, link: Link) -> None:
        self.links.add(link)
        self.sources.add(link[0])
        self.targets.add(link[1])

    def new_words(self, link: Link) -> int:
        """How many of the two words of a link have none yet."""
        return (link[0] not in self.sources) + (link[1] not in self.targets)


def intersection(forward: Links, backward: Links) -> Links:
    """Links that both have."""
    return frozenset(forward) & frozenset(backward)


def union(forward: Links, backward: Links) -> Links:
    """Links that either has."""
    return frozenset(forward) | frozenset(backward)


def grow_diag(forward: Links, backward: Links) -> Links:
    """The intersection, grown along neighbours within the union."""
    return frozenset(_grow_diag(forward, backward).links)


def grow_diag_final(forward: Links, backward: Links) -> Links:
    """`grow_diag`, then what has a word without link."""
    return _final(forward, backward, new_words=1)


def grow_diag_final_and(forward: Links, backward: Links) -> Links:
    """`grow_diag`, then what has two words without link."""
    return _final(forward, backward, new_words=2)


SYMMETRISERS: dict[str, Callable[[Links, Links], Links]] = {
    "intersection": intersection,
    "union": union,
    "grow-diag": grow_diag,
    "grow-diag-final": grow_diag_final,
    "grow-diag-final-and": grow_diag_final_and,
}


def symmetrise(forward: Iterable[Link], backward: Iterable[Link], how: str = "grow-diag-final-and") -> Links:
    """One set of links from both directions, both as (source word, target word).

    Raises:
        UserError: `how` is no key of `SYMMETRISERS`.
    """
    if how not in SYMMETRISERS:
        raise UserError(f"--symmetrise {how}: choose one of {', '.join(SYMMETRISERS)}")
    return SYMMETRISERS[how](frozenset(forward), frozenset(backward))


def _by_target(link: Link) -> tuple[int, int]:
    return link[1], link[0]


def _grow_diag(forward: Links, backward: Links) -> _Grown:
    grown = _Grown(intersection(forward, backward))
    within = union(forward, backward)
    added = True
    while added:
        added = False
        # The pseudo-code scans all cells: a link that is added further on is met in the same scan.
        ahead = [_by_target(link) for link in grown.links]
        heapify(ahead)
        while ahead:
            j, i = heappop(ahead)
            for dj, di in _NEIGHBOURS:
                near = (i + di, j + dj)
                if near in within and near not in grown.links and grown.new_words(near):
                    grown.add(near)
                    added = True
                    if _by_target(near) > (j, i):
                        heappush(ahead, _by_target(near))
    return grown


def _final(forward: Links, backward: Links, new_words: int) -> Links:
    grown = _grow_diag(forward, backward)
    for links in (forward, backward):
        for link in sorted(links, key=_by_target):
            if grown.new_words(link) >= new_words:
                grown.add(link)
    return frozenset(grown.links)
