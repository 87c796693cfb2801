"""Step 9 of a run: one step of its decoder from the words to the next word, in its own order."""

from __future__ import annotations

from collections.abc import Mapping

from attnlab.explain.drawing import Bound, Picture
from attnlab.explain.leading import SHOWN
from attnlab.explain.reading import Reading

_LANES = (50, 130, 210, 290)


def pipeline(reading: Reading) -> Picture:
    """All of it, with the numbers of the step."""
    facts = reading.facts
    factors: Mapping[str, str] = facts["factors"]
    made = Picture(
        "pipeline",
        "One step of {name}, from the words to the next word",
        "Step {t}: {scored} words are scored; the heaviest is {heaviest} with {top:2}; the context is "
        "{norm:2} long; the next word is {word}, probability {chance:3}.",
        height=424,
    )
    _words(made, reading)
    made.node(170, 222, 244, 28, f"c_t: {facts['K']} numbers, {{norm:2}} long", stroke="gold", size=12)
    made.node(170, 292, 200, 32, "readout r_t", stroke="ink")
    made.node(170, 352, 244, 28, "W_o r_t, softmax over the vocabulary", size=12)
    made.arrow(170, 308, 170, 338, "ink")
    made.arrow(170, 366, 170, 386, "ink")
    made.node(170, 402, 244, 30, "{word}: probability {chance:3}", stroke="gold", bold=True)
    if facts.get("W_c"):
        made.text(182, 326, f"W_c is {facts['W_c']}", size=11, fill="muted")
    _lane(made, factors)
    return made


def _words(made: Picture, reading: Reading) -> None:
    """From the words to the weights, a lane each for the heaviest."""
    facts = reading.facts
    made.rect(10, 36, 320, 24, "accent-soft", rx=6)
    plural = "s" if facts["S"] > 1 else ""
    states = f"encoder, once: {facts['S']} state{plural} of {facts['K']} numbers"
    made.text(170, 52, states, anchor="middle", size=12)
    made.rect(10, 110, 320, 24, "accent-soft", rx=6)
    by = "the Gaussian" if "gauss" in reading.steps[0] else "the window"
    window = f", then {by}" if facts.get("on_weights") else ""
    made.text(170, 126, f"softmax over {{scored}} of {facts['S']}{window}", anchor="middle", size=12)
    count = min(SHOWN, facts["S"])
    for k, x in enumerate(_LANES[: count + (facts["S"] > SHOWN)]):
        rest = k == SHOWN
        path = "pipe.others.a" if rest else f"pipe.top.{k}.a"
        made.text(x, 14, "{pipe.others.count} others" if rest else f"{{pipe.top.{k}.word}}", anchor="middle",
                  size=11, bold=not rest, fill="muted" if rest else "ink")  # fmt: skip
        if not rest:
            made.text(x, 29, f"word {{pipe.top.{k}.place}}", anchor="middle", size=10, fill="muted")
        made.arrow(x, 60, x, 74, "muted")
        made.node(x, 86, 74, 22, "their scores" if rest else f"{{pipe.top.{k}.score}}", size=11)
        made.arrow(x, 97, x, 110, "muted")
        made.arrow(x, 134, x, 147, "muted")
        made.rect(x - 37, 149, 74, 24, "surface", stroke="line-strong", rx=4)
        made.rect(x - 37, 149, Bound(path, 74), 24, "gold", fill_opacity=0.55, rx=4)
        made.text(x, 165, f"a {{{path}:3}}", anchor="middle", size=12)
        made.line(x, 173, 170 + (x - 170) * 0.5, 208, "gold", stroke_width=Bound(path, 7, 0.6))


def _lane(made: Picture, factors: Mapping[str, str]) -> None:
    """The state's lane on the right, and where question and context go in this order."""
    asks, goes = factors.get("asks"), factors.get("context_goes_to")
    made.arrow(374, 104, 374, 160, "ink")
    made.arrow(400, 200, 400, 272, "ink")
    made.arrow(366, 292, 270, 292, "ink")
    made.arrow(434, 292, 456, 292, "ink")
    made.text(456, 330, "to step t + 1", size=11, anchor="end", fill="muted")
    made.arrow(434, 142, 434, 160, "ink")
    made.text(456, 122, "last word", size=11, anchor="end", fill="muted")
    made.text(
        456, 136, "{before}", size=11, anchor="end", paint_order="stroke", stroke="surface", stroke_width=3
    )
    if asks == "previous":
        made.bent("M366 86 L332 86", "muted", stroke_dasharray="4 3")
        made.text(349, 80, "asks", size=11, anchor="middle", fill="muted")
    elif asks == "current":
        made.bent("M378 272 C340 230 346 140 332 94", "muted", stroke_dasharray="4 3")
        made.text(343, 130, "asks", size=11, fill="muted")
    if goes in ("rnn", "both"):
        made.bent("M292 222 C330 222 326 180 354 180", "gold", stroke_width=2.6)
    if goes in ("readout", "both"):
        made.bent("M170 236 L170 276", "gold", stroke_width=2.6)
    if factors.get("fed_back") == "readout":
        made.text(456, 230, "r_(t-1)", size=12, anchor="end", fill="accent")
        made.arrow(436, 216, 436, 200, "accent")
        made.bent("M270 300 C320 306 330 348 456 348", "accent")
        made.text(456, 364, "r_t to step t + 1", size=11, anchor="end", fill="accent")
    made.node(400, 86, 68, 36, "s_(t-1)", stroke="ink")
    made.node(400, 180, 92, 40, "RNN step", stroke="ink")
    made.node(400, 292, 68, 40, "s_t", stroke="ink")
