"""Step 6: the two lanes of a decoder step, and where the context joins."""

from __future__ import annotations

from collections.abc import Mapping

from attnlab.explain.drawing import Picture

ORDERS: dict[str, dict[str, str]] = {
    "input_feeding": {"asks": "previous", "context_goes_to": "both", "fed_back": "context"},
    "post_combine": {"asks": "current", "context_goes_to": "readout", "fed_back": "nothing"},
    "post_combine_feeding": {"asks": "current", "context_goes_to": "readout", "fed_back": "readout"},
    "post_combine_previous": {"asks": "previous", "context_goes_to": "readout", "fed_back": "nothing"},
    "fixed_vector": {"asks": "none", "context_goes_to": "readout", "fed_back": "nothing"},
}
"""The factors of each order, as its file in conf/decoder declares them."""
_ASKS = {"previous": "the state before the step asks", "current": "the new state asks", "none": "nobody asks"}
_GOES = {
    "rnn": "the context joins the state's lane",
    "readout": "the context joins the lane to the output",
    "both": "the context joins both lanes",
}


def lanes(key: str, factors: Mapping[str, str], shape: str | None, title: str) -> Picture:
    """A step of a decoder order.

    Args:
        key: the picture's.
        factors: what the order declares about itself.
        shape: of W_c, such as `4 × 8`, or a template of it; None where the readout has none.
        title: the order's name.
    """
    asks, goes = factors.get("asks", "none"), factors.get("context_goes_to", "readout")
    back = factors.get("fed_back") == "readout"
    said = f"{_ASKS.get(asks, asks)}; {_GOES.get(goes, goes)}" + (
        "; the readout is handed on" if back else ""
    )
    made = Picture(key, f"The two lanes of {title}", f"In {title}, {said}.", height=276)
    made.rect(4, 168, 452, 58, "heat-empty", rx=8)
    made.rect(284, 4, 108, 222, "heat-empty", rx=8)
    made.text(12, 243, "the state's lane", size=11, fill="muted")
    made.text(398, 18, "the lane to", size=11, fill="muted")
    made.text(398, 32, "the output", size=11, fill="muted")
    made.arrow(74, 197, 140, 197, "ink")
    made.arrow(230, 197, 304, 197, "ink")
    made.arrow(372, 197, 452, 197, "ink")
    made.arrow(338, 178, 338, 128, "ink")
    made.arrow(338, 90, 338, 50, "ink")
    made.arrow(170, 252, 170, 217, "ink")
    made.text(170, 268, "y_(t-1), last word", size=12, anchor="middle")
    _attention(made, asks)
    if goes in ("rnn", "both"):
        made.bent("M185 92 L185 176", "gold", stroke_width=2.6)
        made.text(191, 140, "c_t", size=14, bold=True)
    if goes in ("readout", "both"):
        made.bent("M212 68 C240 68 246 109 284 109", "gold", stroke_width=2.6)
        made.text(236, 66, "c_t", size=14, bold=True)
    if back:
        made.bent("M392 109 L452 109", "accent")
        made.text(396, 102, "r_t to t+1", size=11, fill="accent")
        made.bent("M232 252 C232 238 210 232 205 218", "accent")
        made.text(246, 268, "r_(t-1)", size=12, anchor="middle", fill="accent")
    made.node(44, 197, 60, 36, "s_(t-1)", stroke="ink")
    made.node(185, 197, 88, 36, "RNN step", stroke="ink")
    made.node(338, 197, 66, 36, "s_t", stroke="ink")
    made.node(338, 109, 104, 36, "readout r_t", stroke="ink")
    made.node(338, 28, 92, 36, "word y_t", stroke="ink")
    if shape:
        made.text(398, 142, "W_c", size=12, bold=True)
        made.text(398, 158, shape, size=11)
    return made


def _attention(made: Picture, asks: str) -> None:
    """The box that gives c_t, and who asks it."""
    told = asks in _ASKS and asks != "none"
    made.node(136, 70, 150, 42, "attention" if told else "final encoder state", stroke="gold", bold=told)
    made.text(
        136, 40, "h_1 … h_S" if told else "the same c at every step", size=12, anchor="middle", fill="muted"
    )
    if asks == "previous":
        made.bent("M44 178 C44 130 70 120 84 94", "muted", stroke_dasharray="4 3")
        made.text(22, 130, "asks", size=12, fill="muted")
    elif asks == "current":
        made.bent("M310 178 C290 140 220 150 196 94", "muted", stroke_dasharray="4 3")
        made.text(222, 156, "asks", size=12, fill="muted")
