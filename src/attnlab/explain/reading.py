"""What a trained run does with one sentence, step by step: the numbers behind its pictures.

Scores, weights and contexts are the model's own. The state that asked is taken where the attention is called,
so any decoder order and any scorer or window of one's own is read alike.
"""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attnlab.attention import Additive, Attention, Concat, Dot, General, Location, Memory, ScaledDot, Scorer
from attnlab.errors import UserError

if TYPE_CHECKING:
    from attnlab.loaded import Loaded

Tree = dict[str, Any]
WIDEST = 60
"""Source pieces that a picture holds."""
LONGEST = 80
"""Steps that are kept; a model that does not stop goes on after them."""
TERMS = 4
"""Parts of a score that are shown one by one."""
_FORMULAS: dict[type[Scorer], str] = {
    Dot: "e_j = s · h_j",
    ScaledDot: "e_j = s · h_j / √K",
    General: "e_j = s · W h_j",
    Additive: "e_j = v · tanh(W s + U h_j)",
    Concat: "e_j = v · tanh(W s + h_j)",
    Location: "e_j = row j of W, times s",
}


@dataclass
class Reading:
    """A run and one sentence.

    Attributes:
        name: of the run, told apart from the others.
        source: pieces of the sentence.
        target: pieces that were written or read, the end mark among them.
        text: the translation as text.
        steps: of each step its numbers.
        facts: what holds at all steps: sizes, shapes, parameters, factors.
        gold: cells (step, source piece) of the gold alignment, from 0; None where there is none.
        note: why there is no gold, where one might be expected.
    """

    name: str
    source: list[str]
    target: list[str]
    text: str
    steps: list[Tree]
    facts: Tree
    gold: list[tuple[int, int]] | None = None
    note: str = ""
    by_length: list[Tree] = field(default_factory=list)

    @property
    def attends(self) -> bool:
        """Whether there is an attention at all."""
        return bool(self.facts["attends"])


def read(run: Loaded, name: str, sentence: str, target: str | None) -> Reading:
    """Follows a run through a sentence.

    Args:
        run: the loaded run.
        name: how it is called.
        sentence: the source.
        target: the translation that it reads; None for its own.

    Raises:
        UserError: nothing of the sentence reaches the model, or it is too long for a picture.
    """
    ids = run._source([sentence])[0]
    if not ids:
        raise UserError(f"--sentence '{sentence}': nothing of it is left for {run.folder}; give words")
    if len(ids) > WIDEST:
        raise UserError(
            f"the sentence has {len(ids)} pieces for {run.folder}; a picture holds {WIDEST}: give a "
            f"shorter one"
        )
    text = run.translate(sentence) if target is None else target
    wanted = run.target_tokenizer.encode([text])[0]
    written = [*wanted, run.target_tokenizer.end][:LONGEST]
    source = [_label(piece) for piece in run.source_tokenizer.pieces(ids)]
    pieces = [_label(piece) for piece in run.target_tokenizer.pieces(written)]
    with torch.no_grad():
        steps, facts = _follow(run, ids, written)
    for k, (step, piece) in enumerate(zip(steps, pieces, strict=True)):
        step.update(t=k + 1, word=piece, before=pieces[k - 1] if k else "(start)")
        _words(step, source)
    return Reading(name, source, pieces, text, steps, facts)


def _label(piece: str) -> str:
    """A piece without the marks of its tokeniser."""
    return piece.replace("▁", "").replace("‿", "") or piece


def _words(step: Tree, source: Sequence[str]) -> None:
    if step.get("a"):
        heaviest, nearest = _most(step["a"]), step["distance"].index(min(step["distance"]))
        top = step["a"][heaviest]
        step.update(heaviest=source[heaviest], nearest=source[nearest], top=top, slope=top * (1 - top))
        step["verdict"] = "the same state" if heaviest == nearest else "another state"


def _most(values: Sequence[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def _follow(run: Loaded, ids: list[int], written: list[int]) -> tuple[list[Tree], Tree]:
    """Step after step, as search does it."""
    model = run.model
    device = run.device
    memory, state = model.encode(torch.tensor([ids], device=device), torch.tensor([len(ids)], device=device))
    attention = model.decoder.attention
    asked: list[tuple[Tensor, Memory, Tensor]] = []
    hook = None
    if attention is not None:
        hook = attention.register_forward_pre_hook(lambda _, given: asked.append(given))
    steps = []
    token = model.start
    try:
        for emitted in written:
            _, attended, state = model.step(torch.tensor([[token]], device=device), state, memory)
            step: Tree = {"norm": float(attended.context.norm())}
            if attention is not None:
                query, _, at = asked[-1]
                weights = attended.dense(len(ids)).flatten().double().cpu()
                context = attended.context.flatten().double().cpu()
                step |= _scored(attention, query, memory, at, weights)
                step |= _placed(weights, context, memory.states[0].double().cpu())
            steps.append(step)
            token = emitted
    finally:
        if hook is not None:
            hook.remove()
    facts = _facts(run, memory, len(ids))
    if attention is not None:
        facts["plane"] = _plane(memory.states[0].double().cpu(), steps)
    return steps, facts


def _plane(states: Tensor, steps: list[Tree]) -> Tree:
    """The plane through the origin in which the states spread most, and the chain of each step in it."""
    axes = torch.linalg.svd(states, full_matrices=False)[2][:2]
    if len(axes) < 2:
        axes = torch.cat((axes, torch.zeros(2 - len(axes), states.shape[1], dtype=states.dtype)))
    flat = states @ axes.T
    flat = flat * torch.where(flat.sum(0) < 0, -1.0, 1.0)  # the sign of an axis is the library's whim
    for step in steps:
        scaled = torch.tensor(step["a"], dtype=states.dtype).unsqueeze(-1) * flat
        step["chain"] = torch.cat((torch.zeros(1, 2, dtype=states.dtype), scaled.cumsum(0))).tolist()
    return {"states": flat.tolist(), "share": float(flat.square().sum() / states.square().sum())}


def _scored(attention: Attention, query: Tensor, memory: Memory, at: Tensor, weights: Tensor) -> Tree:
    """Scores of the places inside, the window, and the largest parts of the best word's score."""
    where = attention.window.positions(query, memory.lengths, at)
    size = memory.keys.shape[1]
    scores = attention.scorer(query, memory.keys)  # all, of which a window takes its own
    if where is None:
        inside = list(range(min(size, int(memory.reachable))))
        values = attention.window.on_scores(scores, None)[0, 0, : len(inside)]
    else:
        index = (where.places - 1).clamp(0, size - 1)
        here = where.inside & (where.places <= memory.reachable[:, None, None])
        picked = attention.window.on_scores(scores.gather(-1, index), where)
        inside = index[0, 0][here[0, 0]].tolist()
        values = picked[0, 0][here[0, 0]]
    e: list[float | None] = [None] * size
    best = float(values.max()) if len(inside) else 0.0
    bright = [0.0] * size
    for place, value in zip(inside, values.tolist(), strict=True):
        e[place] = value
        bright[place] = math.exp(value - best)
    found: Tree = {
        "e": e,
        "bright": bright,
        "scored": len(inside),
        "first": inside[0] + 1 if inside else 0,
        "last": inside[-1] + 1 if inside else 0,
        "centre": None if where is None else float(where.centre),
    }
    gaussian = getattr(attention.window, "gaussian", None)
    if where is not None and gaussian is not None:
        found["gauss"] = _gauss(where, gaussian(where), size)
    return found | _terms(attention.scorer, query.flatten(), memory.keys[0], int(weights.argmax()))


def _gauss(where: Any, values: Tensor, size: int) -> list[float]:
    """The Gaussian at each source position, 0 outside the window."""
    row = [0.0] * size
    for place, value in zip(where.places.flatten().tolist(), values.flatten().tolist(), strict=True):
        if 1 <= place <= size:
            row[place - 1] = value
    return row


def _terms(scorer: Scorer, query: Tensor, keys: Tensor, best: int) -> Tree:
    """The summands of the heaviest word's score: products of slots, or weighed units."""
    if isinstance(scorer, Additive | Concat):
        terms, name = scorer.v * torch.tanh(scorer.W(query) + keys[best]), "unit"
    elif isinstance(scorer, Dot | General | Location):
        terms, name = query * keys[best], "slot"
        if isinstance(scorer, ScaledDot):
            terms = terms / math.sqrt(scorer.key_dim)
    else:
        return {"terms": []}
    values = terms.double().cpu().tolist()
    order = sorted(range(len(values)), key=lambda k: -abs(values[k]))
    rows = [{"name": f"{name} {k + 1}", "value": values[k]} for k in order[:TERMS]]
    if len(order) > TERMS:
        rest = sum(values[k] for k in order[TERMS:])
        rows.append({"name": f"the other {len(order) - TERMS}", "value": rest})
    return {"terms": rows, "whole": sum(values)}


def _placed(weights: Tensor, context: Tensor, states: Tensor) -> Tree:
    """The shares, how they spread, and where the context lies."""
    total = float(weights.sum())
    shares = weights[weights > 0] / (total or 1)
    return {
        "a": weights.tolist(),
        "sum": total,
        "entropy": float(-(shares * shares.log()).sum()) + 0.0,
        "cosine": nn.functional.cosine_similarity(context, states, dim=-1).tolist(),
        "distance": (context - states).abs().mean(-1).tolist(),
    }


def _facts(run: Loaded, memory: Memory, size: int) -> Tree:
    """Sizes and shapes."""
    decoder = run.model.decoder
    attention = decoder.attention
    width = memory.states.shape[-1]
    readout = [_shape(name, value) for name, value in decoder.readout.named_parameters()]
    facts: Tree = {
        "attends": attention is not None,
        "S": size,
        "K": width,
        "H": decoder.recurrence.hidden_size,
        "numbers": width if attention is None else width * size,
        "readout": ", ".join(readout) or "no matrix: r_t = s_t",
        "W_c": next((shape[4:] for shape in readout if shape.startswith("W_c ")), None),
        "factors": dict((run.config.get("about") or {}).get("factors") or {}),
        "step": run.step,
    }
    if attention is not None:
        scorer, window = attention.scorer, attention.window
        facts |= {
            "formula": _FORMULAS.get(type(scorer), type(scorer).__name__),
            "scorer": ", ".join(_shape(name, value) for name, value in scorer.named_parameters())
            or "no matrix",
            "parameters": sum(value.numel() for value in attention.parameters()),
            "D": getattr(window, "half_width", None),
            "local": bool(window.local),
        }
    return facts


def _shape(name: str, value: Tensor) -> str:
    """Such as `W 128 × 256`."""
    return f"{name.removesuffix('.weight')} {' × '.join(map(str, value.shape))}"
