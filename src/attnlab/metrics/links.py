"""Gold links as files have them, and how links are written. Pure: works on lines, the caller opens the file.

A link `(i, j)` joins source word i with target word j, both counted from 0. Two formats are read:

- **pharaoh**: a line a sentence, `i-j` a sure link, `ipj` (or `i?j`) a possible one. Counted from 0, unless
  said otherwise.
- **naacl**: a line a link, `sentence i j [S|P] [confidence]` (Mihalcea and Pedersen 2003), all counted from
  1; sure where neither is said. A sentence without a line has no links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from attnlab.errors import UserError

Link = tuple[int, int]
Sizes = tuple[int, int]
"""Source words, target words of a sentence."""

# As many digits as a text can need: longer ones are no number for int().
_PHARAOH = re.compile(r"([0-9]{1,18})([-p?])([0-9]{1,18})", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)


class Gold(NamedTuple):
    """Gold links of one sentence; `sure` is a subset of `possible`."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def parse(
    line: str, where: str = "alignment", *, one_based: bool = False, sizes: Sizes | None = None
) -> Gold:
    """Reads one Pharaoh line: `i-j` is a sure link, `ipj` or `i?j` a possible one.

    Args:
        line: the links of a sentence, white space between them.
        where: names the place in errors.
        one_based: words count from 1.
        sizes: source and target words of the sentence, to refuse a link beyond them; None: not known.

    Raises:
        UserError: an item is of neither form, or points to a word that is not there.
    """
    sure, possible = set(), set()
    for item in line.split():
        found = _PHARAOH.fullmatch(item)
        if found is None:
            raise UserError(f"{where}: '{item}' is no link; write i-j (sure) or ipj (possible)")
        link = _checked(int(found[1]), int(found[3]), one_based, sizes, where, item)
        possible.add(link)
        if found[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def format_links(links: Iterable[Link], possible: Iterable[Link] = ()) -> str:
    """Writes links as a Pharaoh line, in order of the target word; `possible` ones as `ipj`."""
    sure = set(links)
    marked = {link: "-" if link in sure else "p" for link in sure | set(possible)}
    return " ".join(f"{i}{marked[i, j]}{j}" for i, j in sorted(marked, key=lambda link: (link[1], link[0])))


def transpose(links: Iterable[Link]) -> frozenset[Link]:
    """The same links with source and target exchanged."""
    return frozenset((j, i) for i, j in links)


def read_gold(
    lines: Iterable[str],
    sizes: Sequence[Sizes],
    *,
    form: str | None = None,
    one_based: bool | None = None,
    name: str = "gold",
) -> list[Gold]:
    """Reads the gold links of a test set.

    Args:
        lines: the lines of the file, without line ends.
        sizes: for each sentence its source words and target words.
        form: a key of `FORMATS`; None: what the first line that is not blank looks like.
        one_based: whether words count from 1; None: as the format has it (pharaoh 0, naacl 1).
        name: of the file, for errors.

    Returns:
        The links of each sentence.

    Raises:
        UserError: no such format, a line that is not of it, another number of sentences than `sizes` has,
            or a link to a word that is not there; the message has file and line.
    """
    lines = list(lines)
    form = form or recognise(lines, name)
    if form not in FORMATS:
        raise UserError(f"--gold-format {form}: choose one of {', '.join(FORMATS)}")
    chosen = FORMATS[form]
    return chosen.read(lines, sizes, chosen.one_based if one_based is None else one_based, name)


def recognise(lines: Iterable[str], name: str = "gold") -> str:
    """The format of the first line that is not blank; pharaoh where all are.

    No line is of both: all items of a Pharaoh line hold a mark between two numbers, the first three of a
    NAACL line are bare numbers.

    Raises:
        UserError: the line is of neither.
    """
    for number, line in enumerate(lines, start=1):
        if fields := line.split():
            if _PHARAOH.fullmatch(fields[0]):
                return "pharaoh"
            if len(fields) >= 3 and all(_NUMBER.fullmatch(field) for field in fields[:3]):
                return "naacl"
            raise UserError(
                f"{name}, line {number}: neither links (i-j, ipj) nor `sentence i j [S|P]`; "
                "convert the file to one of these"
            )
    return "pharaoh"


def _pharaoh(lines: Sequence[str], sizes: Sequence[Sizes], one_based: bool, name: str) -> list[Gold]:
    if len(lines) != len(sizes):
        raise UserError(
            f"{name} has {len(lines)} lines, the text {len(sizes)}: line n of one must belong to line n of "
            "the other"
        )
    return [
        parse(line, f"{name}, line {number}", one_based=one_based, sizes=size)
        for number, (line, size) in enumerate(zip(lines, sizes, strict=True), start=1)
    ]


def _naacl(lines: Sequence[str], sizes: Sequence[Sizes], one_based: bool, name: str) -> list[Gold]:
    sure: list[set[Link]] = [set() for _ in sizes]
    possible: list[set[Link]] = [set() for _ in sizes]
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if not fields:
            continue
        where = f"{name}, line {number}"
        head, tail = fields[:3], fields[3:]
        mark = tail.pop(0) if tail and tail[0] in ("S", "P") else "S"
        if (
            len(head) < 3
            or not all(_NUMBER.fullmatch(field) for field in head)
            or len(tail) > 1
            or not all(_is_number(field) for field in tail)
        ):
            raise UserError(f"{where}: '{line.strip()}' is not `sentence i j [S|P] [confidence]`")
        sentence = int(head[0])
        if not 1 <= sentence <= len(sizes):
            raise UserError(
                f"{where}: there is no sentence {sentence}; the text has {len(sizes)}, counted from 1"
            )
        size = sizes[sentence - 1]
        link = _checked(int(head[1]), int(head[2]), one_based, size, where, line.strip())
        possible[sentence - 1].add(link)
        if mark == "S":
            sure[sentence - 1].add(link)
    return [Gold(frozenset(s), frozenset(p)) for s, p in zip(sure, possible, strict=True)]


class Format(NamedTuple):
    """How a format is read, and whether its words count from 1 unless said otherwise."""

    read: Callable[[Sequence[str], Sequence[Sizes], bool, str], list[Gold]]
    one_based: bool


FORMATS = {"pharaoh": Format(_pharaoh, False), "naacl": Format(_naacl, True)}


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _checked(i: int, j: int, one_based: bool, sizes: Sizes | None, where: str, item: str) -> Link:
    """The link counted from 0.

    Raises:
        UserError: it points to a word that is not there.
    """
    if one_based:
        if not (i and j):
            # In the shared task's files 0 is the empty word, which has no place in A, S and P.
            raise UserError(
                f"{where}: '{item}' has a 0, but words count from 1; say so if they do not, "
                "or take out links to the empty word"
            )
        i, j = i - 1, j - 1
    if sizes is not None and not (i < sizes[0] and j < sizes[1]):
        base = " (counted from 1)" if one_based else ""
        raise UserError(
            f"{where}: '{item}' points beyond the sentence of {sizes[0]} source and {sizes[1]} target "
            f"words{base}; are the files of one set, in this order, and counted so?"
        )
    return i, j
