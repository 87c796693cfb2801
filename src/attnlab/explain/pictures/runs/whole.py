"""Step 9 of a run: one step of its decoder, from the words to the next word, and the map of all steps."""

from __future__ import annotations

from collections.abc import Mapping

from attnlab.explain.drawing import WIDTH, Bound, Picture
from attnlab.explain.filling import short
from attnlab.explain.leading import SHOWN
from attnlab.explain.pictures.runs.listing import LETTER, widest
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


def heat(reading: Reading) -> Picture:
    """All steps at once, with the gold links outlined."""
    across, down = reading.source, reading.target
    left = 14 + widest(down)
    size = max(13.0, min(26.0, (WIDTH - left - 14) / len(across)))
    top = 16 + widest(across) * 0.86
    slant = LETTER * len(short(across[-1])) * 0.5
    made = Picture(
        "heat",
        "Where {name} looked at every step",
        "A map with a row for each word written and a column for each source word; the row of step {t}, "
        "{word}, is outlined. Its largest weight is {top:2}, on {heaviest}.",
        height=top + 34 + size * len(down),
        width=max(WIDTH, left + size * len(across) + slant),
    )
    for j, word in enumerate(across):
        x = left + size * (j + 0.5) + 4
        turn = f"rotate(-60 {x:.1f} {top - 5:.1f})"
        made.text(x, top - 5, short(word), size=11, transform=turn)
    for i, word in enumerate(down):
        y = top + size * i
        made.text(left - 6, y + size * 0.5 + 4, short(word), size=11, anchor="end")
        for j, weight in enumerate(reading.steps[i]["a"]):
            x = left + size * j
            made.rect(x + 0.5, y + 0.5, size - 1, size - 1, "heat-empty")
            if weight > 0.004:
                made.rect(x + 0.5, y + 0.5, size - 1, size - 1, "heat", fill_opacity=weight)
    for i, j in reading.gold or ():
        made.rect(
            left + size * j + 1,
            top + size * i + 1,
            size - 2,
            size - 2,
            "none",
            stroke="gold",
            stroke_width=1.8,
        )
    made.rect(
        left - 1,
        Bound("t", size, top - size - 1),
        size * len(across) + 2,
        size + 2,
        "none",
        stroke="ink",
        stroke_width=1.5,
    )
    _scale(made, left, top + size * len(down) + 14, gold=bool(reading.gold))
    return made


def _scale(made: Picture, x: float, y: float, *, gold: bool) -> None:
    """Which colour stands for which weight, and what an outline is."""
    made.text(x - 6, y + 10, "weight", size=11, anchor="end", fill="muted")
    for k, weight in enumerate((0.0, 0.25, 0.5, 0.75, 1.0)):
        at = x + 42 * k
        made.rect(at, y, 13, 13, "heat-empty")
        made.rect(at, y, 13, 13, "heat", fill_opacity=weight)
        made.text(at + 16, y + 10, f"{weight:g}", size=11, fill="muted")
    if gold:
        made.rect(x + 218, y + 1, 11, 11, "none", stroke="gold", stroke_width=1.8)
        made.text(x + 234, y + 10, "gold link", size=11, fill="muted")
