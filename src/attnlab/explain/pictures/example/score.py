"""Step 3: the products of a dot, its shadow, and the funnel of the additive score."""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

from attnlab.explain import example, filling
from attnlab.explain.drawing import MINUS, Bound, Picture


def slots() -> Picture:
    """The products of s and each state, slot by slot."""
    made = Picture(
        "dot_slots",
        "The dot product, slot by slot",
        "Bars of the products of s and each state. Sums: der {dot.score.0:2}, Hund {dot.score.1:2}, "
        "schlief {dot.score.2:2}.",
        height=174,
    )
    for k in range(4):
        made.text(6, 50 + 26 * k, f"slot {k + 1}", size=12, fill="muted")
    made.text(6, 162, "sum", size=12, bold=True)
    made.line(6, 142, 454, 142, "line-strong")
    for j, word in enumerate(example.SOURCE):
        left, zero = 46 + 138 * j, 46 + 138 * j + 46
        made.text(zero, 18, f"s · h_{j + 1}", size=12, anchor="middle", bold=True)
        made.text(zero + 26, 18, word, size=12, fill="muted")
        for k in range(4):
            made.bar(f"dot.products.{j}.{k}", zero, 38 + 26 * k, 44, 16, "accent")
            made.text(left + 134, 50 + 26 * k, f"{{dot.products.{j}.{k}:2}}", size=12, anchor="end")
        made.line(zero, 28, zero, 168, "line-strong")
        made.bar(f"dot.score.{j}", zero, 150, 24, 16, "gold")
        made.text(left + 134, 162, f"{{dot.score.{j}:2}}", size=12, anchor="end", bold=True)
    return made


def shadow() -> Picture:
    """Each state laid flat, s at its true angle, and the shadow that s throws on it."""
    made = Picture(
        "dot_shadow",
        "The dot product as a shadow",
        "Each state as a flat arrow with s at its angle to it. Shadows of s: on der {dot.shadow.0:2}, on "
        "Hund {dot.shadow.1:2}, on schlief {dot.shadow.2:2}.",
        height=216,
    )
    unit, floor = 46, 130
    for j, word in enumerate(example.SOURCE):
        zero = 66 + 153 * j
        tip, rise = Bound(f"dot.shadow.{j}", unit, zero), Bound(f"dot.rise.{j}", -unit, floor)
        made.text(zero, 18, f"h_{j + 1} {word}", anchor="middle", bold=True)
        made.line(zero - 60, floor, zero + 74, floor, "line")
        made.line(zero, floor, tip, floor, "gold", stroke_width=7, stroke_opacity=0.75)
        made.line(tip, floor, tip, rise, "muted", stroke_dasharray="3 3")
        made.arrow(zero, floor, Bound(f"dot.norm.{j}", unit, zero), floor, "accent", stroke_width=2)
        made.arrow(zero, floor, tip, rise, "ink", stroke_width=2)
        made.text(tip, Bound(f"dot.rise.{j}", -unit, floor - 7), "s", size=12, anchor="middle", bold=True)
        made.text(zero, 160, f"shadow {{dot.shadow.{j}:4}}", anchor="middle", size=12)
        made.text(zero, 178, f"× length {{dot.norm.{j}:4}}", anchor="middle", size=12)
        made.text(zero, 200, f"= {{dot.score.{j}:4}}", anchor="middle", bold=True)
    return made


def funnel(j: int) -> Picture:
    """The additive score of one word: two matrices, a sum, tanh, and v."""
    h, word = f"h_{j + 1}", example.SOURCE[j]
    made = Picture(
        f"funnel_{j + 1}",
        f"The additive score of {word}, number by number",
        f"W, 3 by 4, times s gives {{additive.Ws.0:2}}, {{additive.Ws.1:2}}, {{additive.Ws.2:2}}; U, 3 by "
        f"4, times the state of {word} gives {{additive.Uh.{j}.0:2}}, {{additive.Uh.{j}.1:2}}, "
        f"{{additive.Uh.{j}.2:2}}. Their sum through tanh, weighed by v, gives {{additive.score.{j}:4}}.",
        height=352,
    )
    made.add("path", d="M8 150 L452 150 L270 306 L190 306 Z", fill="heat-empty")
    blocks = (
        (10, "s", "W", example.W, [f"s.{k}" for k in range(4)], [f"additive.Ws.{u}" for u in range(3)]),
        (246, h, "U", example.U, None, [f"additive.Uh.{j}.{u}" for u in range(3)]),
    )
    for x, asked, name, matrix, moving, result in blocks:
        made.text(x + 76, 16, f"{asked}: 4 numbers", size=12, anchor="middle", fill="muted")
        if moving:
            made.vector(x, 22, moving, cell=(38, 20), across=True)
        else:
            made.matrix(x, 22, [example.H[j]], fill="accent-soft")
        made.text(x + 76, 62, f"{name}: {{sizes.{name}}}", size=12, anchor="middle", fill="muted")
        made.matrix(x, 68, matrix)
        made.text(x + 182, 62, f"{name} {asked}: 3", size=12, anchor="middle", fill="muted")
        made.vector(x + 160, 68, result, cell=(44, 20))
    columns = (
        ("W s", 64),
        (f"U {h}", 128),
        ("sum", 200),
        ("tanh", 276),
        ("v", 336),
        ("", 404),
    )
    for name, x in columns:
        made.text(x, 168, name, size=12, anchor="middle", fill="muted")
    for u in range(3):
        y = 194 + 26 * u
        for text, x in (
            (f"{{additive.Ws.{u}:2}}", 64),
            ("+", 96),
            (f"{{additive.Uh.{j}.{u}:2}}", 128),
            ("=", 162),
            (f"{{additive.inside.{j}.{u}:2}}", 200),
            ("→", 236),
            (f"{{additive.tanh.{j}.{u}:4}}", 276),
            ("×", 312),
            (filling.shown(example.V[u], 1, minus=MINUS), 336),
            ("=", 362),
            (f"{{additive.terms.{j}.{u}:4}}", 404),
        ):
            made.text(x, y, text, anchor="middle", size=13)
    made.arrow(230, 262, 230, 306, "gold", stroke_width=2.4)
    made.text(242, 286, "add up", size=12, fill="muted")
    made.node(230, 326, 150, 34, f"e_{j + 1} = {{additive.score.{j}:4}}", stroke="gold", bold=True)
    made.text(452, 330, "v: {sizes.v} numbers", size=12, anchor="end", fill="muted")
    made.text(8, 330, "{sizes.parts} = {sizes.additive}", size=12, fill="muted")
    return made
