"""Step 7: equal scores, one that dominates, one word, and sizes that do not fit."""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

from attnlab.explain import example
from attnlab.explain.drawing import Picture


def corners() -> Picture:
    """Equal scores, one that dominates, one word, and sizes that do not fit."""
    made = Picture(
        "corners",
        "Four corners of attention",
        "Equal scores give each of three words a third. A question twenty times as large gives Hund all. "
        "One word has the share 1. A state of 4 and one of 6 numbers have no dot product: make them equal, "
        "or put a matrix between them.",
        height=282,
    )
    panels = (
        (0, 0, "Equal scores", "uniform", example.SOURCE, "c is the mean of the states"),
        (1, 0, "20 × step 2's question, dot", "peaked", example.SOURCE, "c is the state of Hund"),
        (0, 1, "One word", "single", example.SOURCE[:1], "c is its state, whatever the score"),
    )
    for column, row, title, path, names, note in panels:
        x, y = 4 + 230 * column, 142 * row
        made.text(x, y + 18, title, bold=True)
        for j, word in enumerate(names):
            top = y + 30 + 26 * j
            made.text(x, top + 13, word, size=12, fill="muted")
            made.bar(f"corners.{path}.{j}", x + 52, top, 110, 16, "gold")
            made.text(x + 216, top + 13, f"{{corners.{path}.{j}:4}}", size=12, anchor="end")
        made.text(
            x, y + 42 + 26 * max(len(names), 2) + (14 if len(names) == 3 else 0), note, size=12, fill="muted"
        )
    x, y = 234, 142
    made.text(x, y + 18, "Unequal sizes", bold=True)
    for name, size, top in (("s", 4, y + 30), ("h_j", 6, y + 56)):
        made.text(x, top + 13, name, size=12, fill="muted")
        for k in range(size):
            made.rect(x + 52 + 24 * k, top, 22, 16, "accent-soft" if k < 4 else "warn", stroke="line-strong")
    made.text(x, y + 96, "no dot product: refused", size=12, fill="warn", bold=True)
    made.text(x, y + 114, "1. make the sizes equal", size=12)
    made.text(x, y + 132, "2. a matrix between: general, additive", size=12)
    return made
