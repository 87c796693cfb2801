"""Step 9: a step of the decoder from the words to the next word."""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

from attnlab.explain import example
from attnlab.explain.drawing import Bound, Picture


def pipeline() -> Picture:
    """All of it, with the numbers of the step."""
    made = Picture(
        "pipeline",
        "The whole pipeline at one step",
        "Three words are encoded into states; the decoder state scores them {e.0:2}, {e.1:2}, {e.2:2}; the "
        "softmax makes shares {a.0:2}, {a.1:2}, {a.2:2}; their mixture is the context ({c.0:2}, {c.1:2}, "
        "{c.2:2}, {c.3:2}), which meets the decoder state in the readout, as post_combine has it, before "
        "the next word, {target}.",
        height=560,
    )
    places = (62, 164, 266)
    made.rect(10, 36, 308, 26, "accent-soft", rx=6)
    made.text(164, 53, "encoder", anchor="middle", size=12)
    made.rect(10, 216, 308, 26, "accent-soft", rx=6)
    made.text(164, 233, "softmax", anchor="middle", size=12)
    for j, x in enumerate(places):
        made.text(x, 20, example.SOURCE[j], anchor="middle", bold=True)
        made.arrow(x, 24, x, 36, "muted")
        made.arrow(x, 62, x, 76, "muted")
        made.matrix(x - 23, 78, [[value] for value in example.H[j]], cell=(46, 18), fill="heat-empty")
        made.text(x - 28, 94, f"h_{j + 1}", size=12, anchor="end", fill="muted")
        made.arrow(x, 152, x, 172, "muted")
        made.node(x, 187, 84, 26, f"e_{j + 1} {{e.{j}:2}}", size=12)
        made.arrow(x, 200, x, 216, "muted")
        made.arrow(x, 242, x, 256, "muted")
        made.rect(x - 42, 258, 84, 26, "surface", stroke="line-strong", rx=4)
        made.rect(x - 42, 258, Bound(f"a.{j}", 84), 26, "gold", fill_opacity=0.55, rx=4)
        made.text(x, 275, f"a_{j + 1} {{a.{j}:2}}", anchor="middle", size=12)
        made.line(x, 284, 164 + (x - 164) * 0.35, 322, "gold", stroke_width=Bound(f"a.{j}", 7, 0.6))
    made.text(8, 304, "× its state,", size=11, fill="muted")
    made.text(8, 318, "added up", size=11, fill="muted")
    made.text(56, 343, "context c", size=12, anchor="end", fill="muted")
    made.vector(64, 328, [f"c.{k}" for k in range(4)], cell=(50, 22), fill="accent-soft", across=True)
    made.arrow(164, 352, 164, 386, "gold", stroke_width=2.4)
    made.text(412, 94, "decoder state s", size=12, anchor="middle", fill="muted")
    made.vector(386, 100, [f"s.{k}" for k in range(4)], cell=(52, 20), fill="heat-empty")
    made.bent("M386 150 C350 150 352 187 312 187", "muted", stroke_dasharray="4 3")
    made.text(360, 144, "asks", size=12, anchor="end", fill="muted")
    made.bent("M412 182 L412 404 L312 404", "ink")
    made.node(184, 404, 252, 36, "readout r = tanh(W_c [s; c])", stroke="ink")
    made.arrow(164, 422, 164, 462, "muted")
    made.text(176, 447, "W_c is {sizes.W_c}", size=12, fill="muted")
    made.node(184, 480, 252, 34, "W_o r: a score for every target word", size=12)
    made.arrow(164, 498, 164, 518, "muted")
    made.node(184, 538, 120, 34, "{target}", stroke="gold", bold=True, size=15)
    return made
