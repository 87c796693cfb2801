"""Step 4: from scores to shares, and the Jacobian."""

from __future__ import annotations

from attnlab.explain import example
from attnlab.explain.drawing import Bound, Picture

PANEL = 228


def softmax() -> Picture:
    """Scores, exponentials, shares, and what a division by the sum would give."""
    made = Picture(
        "softmax",
        "From scores to shares",
        "Scores {e.0:4}, {e.1:4}, {e.2:4}. Exponentials {exp.0:4}, {exp.1:4}, {exp.2:4}. Shares {a.0:4}, "
        "{a.1:4}, {a.2:4}. Divided by their sum the scores would give {divided.0:2}, {divided.1:2}, "
        "{divided.2:2}.",
        height=246,
    )
    panels = (
        (0, 0, "1. score", "e", "e", 4, 110, 34, "accent"),
        (1, 0, "2. exp(score), sum {total:4}", "bright", "exp", 4, 52, 112, "accent"),
        (1, 1, "3. share: exp / sum", "a", "a", 4, 52, 112, "gold"),
        (0, 1, "instead: score / ({sum_e:2})", "divided_shown", "divided", 2, 110, 36, "warn"),
    )
    for column, row, title, path, said, digits, zero, scale, fill in panels:
        x, y = 4 + 230 * column, 126 * row
        made.text(x, y + 18, title, size=13, bold=True, fill="warn" if fill == "warn" else "ink")
        for j, word in enumerate(example.SOURCE):
            top = y + 30 + 28 * j
            made.text(x, top + 14, word, size=12, fill="muted")
            made.bar(f"{path}.{j}", x + zero, top, scale, 18, fill)
            made.text(x + 218, top + 14, f"{{{said}.{j}:{digits}}}", size=12, anchor="end")
        made.line(x + zero, y + 26, x + zero, y + 112, "line-strong")
    made.arrow(206, 13, 226, 13, "muted")
    made.arrow(440, 116, 440, 136, "muted")
    return made


def jacobian() -> Picture:
    """The slope of each share for each score."""
    made = Picture(
        "jacobian",
        "The Jacobian of the softmax at this point",
        "Slopes of the shares. On the diagonal {jacobian.0.0:4}, {jacobian.1.1:4}, {jacobian.2.2:4}; "
        "elsewhere {jacobian.0.1:4}, {jacobian.0.2:4}, {jacobian.1.2:4}, the same on both sides.",
        height=246,
    )
    made.text(250, 18, "for a rise of these scores", size=12, anchor="middle", fill="muted")
    for j, word in enumerate(example.SOURCE):
        made.text(142 + 108 * j, 40, f"e_{j + 1} {word}", size=12, anchor="middle", bold=True)
        made.text(80, 78 + 54 * j, f"a_{j + 1} {word}", size=12, anchor="end", bold=True)
        for i in range(3):
            x, y = 90 + 108 * j, 50 + 54 * i
            made.rect(x, y, 104, 50, "heat-empty", rx=4)
            made.rect(x, y, 104, 50, "accent", rx=4, fill_opacity=Bound(f"jacobian.{i}.{j}", 1.8, 0, "above"))
            made.rect(x, y, 104, 50, "warn", rx=4, fill_opacity=Bound(f"jacobian.{i}.{j}", -1.8, 0, "below"))
            made.text(x + 52, y + 30, f"{{jacobian.{i}.{j}:+4}}", anchor="middle")
    note = "slopes of the shares (rows); rows and columns add up to 0"
    made.text(250, 232, note, size=12, anchor="middle", fill="muted")
    return made
