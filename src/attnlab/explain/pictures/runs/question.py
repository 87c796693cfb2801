"""Step 2 of a run: a lamp on every source word, the best scores, and what lies outside the window."""

from __future__ import annotations

from attnlab.explain.drawing import WIDTH, Bound, Picture
from attnlab.explain.filling import short
from attnlab.explain.leading import BEST
from attnlab.explain.pictures.runs.listing import widest
from attnlab.explain.reading import Reading

_TOP, _FLOOR = 42.0, 160.0
_LINES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def beams(reading: Reading) -> Picture:
    """A lamp on every source word."""
    words = reading.source
    size = len(words)
    wide = max(WIDTH, 40 + 13 * size)
    step = (wide - 40) / size
    flat = step > widest(words) + 6
    local = bool(reading.facts["local"])
    below = _FLOOR + 18 + (22 if flat else widest(words) * 0.86 + 14)
    made = Picture(
        "beams",
        "Where {name} looks, step by step",
        "At step {t}, for {word}, the brightest beam, that of the highest score, is on {brightest}."
        + (" {scored} words are in the window; the others are hatched." if local else ""),
        height=below + (16 if local else 0),
        width=wide,
    )
    for k in range(size):
        x = 28 + step * (k + 0.5)
        half = min(step * 0.46, 34)
        points = f"{wide / 2:.1f},{_TOP:g} {x - half:.1f},{_FLOOR:g} {x + half:.1f},{_FLOOR:g}"
        made.add("polygon", points=points, fill="line", fill_opacity=Bound(f"outside.{k}", -0.4, 0.4))
        made.add("polygon", points=points, fill="gold", fill_opacity=Bound(f"bright.{k}", 0.9))
        if local:
            _hatched(made, wide / 2, x, half, f"outside.{k}")
    made.node(wide / 2, 26, 210, 32, "step {t}: {word}", stroke="ink", bold=True)
    for k in range(BEST):
        y = _FLOOR - 5 - 15 * k  # one above the other, so that neighbours can be read, and each on its beam
        part = (y - _TOP) / (_FLOOR - _TOP)
        along = Bound(f"leaders.{k}.place", step * part, wide / 2 + (28 + step / 2 - wide / 2) * part)
        text = f"{{leaders.{k}.score}}"
        made.text(
            along,
            y,
            text,
            size=12,
            anchor="middle",
            bold=True,
            paint_order="stroke",
            stroke="surface",
            stroke_width=3,
        )
    for k, word in enumerate(words):
        x = 28 + step * (k + 0.5)
        text = short(word)
        if flat:
            made.text(x, _FLOOR + 18, text, size=12, anchor="middle")
        else:
            turn = f"rotate(-60 {x + 4:.1f} {_FLOOR + 12:g})"
            made.text(x + 4, _FLOOR + 12, text, size=12, anchor="end", transform=turn)
    if local:
        made.text(
            wide - 8, below + 8, "hatched: outside the window, no score", size=11, anchor="end", fill="muted"
        )
    return made


def _hatched(made: Picture, lamp: float, x: float, half: float, path: str) -> None:
    """Strokes across a beam, seen where the number at the path is 1."""
    strokes = []
    for part in _LINES:
        y = _TOP + (_FLOOR - _TOP) * part
        middle, reach = lamp + (x - lamp) * part, half * part
        strokes.append(f"M{middle - reach:.1f} {y:.1f}L{middle + reach:.1f} {y - min(6.0, reach):.1f}")
    made.add("path", d="".join(strokes), fill="none", stroke="muted", stroke_opacity=Bound(path, 0.7))
