"""What a trained run does with one sentence: the numbers behind its pictures, with their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attnlab.errors import UserError
from attnlab.explain import plane, probes
from attnlab.explain.counted import parameters, shape
from attnlab.explain.filling import printable, short
from attnlab.explain.following import Followed, follow
from attnlab.explain.formulas import formula
from attnlab.explain.leading import lanes_of, opening
from attnlab.explain.units import columns

if TYPE_CHECKING:
    from attnlab.loaded import Loaded

Tree = dict[str, Any]
WIDEST = 60
"""Source pieces that a picture holds."""
LONGEST = 80
"""Steps that are kept; a model that does not stop goes on after them."""


@dataclass
class Reading:
    """A run and one sentence.

    Attributes:
        name: of the run, told apart from the others.
        source: pieces of the sentence; unknown ones are its words behind a question mark.
        labels: the same, those that are there more than once with their places from 1: `bo (3)`.
        target: pieces that were written or read, the end mark among them where there is one.
        tokens: their ids.
        text: the translation as text.
        steps: of each step its numbers.
        facts: what holds at all steps: sizes, shapes, parameters, factors.
        cut: what is to be known before it is believed: unknown words, steps that are not shown, a search that
            was stopped; empty where there is nothing.
        gold: cells (step, source piece) of the gold alignment, from 0; None where there is none.
        note: why there is no gold, where one might be expected.
        by_length: rows of the run's record, of a test set: `lo`, `hi` (words of the source; no `hi` in the
            last), `n`, `entropy_normalised`.
    """

    name: str
    source: list[str]
    labels: list[str]
    target: list[str]
    tokens: list[int]
    text: str
    steps: list[Tree]
    facts: Tree
    cut: str = ""
    gold: list[tuple[int, int]] | None = None
    note: str = ""
    by_length: list[Tree] = field(default_factory=list)

    @property
    def attends(self) -> bool:
        """Whether there is an attention at all."""
        return bool(self.facts["attends"])

    def at(self, step: int) -> Tree:
        """The numbers of a step, from 1; those of the last one where the run has stopped before."""
        return self.steps[min(step, len(self.steps)) - 1]


def opens_at(readings: Sequence[Reading]) -> int:
    """The step of the output, from 1, that is shown first: where these runs look most widely."""
    return opening([[step["entropy"] for step in reading.steps] for reading in readings if reading.attends])


def read(run: Loaded, name: str, sentence: str, target: str | None) -> Reading:
    """Follows a run through a sentence.

    Args:
        run: the loaded run.
        name: how it is called.
        sentence: the source.
        target: the translation that it reads; None for the one that its own search finds.

    Raises:
        UserError: nothing of the sentence reaches the model, or it is too long for a picture.
    """
    name = printable(name)
    (ids,) = run.source_ids([sentence])
    if not ids:
        raise UserError(f"--sentence '{sentence}': nothing of it is left for {run.folder}; give words")
    if len(ids) > WIDEST:
        raise UserError(
            f"the sentence has {len(ids)} pieces for {run.folder}; a picture holds {WIDEST}: "
            "give a shorter one"
        )
    if target is None:
        text, tokens, cut = _searched(run, sentence, ids)
    else:
        text, cut = target, ""
        tokens = [*run.target_tokenizer.encode([target])[0], run.target_tokenizer.end]
    if len(tokens) > LONGEST:
        cut = f"The first {LONGEST} of {len(tokens)} steps are shown."
        tokens = tokens[:LONGEST]
    source = [_label(piece) for piece in run.source_tokenizer.pieces(ids)]
    pieces = [_label(piece) for piece in run.target_tokenizer.pieces(tokens)]
    source = _own(run, sentence, ids, source)
    labels = [
        f"{short(piece)} ({place})" if source.count(piece) > 1 else short(piece)
        for place, piece in enumerate(source, start=1)
    ]
    found = follow(run, ids, tokens)
    steps, facts = found.steps, _facts(run, found, len(ids))
    for k, (step, piece) in enumerate(zip(steps, pieces, strict=True)):
        step.update(t=k + 1, word=short(piece), before=short(pieces[k - 1] if k else "(start)"), name=name)
        if facts["attends"]:
            _words(step, labels)
    if facts["attends"]:
        plane.placed(facts["plane"], steps, labels)
    unknown, count = run.unknown([sentence])
    if unknown:
        cut = f"{unknown} of {count} source pieces are unknown to this model, marked ?. {cut}".rstrip()
    return Reading(name, source, labels, pieces, tokens, text, steps, facts, cut)


def _searched(run: Loaded, sentence: str, ids: list[int]) -> tuple[str, list[int], str]:
    """The best translation by the run's own search: its text, its tokens, and what stopped it but itself."""
    from attnlab.build import build_search

    searching = build_search(run.config, n_best=1)
    source, lengths = torch.tensor([ids], device=run.device), torch.tensor([len(ids)], device=run.device)
    end = run.target_tokenizer.end
    best = searching(run.model, source, lengths, end=end)[0][0]
    text = run.text(sentence, best, searching.replace_unknown)
    if best.finished:
        return text, [*best.tokens, end], ""
    return text, list(best.tokens), f"The search stopped it after {len(best.tokens)} words without an end."


def _own(run: Loaded, sentence: str, ids: list[int], pieces: list[str]) -> list[str]:
    """The pieces, unknown ones as the sentence has them, behind a question mark."""
    words, places = sentence.split(), run.source_tokenizer.words_of(sentence)
    unknown = run.source_tokenizer.unk
    return [
        printable(f"?{words[places[k]]}") if ids[k] == unknown and k < len(places) else piece
        for k, piece in enumerate(pieces)
    ]


def _label(piece: str) -> str:
    """A piece without the marks of its tokeniser."""
    return printable(piece.replace("▁", "").replace("‿", "") or piece)


def _words(step: Tree, labels: Sequence[str]) -> None:
    """The words behind the places of a step."""
    heaviest, nearest = _most(step["a"]), step["distance"].index(min(step["distance"]))
    scores = [(value, place) for place, value in enumerate(step["e"]) if value is not None]
    step.update(
        heaviest=labels[heaviest],
        nearest=labels[nearest],
        brightest=labels[max(scores, key=lambda one: one[0])[1]] if scores else None,
        top=step["a"][heaviest],
        slope=step["slopes"]["rows"][0][0],
        verdict="the same state" if heaviest == nearest else "another state",
    )
    corners = step["corners"]
    corners["peak_word"] = labels[corners["peak_at"]] if corners["peak"] else None
    step["pipe"] = lanes_of(step["a"], step["e"], labels)
    places = step["slopes"].pop("of")
    step["slopes"]["words"] = [None if place is None else labels[place] for place in places]


def _most(values: Sequence[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def _facts(run: Loaded, found: Followed, size: int) -> Tree:
    """Sizes and shapes."""
    decoder = run.model.decoder
    attention = decoder.attention
    states = found.memory.states
    width = states.shape[-1]
    readout = [_shape(name, value) for name, value in decoder.readout.named_parameters()]
    facts: Tree = {
        "attends": attention is not None,
        "S": size,
        "K": width,
        "H": decoder.recurrence.hidden_size,
        "numbers": width if attention is None else width * size,
        "final": _final(run.model.encoder, size),
        "readout": ", ".join(readout) or "no matrix: r_t = s_t",
        "W_c": next((told[4:] for told in readout if told.startswith("W_c ")), None),
        "factors": dict((run.config.get("about") or {}).get("factors") or {}),
    }
    if attention is not None:
        scorer, window = attention.scorer, attention.window
        assert found.query is not None
        facts |= {
            "formula": formula(scorer),
            "scorer": _shapes(scorer) + (f"; window: {_shapes(window)}" if list(window.parameters()) else ""),
            "parameters": parameters(attention),
            "D": getattr(window, "half_width", None),
            "local": bool(window.local),
            "columns": columns(scorer),
            "sizes": probes.sizes(scorer),
            "growth": probes.growth(attention, found.query),
            "plane": plane.plane(states[0].double().cpu()),
            "on_scores": any(step["raw"] != step["e"] for step in found.steps),
            "on_weights": any(_differ(step["share"], step["a"]) for step in found.steps),
        }
    return facts


def _differ(shares: Sequence[float | None], weights: Sequence[float]) -> bool:
    """Whether weights are not the shares; a rounding apart they are."""
    return any(abs((share or 0.0) - a) > 1e-6 for share, a in zip(shares, weights, strict=True))


def _final(encoder: Any, size: int) -> list[int]:
    """Places, from 0, whose states make the encoder's final state; none where its reading is not known."""
    rnn = getattr(encoder, "rnn", None)
    if rnn is None or not hasattr(encoder, "reverse"):
        return []
    if rnn.bidirectional:
        return sorted({0, size - 1})
    return [0 if encoder.reverse else size - 1]


def _shapes(part: nn.Module) -> str:
    """Of all its parameters."""
    return ", ".join(_shape(name, value) for name, value in part.named_parameters()) or "no matrix"


def _shape(name: str, value: Tensor) -> str:
    """Such as `W 128 × 256`."""
    return f"{name.removesuffix('.weight')} {shape(value)}"
