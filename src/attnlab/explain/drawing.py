"""Pictures drawn once, for slides and for the page: SVG whose geometry is linear in the numbers it shows.

An attribute may be a number or `Bound` to one of the tree: `shift + scale * value`. A slide gets the value as
it stands; the page gets it too, and beside it the binding (`data-b`), by which its script moves the same
picture where a slider moves. Texts are templates (`filling.py`), words that are not ours `Verbatim`. Colours
are names of the report's theme.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

from attnlab.explain import filling

WIDTH = 460
"""Of a picture, in its own units: about the width of a narrow window, so that no text shrinks there."""
MINUS = "\u2212"
SUBSCRIPT = re.compile(r"(?<![A-Za-z0-9`])([A-Za-z])_(?:\(([^)]+)\)|(\w+))")
_OF = {
    "same": lambda value: value,
    "size": abs,
    "below": lambda value: min(value, 0.0),
    "above": lambda value: max(value, 0.0),
}


class Bound(NamedTuple):
    """An attribute that follows a number: shift + scale * of(value).

    Attributes:
        path: of the number.
        scale, shift: in units of the picture.
        of: `same`, `size` (without its sign), `below` (0 where it is positive), `above`.
    """

    path: str
    scale: float = 1.0
    shift: float = 0.0
    of: str = "same"

    def value(self, tree: Mapping[str, Any]) -> str:
        """As it is now."""
        return _plain(self.shift + self.scale * _OF[self.of](float(filling.lookup(tree, self.path) or 0)))

    def told(self) -> str:
        """For the page's script."""
        return f"{self.path},{self.scale:g},{self.shift:g},{self.of}"


class Curve(NamedTuple):
    """The points of a line: place k of a list stands at x + k dx, its value at y + scale * value."""

    path: str
    x: float
    dx: float
    y: float
    scale: float

    def value(self, tree: Mapping[str, Any]) -> str:
        """As it is now."""
        values = filling.lookup(tree, self.path)
        return " ".join(
            f"{_plain(self.x + k * self.dx)},{_plain(self.y + self.scale * value)}"
            for k, value in enumerate(values)
        )

    def told(self) -> str:
        """For the page's script."""
        return f"{self.path},{self.x:g},{self.dx:g},{self.y:g},{self.scale:g}"


Attribute = float | int | str | Bound | Curve


def _plain(value: float) -> str:
    """A coordinate, without what no eye sees."""
    return f"{round(value, 2) + 0.0:g}"


@dataclass
class Picture:
    """A picture under construction; each method draws above what is there.

    Attributes:
        key: its name, of files and of ids.
        title: what it shows.
        description: what is to be seen, for who cannot see it; a template.
        width, height: in units, at 1 unit a pixel.
    """

    key: str
    title: str
    description: str
    height: float
    width: float = WIDTH
    parts: list[tuple[str, dict[str, Attribute], str]] = field(default_factory=list)
    heads: set[str] = field(default_factory=set)

    def add(self, tag: str, text: str = "", /, **attributes: Attribute) -> None:
        """An element; `_` in a name stands for `-`."""
        self.parts.append((tag, {name.replace("_", "-"): value for name, value in attributes.items()}, text))

    def rect(
        self, x: Attribute, y: Attribute, width: Attribute, height: Attribute, fill: str, **more: Attribute
    ) -> None:
        """A rectangle."""
        self.add("rect", x=x, y=y, width=width, height=height, **{"fill": fill, "rx": 2, **more})

    def bar(
        self, path: str, x: float, y: float, scale: float, height: float, fill: str, **more: Attribute
    ) -> None:
        """A bar from a zero line at x, to the right where the number is positive, else to the left."""
        left = Bound(path, scale, x, "below")
        self.rect(left, y, Bound(path, scale, 0, "size"), height, fill, **more)

    def line(
        self, x1: Attribute, y1: Attribute, x2: Attribute, y2: Attribute, stroke: str, **more: Attribute
    ) -> None:
        """A straight line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, **{"stroke": stroke, "stroke_width": 1, **more})

    def arrow(
        self, x1: Attribute, y1: Attribute, x2: Attribute, y2: Attribute, stroke: str, **more: Attribute
    ) -> None:
        """A line with a head at its second end."""
        self.heads.add(stroke)
        more = {"stroke_width": 1.6, **more, "marker_end": f"head {stroke}"}
        self.line(x1, y1, x2, y2, stroke, **more)

    def bent(self, path: str, stroke: str, head: bool = True, **more: Attribute) -> None:
        """A path with a head at its end."""
        if head:
            self.heads.add(stroke)
            more["marker_end"] = f"head {stroke}"
        self.add("path", d=path, **{"fill": "none", "stroke": stroke, "stroke_width": 1.6, **more})

    def text(
        self,
        x: Attribute,
        y: Attribute,
        text: str,
        *,
        size: float = 13,
        anchor: str = "start",
        fill: str = "ink",
        bold: bool = False,
        **more: Attribute,
    ) -> None:
        """A line of text: a template, in which `h_1` has its index below, or text that is not ours."""
        weight: dict[str, Attribute] = {"font_weight": 600} if bold else {}
        own: dict[str, Attribute] = {"font_size": size, "text_anchor": anchor, "fill": fill}
        self.add("text", text, x=x, y=y, **{**own, **weight, **more})

    def node(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        text: str,
        *,
        fill: str = "surface",
        stroke: str = "line-strong",
        ink: str = "ink",
        size: float = 13,
        bold: bool = False,
        opacity: Attribute = 1,
    ) -> None:
        """A box with a text in its middle; x and y are the middle's."""
        self.rect(x - width / 2, y - height / 2, width, height, fill, stroke=stroke, rx=6, opacity=opacity)
        self.text(x, y + size * 0.36, text, size=size, anchor="middle", fill=ink, bold=bold)

    def vector(
        self,
        x: float,
        y: float,
        paths: Sequence[str],
        *,
        digits: int = 2,
        cell: tuple[float, float] = (46, 20),
        fill: str = "accent-soft",
        across: bool = False,
        size: float = 12,
    ) -> None:
        """Numbers in a column of cells, or in a row; x and y are the first corner's."""
        width, height = cell
        for k, path in enumerate(paths):
            left, top = (x + k * width, y) if across else (x, y + k * height)
            self.rect(left, top, width, height, fill, stroke="surface")
            self.text(
                left + width / 2, top + height * 0.71, f"{{{path}:{digits}}}", size=size, anchor="middle"
            )

    def matrix(
        self,
        x: float,
        y: float,
        rows: Sequence[Sequence[float]],
        cell: tuple[float, float] = (38, 20),
        fill: str = "heat-empty",
        size: float = 12,
    ) -> None:
        """Numbers that never move, in a grid."""
        width, height = cell
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                self.rect(x + j * width, y + i * height, width, height, fill, stroke="surface")
                middle = x + (j + 0.5) * width, y + (i + 0.71) * height
                self.text(*middle, filling.shown(value, 1, minus=MINUS), size=size, anchor="middle")

    def svg(self, tree: Mapping[str, Any], palette: Mapping[str, str] | None = None, prefix: str = "") -> str:
        """The picture as an element of the page, or with a palette as a file of its own.

        Args:
            tree: the numbers.
            palette: colours by their names; without it they are the page's, and bindings are kept.
            prefix: of the ids, where a page has a picture more than once.
        """
        return _Writer(self, tree, palette, prefix).whole()


class _Writer:
    """Writes one picture."""

    def __init__(
        self, picture: Picture, tree: Mapping[str, Any], palette: Mapping[str, str] | None, prefix: str
    ) -> None:
        self.picture, self.tree, self.palette = picture, tree, palette
        self.id = f"{prefix}{picture.key}"

    def whole(self) -> str:
        picture, said = self.picture, self.picture.description
        size = f'viewBox="0 0 {_plain(picture.width)} {_plain(picture.height)}"'
        lines = [
            f'<svg {size} {self._root()} role="img" aria-labelledby="{self.id}-title {self.id}-desc">',
            f'<title id="{self.id}-title">{self._said(picture.title)}</title>',
            f'<desc id="{self.id}-desc"{self._binding(said)}>{self._said(said)}</desc>',
        ]
        if picture.heads:
            lines += ["<defs>", *(self._head(colour) for colour in sorted(picture.heads)), "</defs>"]
        if self.palette:
            lines.append(f'<rect width="100%" height="100%" fill="{self._colour("surface")}"/>')
        lines += [self._element(*part) for part in picture.parts]
        return "\n".join([*lines, "</svg>\n"])

    def _root(self) -> str:
        picture = self.picture
        if self.palette is None:
            return f'class="picture" style="--wide: {_plain(picture.width)}px"'
        fonts = "'Helvetica Neue', 'Segoe UI', 'Liberation Sans', Arial, sans-serif"
        return (
            f'xmlns="http://www.w3.org/2000/svg" width="{_plain(picture.width)}" '
            f'height="{_plain(picture.height)}" font-family="{fonts}"'
        )

    def _head(self, colour: str) -> str:
        return (
            f'<marker id="{self.id}-{colour}" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="9" '
            f'markerHeight="9" markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
            f'<path d="M0 1 L10 5 L0 9 z" fill="{self._colour(colour)}"/></marker>'
        )

    def _element(self, tag: str, attributes: Mapping[str, Attribute], text: str) -> str:
        written, bound = [], []
        for name, value in attributes.items():
            if isinstance(value, Bound | Curve):
                written.append(f'{name}="{value.value(self.tree)}"')
                bound.append(f"{name}={value.told()}")
            elif isinstance(value, str):
                written.append(f'{name}="{escape(self._meant(name, value))}"')
            else:
                written.append(f'{name}="{_plain(value)}"')
        if bound and self.palette is None:
            written.append(f'data-b="{";".join(bound)}"')
        inner = "".join(filling.pieces(text, self._marked, self._place))
        return f"<{tag} {' '.join(written)}>{inner}</{tag}>" if inner else f"<{tag} {' '.join(written)}/>"

    def _meant(self, name: str, value: str) -> str:
        if name in ("fill", "stroke") and value != "none":
            return self._colour(value)
        return f"url(#{self.id}-{value.removeprefix('head ')})" if name == "marker-end" else value

    def _colour(self, name: str) -> str:
        return f"var(--{name})" if self.palette is None else self.palette[name]

    def _marked(self, text: str) -> str:
        """Text with its indices below the line."""
        if isinstance(text, filling.Verbatim):
            return escape(text)
        parts, end = [], 0
        for found in SUBSCRIPT.finditer(text):
            below = found[2] or found[3]
            parts += [escape(text[end : found.start()]), escape(found[1])]
            parts.append(
                f'<tspan dy="3" font-size="75%">{escape(below)}</tspan><tspan dy="-3">\u200b</tspan>'
            )
            end = found.end()
        return "".join([*parts, escape(text[end:])])

    def _place(self, found: re.Match[str]) -> str:
        said = escape(filling.one(found, self.tree, MINUS))
        return said if self.palette is not None else f'<tspan data-t="{escape(found[0])}">{said}</tspan>'

    def _said(self, text: str) -> str:
        return escape(filling.fill(text, self.tree, MINUS))

    def _binding(self, text: str) -> str:
        return f' data-t="{escape(text)}"' if self.palette is None and filling.PLACE.search(text) else ""
