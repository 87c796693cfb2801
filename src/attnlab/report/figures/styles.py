"""How a cell looks, the same in every figure and on the page: colour, marker, dash. Pure; no matplotlib.

Colours: Okabe and Ito, "Color Universal Design" (2008), without black, which the cells without attention
have, and without the pale yellow. Colour tells the axis with most options, dash the second one, and the
marker the cell itself, so that a print in grey can be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from attnlab.report.columns import BLEU
from attnlab.report.rows import SYSTEM, Row

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = (
    "circle", "square", "triangle", "diamond", "down", "plus",
    "star", "hexagon", "left", "pentagon", "right", "cross",
)  # fmt: skip
# lengths of ink and gap in widths of the line; nothing: solid
DASHES: tuple[tuple[float, ...], ...] = ((), (5.0, 2.0), (1.0, 1.5), (5.0, 1.5, 1.0, 1.5))
BASELINE, OUTSIDE, CROWD_COLOUR = "#000000", "#666666", "#BBBBBB"
CROWD = 12  # cells; lines of more cannot be told apart
_BASELINE_MARKERS, _BASELINE_DASH = ("cross", "plus", "star"), (4.0, 2.0)
_OUTSIDE_DASH = (1.0, 1.0)
_ENTRY = 48  # characters of an entry of a legend


class Look(NamedTuple):
    """A colour (`#rrggbb`), the name of a marker (one of `MARKERS`), a dash (empty: solid), a weight."""

    color: str
    marker: str
    dash: tuple[float, ...] = ()
    heavy: bool = False


class Cast(NamedTuple):
    """Who is shown how: the rows with a look and an entry of the legend each; the rest is a grey crowd."""

    looks: dict[str, Look]
    entries: dict[str, str]
    crowd: frozenset[str]

    @property
    def crowded(self) -> bool:
        """Whether there are too many cells to show each on its own."""
        return bool(self.crowd)

    def only(self, keys: Collection[str]) -> Cast:
        """Without the rows that a figure has no numbers of."""
        return Cast(
            {key: look for key, look in self.looks.items() if key in keys},
            {key: entry for key, entry in self.entries.items() if key in keys},
            self.crowd & frozenset(keys),
        )

    def order(self, rows: Sequence[Row]) -> list[Row]:
        """The crowd first, so that it lies below."""
        shown = [row for row in rows if row.key in self.looks or row.key in self.crowd]
        return sorted(shown, key=lambda row: row.key not in self.crowd)


def looks(rows: Sequence[Row]) -> list[Look]:
    """The look of every row, in order; it depends on all rows of the comparison.

    Cells without attention are black, dashed and heavier; systems from outside are dark grey and dotted.
    """
    attending = [row for row in rows if row.attends]
    axes = list(attending[0].cell) if attending else []
    options = {axis: sorted({str(row.cell[axis]) for row in attending}) for axis in axes}
    ranked = sorted((axis for axis in axes if len(options[axis]) > 1), key=lambda axis: -len(options[axis]))
    alike = len({tuple(row.cell.values()) for row in attending}) < len(attending)
    found: list[Look] = []
    number = black = grey = 0
    for row in rows:
        if row.kind == SYSTEM:
            found.append(Look(OUTSIDE, MARKERS[-1 - grey % len(MARKERS)], _OUTSIDE_DASH))
            grey += 1
        elif not row.attends:
            marker = _BASELINE_MARKERS[black % len(_BASELINE_MARKERS)]
            found.append(Look(BASELINE, marker, _BASELINE_DASH, heavy=True))
            black += 1
        else:
            ranks = [options[axis].index(str(row.cell[axis])) for axis in ranked]
            if alike or not ranks:
                colour, dash = number, number // len(MARKERS)
            elif len(ranks) == 1:
                colour = dash = ranks[0]
            else:
                colour, dash = ranks[0], sum(rank * 2**place for place, rank in enumerate(ranks[1:]))
            found.append(
                Look(
                    COLOURS[colour % len(COLOURS)],
                    MARKERS[number % len(MARKERS)],
                    DASHES[dash % len(DASHES)],
                )
            )
            number += 1
    return found


def cast(rows: Sequence[Row], axes: Sequence[str], baseline: str | None = None) -> Cast:
    """Gives every row its look; among more than `CROWD` rows only to the best, the worst and the baseline.

    The baseline is the row whose key is `baseline`, or where there is none the best cell without attention.
    """
    scored = [row for row in rows if row.runs]
    texts = dict(zip((row.key for row in scored), entries(scored, axes), strict=True))
    if len(scored) <= CROWD:
        shown = {row.key: one for row, one in zip(rows, looks(rows), strict=True) if row.runs}
        return Cast(shown, texts, frozenset())
    ranked = [row for row in scored if row.spread(BLEU).mean is not None]
    ranked.sort(key=lambda row: -(row.spread(BLEU).mean or 0.0))
    fixed = [row for row in ranked if not row.attends and row.kind != SYSTEM]
    named: dict[str, list[str]] = {}
    for word, some in (
        ("best", ranked),
        ("worst", ranked[::-1]),
        ("baseline", [row for row in scored if row.key == baseline] or fixed),
    ):
        for row in some[:1]:
            named.setdefault(row.key, []).append(word)
    kept = [row for row in scored if row.key in named]
    return Cast(
        {row.key: one for row, one in zip(kept, looks(kept), strict=True)},
        {row.key: f"{' and '.join(named[row.key])}: {texts[row.key]}" for row in kept},
        frozenset(row.key for row in scored if row.key not in named),
    )


def entries(rows: Sequence[Row], axes: Sequence[str]) -> list[str]:
    """The lines of the legend, all different, in the order of the table; long ones are cut.

    Lines that the cut would make alike name their row of the table. Systems from outside are marked: nothing
    is known of their training.
    """
    several = len({len(row.runs) for row in rows if row.kind != SYSTEM}) > 1
    seeds = [f" (seeds: {len(row.runs)})" if several else "" for row in rows]
    tails = [
        " (not controlled)" if row.kind == SYSTEM else tail for row, tail in zip(rows, seeds, strict=True)
    ]
    shortest = [_cut(row.name(axes), max(tails, key=len)) for row in rows]
    times = Counter(shortest)
    return [
        _cut(row.name(axes), f" (row {number}){tail}" if times[text] > 1 else tail)
        for number, (row, text, tail) in enumerate(zip(rows, shortest, tails, strict=True), 1)
    ]


def _cut(text: str, tail: str) -> str:
    room = _ENTRY - len(tail)
    text = " ".join(text.split())
    return (text if len(text) <= room else text[: room - 1].rstrip(" ,") + "…") + tail
