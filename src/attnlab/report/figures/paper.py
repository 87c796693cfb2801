"""A figure as papers want it: width of a column, sizes of type, embedded fonts, the same bytes on each call.

PDF embeds TrueType (type 42), which conference checkers ask for. SVG keeps text as text: it can be searched
and edited, and shows any script where the reader's machine has a font for it. PNG and PDF take letters that
DejaVu Sans lacks from an installed font; where none has them, a box stands in their place.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.report.figures.styles import CROWD_COLOUR, Cast, Look
from attnlab.report.rows import Comparison, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE, TWO = 3.3, 6.9  # inches: a column of the page, and both
KINDS = ("svg", "png", "pdf")
_DPI = 300
_TYPE = 7.0  # points
_HANDLE = 3.2  # of a legend's entry, in widths of a letter
_DEEPEST = 5  # rows of a legend below one column; a longer one stands on the right of two
_MARKS = {
    "circle": "o", "square": "s", "triangle": "^", "diamond": "D", "down": "v", "plus": "P",
    "star": "*", "hexagon": "h", "left": "<", "pentagon": "p", "right": ">", "cross": "X",
}  # fmt: skip
_SIZES = {"star": 6.5, "plus": 5.0, "cross": 4.8, "diamond": 3.7, "square": 3.8}  # of equal weight to the eye
_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "attnlab",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],  # the further ones for readers of the SVG
    "font.size": _TYPE,
    "axes.titlesize": _TYPE + 0.5,
    "axes.labelsize": _TYPE + 0.5,
    "xtick.labelsize": _TYPE,
    "ytick.labelsize": _TYPE,
    "legend.fontsize": _TYPE,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
}


@contextmanager
def style(texts: Sequence[str] = ()) -> Iterator[None]:
    """The settings of all figures; `texts` are what will be written, for the choice of fonts."""
    import matplotlib

    settings: Any = _SETTINGS | {"font.family": ["sans-serif", *_further("".join(texts))]}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        yield


def sheet(width: float, height: float, panels: int = 1) -> tuple[Figure, list[Any]]:
    """A figure of inches with its panels side by side, grid lines behind."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    for one in axes:
        one.grid(axis="y", color="0.9", linewidth=0.5)
        one.set_axisbelow(True)
        one.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    return figure, axes


def save(figure: Figure, stem: Path) -> list[Path]:
    """Writes the figure as SVG, PNG (300 dpi) and PDF, without a date and without the name of a program."""
    empty: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Creator": None},
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
    }
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # one layout for all
    paths = []
    for kind in KINDS:
        paths.append(stem.with_name(f"{stem.name}.{kind}"))
        figure.savefig(paths[-1], dpi=_DPI, metadata=empty[kind])
    return paths


def pen(look: Look | None) -> dict[str, Any]:
    """A look as keywords of `Axes.plot`; None: one of the crowd."""
    if look is None:
        return {"color": CROWD_COLOUR, "linewidth": 0.6, "linestyle": "-", "zorder": 1}
    return {
        "color": look.color,
        "marker": _MARKS[look.marker],
        "linestyle": (0, look.dash) if look.dash else "-",
        "linewidth": 1.5 if look.heavy else 1.1,
        "markersize": _SIZES.get(look.marker, 4.0) * (1.1 if look.heavy else 1.0),
        "markeredgecolor": "white",
        "markeredgewidth": 0.4,
        "zorder": 4 if look.heavy else 3,
    }


def dot(look: Look | None) -> dict[str, Any]:
    """A look as keywords of `Axes.plot` for a lone point."""
    if look is None:
        return {"color": CROWD_COLOUR, "marker": "o", "markersize": 3, "linestyle": "", "zorder": 1}
    return pen(look) | {"linestyle": "", "markersize": 1.35 * _SIZES.get(look.marker, 4.0)}


def texts(rows: Sequence[Row], cast: Cast, numbered: bool = False) -> list[str]:
    """The entries of the legend, of the rows that have a look, in the order of the table."""
    numbers = {row.key: number for number, row in enumerate(rows, 1)}
    found = [
        f"{numbers[row.key]}  {cast.entries[row.key]}" if numbered else cast.entries[row.key]
        for row in rows
        if row.key in cast.entries
    ]
    return [*found, f"{len(cast.crowd)} other cells"] if cast.crowded else found


def width(entries: Sequence[str]) -> float:
    """One column where the legend fits below it in few rows, else two."""
    columns = _columns(entries, ONE)
    return ONE if columns and -(-len(entries) // columns) <= _DEEPEST else TWO


def depth(entries: Sequence[str], room: float) -> float:
    """Inches that a legend below takes."""
    return 0.14 * -(-len(entries) // max(_columns(entries, room), 1)) + 0.08


def legend(
    figure: Figure, rows: Sequence[Row], cast: Cast, entries: Sequence[str], title: str, lines: bool = True
) -> None:
    """The legend below the panels, or on the right of a single one in the width of two columns."""
    from matplotlib.lines import Line2D

    keywords = pen if lines else dot
    shown: list[Look | None] = [cast.looks[row.key] for row in rows if row.key in cast.looks]
    shown += [None] if cast.crowded else []
    handles = [Line2D([], [], **keywords(look)) for look in shown]
    inches = figure.get_figwidth()
    beside = inches == TWO and len(figure.axes) == 1
    box = figure.legend(
        handles,
        entries,
        loc="outside right upper" if beside else "outside lower center",
        ncols=1 if beside else min(max(_columns(entries, inches), 1), len(entries)),
        frameon=False,
        handlelength=_HANDLE if lines else 1.5,
        columnspacing=1.2,
        labelspacing=0.35,
        borderaxespad=0.2,
        title=title if beside else None,
        title_fontsize=_TYPE,
        alignment="left",
    )
    for text in [*box.get_texts(), box.get_title()]:
        text.set_parse_math(False)


def head(axes: Any, comparison: Comparison, text: str = "", label: str | None = None) -> None:
    """Which test set (and panel) this is, small and on the left; `label` in the place of the test set's."""
    parts = [
        comparison.label if label is None else label,
        comparison.content if comparison.several else "",
        text,
    ]
    axes.set_title(": ".join(filter(None, parts)), loc="left", parse_math=False)


def measure(text: str, size: float = _TYPE) -> float:
    """Width of a text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size), False)[0]) / 72


def _columns(entries: Sequence[str], room: float) -> int:
    """How many columns of a legend fit side by side; 0 where not even one does."""
    widest = max(map(measure, entries), default=0.0)
    return int((room - 0.1 + 0.12) / (widest + 0.5 + 0.12))


def _further(text: str) -> list[str]:
    """Installed families that have the letters which DejaVu Sans lacks: for each letter the first by name."""
    from matplotlib import font_manager

    manager = font_manager.fontManager
    lacking = _lacking(manager.findfont("DejaVu Sans"), set(text) - {"\n"})
    found: list[str] = []
    fonts = {
        font.name: font.fname for font in manager.ttflist if font.weight == 400 and font.style == "normal"
    }
    for name in sorted(fonts) if lacking else ():
        if "Last Resort" in name:
            continue
        left = _lacking(fonts[name], lacking)
        if len(left) < len(lacking):
            found, lacking = [*found, name], left
        if not lacking:
            break
    return found


def _lacking(font: str, letters: set[str]) -> set[str]:
    from matplotlib.ft2font import FT2Font

    known = FT2Font(font).get_charmap()
    return {letter for letter in letters if ord(letter) not in known}
