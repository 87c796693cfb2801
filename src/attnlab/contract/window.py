"""What a window owes by itself: its places, its mask, its independence, gradients and precision.

Each function raises `Broken` where its clause does not hold.
"""

from typing import Any

import torch
from torch import Tensor, nn

from attnlab.attention import Positions
from attnlab.attention.attention import masked_softmax
from attnlab.contract.asking import normal
from attnlab.contract.broken import Subject, failing, need, shape
from attnlab.contract.holding import registered
from attnlab.contract.learning import learnt
from attnlab.contract.practice import elsewhere
from attnlab.contract.rounding import CLOSE, SINGLE, narrowest
from attnlab.contract.slopes import POINTS, slopes

LENGTHS = torch.tensor([0, 1, 6, 30])
B, Q = len(LENGTHS), 40  # steps go beyond the end of every sentence
STEPS = torch.arange(1, Q + 1)
FAR = 3000  # tokens of a long sentence


def _query(subject: Subject, dtype: torch.dtype = torch.float64) -> Tensor:
    return normal(B, Q, subject.sizes[0], seed=1, dtype=dtype) * 2


def _inside(where: Positions | None, lengths: Tensor = LENGTHS) -> Tensor:
    if where is not None:
        return where.inside
    return (torch.arange(int(lengths.max())) < lengths.unsqueeze(-1)).unsqueeze(1).expand(-1, Q, -1)


def _acted(
    window: Any,
    query: Tensor,
    lengths: Tensor = LENGTHS,
    steps: Tensor = STEPS,
    scores: Tensor | None = None,
) -> tuple[Tensor, Any]:
    """Weights [B, Q, N] out of scores that are the same for every sentence, and their places."""
    where = window.positions(query, lengths.clone(), steps.clone())
    inside = _inside(where, lengths)[:, : query.shape[1]]
    width = inside.shape[-1]
    if scores is None:
        scores = normal(1, 1, max(width, FAR), seed=3, dtype=query.dtype)[..., :width]
    weights = masked_softmax(window.on_scores(scores.expand(inside.shape).clone(), where), inside)
    return window.on_weights(weights, where), where


def interface(subject: Subject) -> None:
    """A module with `local`, `positions`, `on_scores` and `on_weights`."""
    window, where = subject.module, subject.title
    names = ("positions", "on_scores", "on_weights")
    good = isinstance(window, nn.Module) and all(callable(getattr(window, name, None)) for name in names)
    what = f"is no window: it lacks one of {', '.join(names)}"
    need(good, "interface", where, what, "inherit from attnlab.attention.Window")
    local = getattr(window, "local", None)
    what = f"is {local!r}"
    need(isinstance(local, bool), "interface", f"{where}.local", what, "set local = True or local = False")
    registered(subject)


def places(subject: Subject) -> None:
    """A local window names the same number of neighbouring places a step, none outside the sentence."""
    window, where = subject.module, f"{subject.title}.positions"
    given = f"a query [{B}, {Q}, {subject.sizes[0]}], lengths {LENGTHS.tolist()} and steps 1..{Q}"
    fix = "return Positions(first [B,Q], places [B,Q,W], inside [B,Q,W], centre [B,Q])"
    asked = {"query": _query(subject), "lengths": LENGTHS.clone(), "steps": STEPS.clone()}
    with failing("wrong shape", where, given, fix):
        found = window.positions(*asked.values())
    for (name, tensor), before in zip(asked.items(), (_query(subject), LENGTHS, STEPS), strict=True):
        copy = "work on a copy: they are those of the whole batch"
        need(torch.equal(tensor, before), "in place", where, f"changes the {name}", copy)
    both = "return None where local = False, and Positions where local = True"
    what = f"gives {'None' if found is None else 'places'} although local is {window.local}"
    need((found is not None) == window.local, "interface", where, what, both)
    if found is None:
        return
    good = isinstance(found, Positions)
    need(good, "interface", where, f"gives {shape(found)}", fix)
    width = found.places.shape[-1]
    for name, tensor, size in (
        *(("first", found.first, (B, Q)), ("places", found.places, (B, Q, width))),
        *(("inside", found.inside, (B, Q, width)), ("centre", found.centre, (B, Q))),
    ):
        swapped = sorted(tensor.shape) == sorted(size)
        what = f"{name} is {shape(tensor)}, not {list(size)}"
        need(tensor.shape == size, "wrong axis" if swapped else "wrong shape", where, what, fix)
    for name, tensor in (("first", found.first), ("places", found.places)):
        whole = not tensor.is_floating_point() and tensor.dtype != torch.bool
        what, count = f"{name} is of {tensor.dtype}", "count places in whole numbers, as steps are"
        need(whole, "wrong type", where, what, count)
    row = found.first.unsqueeze(-1) + 1 + torch.arange(width)
    what = "places are not first + 1, first + 2, ..., by which keys and states are picked"
    need(
        torch.equal(found.places.double(), row.double()),
        "wrong place",
        where,
        what,
        "count places from 1, first from 0",
    )
    of = f"inside is of {found.inside.dtype}"
    need(found.inside.dtype == torch.bool, "wrong type", where, of, "compare places with lengths")
    beyond = found.inside & ((found.places < 1) | (found.places > LENGTHS[:, None, None]))
    what = "a place outside the sentence is inside: padding gets a weight"
    fix = "let inside hold (places >= 1) & (places <= lengths[:, None, None])"
    need(not beyond.any(), "no mask", where, what, fix)
    lost = ~found.inside[1:].any(-1)
    what = f"step {int(lost.any(0).int().argmax()) + 1} has no place inside a sentence that has tokens"
    need(not lost.any(), "nothing inside", where, what, "keep the middle within 1..S")
    long = window.positions(_query(subject)[:1], torch.tensor([FAR]), STEPS).places.shape[-1]
    what = f"{width} places a step for {int(LENGTHS.max())} tokens, {long} for {FAR}"
    need(long == width, "wide", where, what, "name a fixed number of places, or set local = False")


def hooks(subject: Subject) -> None:
    """Shapes and the mask survive `on_scores` and `on_weights`; the shares are of at most one."""
    window, title = subject.module, subject.title
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        module = window if dtype == torch.float64 else subject.again(subject.sizes[0]).to(dtype).eval()
        word = str(dtype).removeprefix("torch.")
        fix = "make tensors with the dtype and device of what you are given, places in float32 at least"
        with failing("half precision", title, word, fix):
            where = module.positions(_query(subject, dtype), LENGTHS.clone(), STEPS.clone())
            inside = _inside(where)
            scores = normal(*inside.shape, seed=3, dtype=dtype)
            given = scores.clone()
            acted = module.on_scores(given, where)
            copy = "work on a copy: the scorer may need them to learn"
            need(torch.equal(given, scores), "in place", f"{title}.on_scores", "changes the scores", copy)
            weights = masked_softmax(acted, inside)
            after = module.on_weights(weights, where)
        fix = "return what you were given, changed but of the same shape"
        for name, given, found in (("on_scores", scores, acted), ("on_weights", weights, after)):
            what = f"gives {shape(found)} for {shape(given)}"
            same = isinstance(found, Tensor) and found.shape == given.shape
            need(same, "wrong shape", f"{title}.{name}", what, fix)
            seen = found[inside] if name == "on_scores" else found
            hidden = seen.isneginf() if name == "on_scores" else torch.zeros_like(seen, dtype=torch.bool)
            finite = (torch.isfinite(seen) | hidden).all()  # -inf hides a place from the softmax
            empty = ((acted.isneginf() | ~inside).all(-1) & inside.any(-1)).any()
            keep = "leave a place that is inside a score of its own"
            need(not empty, "nothing inside", f"{title}.on_scores", "hides all places of a step", keep)
            bound = "bound what you divide by: a sentence of no tokens has weights of 0 alone"
            need(finite, "empty sentence", f"{title}.{name}", f"NaN or an infinite value in {word}", bound)
        fix = "multiply the weights, or hold them at 0 where inside is false"
        need((after[~inside] == 0).all(), "no mask", f"{title}.on_weights", "padding gets a weight", fix)
        over = after.detach().double().sum(1)
        shared = over[over != 0]
        uneven = shared.numel() and torch.allclose(shared, torch.ones_like(shared), rtol=0, atol=1e-2)
        what = "its weights sum to 1 over the steps, not over the positions"
        need(not uneven, "wrong axis", f"{title}.on_weights", what, "divide by the sum over axis -1")
        need((after >= 0).all(), "sum", f"{title}.on_weights", "a weight is below 0", "return shares")
        excess = float(after.detach().double().sum(-1).max() - 1)
        most = 2e-3 if dtype.itemsize < 4 else 1e-5
        what = f"weights sum to {1 + excess:.4g}"
        need(excess <= most, "sum", f"{title}.on_weights", what, "let them sum to 1, or to less")


def independence(subject: Subject) -> None:
    """A step sees neither the other steps nor the other sentences nor padding, and nothing is kept."""
    window, title = subject.module, subject.title
    query = _query(subject)
    with torch.no_grad():
        whole, where = _acted(window, query)
        again, _ = _acted(window, query)
        near = SINGLE if narrowest(lambda: _acted(window, query)) < 8 else CLOSE
        same = torch.allclose(again, whole, rtol=0, atol=near)
        what = "the same question has another answer the second time"
        fix = "keep nothing of a batch, and draw nothing in eval()"
        need(same, "state kept", title, what, fix)
        inside = _inside(where)
        plain = normal(*inside.shape, seed=3)
        loud = torch.where(inside, plain, 5 - 3 * plain)
        quiet, _ = _acted(window, query, scores=plain)
        gap = (_acted(window, query, scores=loud)[0] - quiet).abs().max()
        what = "the weights change with the scores of padding"
        fix = "treat every score by itself: Attention owns the softmax and its mask"
        need(gap < near, "no mask", f"{title}.on_scores", what, fix)
        for i in range(1, B):
            alone, _ = _acted(window, query[i : i + 1], LENGTHS[i : i + 1])
            gap = (alone - whole[i : i + 1, :, : alone.shape[-1]]).abs().max()
            what = "the weights of a sentence change with the other sentences"
            fix = "treat every sentence by itself: its length is that of `lengths`, not the padded one"
            need(gap < near, "wrong axis", title, what, fix)
        for t in range(Q):
            alone, _ = _acted(window, query[:, t : t + 1], LENGTHS, STEPS[t : t + 1])
            gap = (alone - whole[:, t : t + 1]).abs().max()
            what = "the weights of a step change with the other steps, which a search does not have"
            need(gap < near, "wrong axis", title, what, "treat every query by itself")
    choice = (inside.sum(-1) > 1).any()
    other, _ = _acted(window, query, scores=plain.flip(-1) * 2)
    ignored = choice and torch.allclose(other, quiet, rtol=0, atol=near)
    what = "other scores have the same weights: the scorer has no say"
    need(not ignored, "scores ignored", title, what, "multiply the weights, or add to the scores")


def gradients(subject: Subject) -> None:
    """Every parameter, the scores and the query are learnt through, and by the right amount."""
    window, title = subject.module, subject.title
    points = []
    for seed in range(POINTS):
        query = (normal(B, Q, subject.sizes[0], seed=40 + seed) * 2).requires_grad_()
        inside = _inside(window.positions(query.detach(), LENGTHS, STEPS))
        scores = normal(*inside.shape, seed=50 + seed).requires_grad_()

        def run(query: Tensor = query, scores: Tensor = scores) -> Tensor:
            return _acted(window, query, scores=scores)[0]

        points.append((run, {"the query": query, "the scores": scores}))
    fix = "use it on the way to the weights without detach(), no_grad(), .item() or rounding"
    parameters = {f"{title}.{n}": p for n, p in window.named_parameters() if p.requires_grad}
    narrow = narrowest(points[0][0]) < 8
    found = slopes(points, parameters, narrow)
    for name in parameters:
        need(found[name].reaches, "gradients", name, "this parameter gets no gradient", fix)
        learnt(found[name], name, "this parameter", "the weights", fix)
    for name in points[0][1]:
        learnt(found[name], title, name, "the weights", fix)


def devices(subject: Subject) -> None:
    """No tensor is made on the CPU whatever the query's device; seen on torch's device without values."""
    window: Any = subject.again(subject.sizes[0]).to("meta")
    query, lengths, steps = (x.to("meta") for x in (_query(subject), LENGTHS, STEPS))
    with elsewhere(subject.title, "query"):
        where = window.positions(query, lengths, steps)
        width = int(LENGTHS.max()) if where is None else where.places.shape[-1]
        weights = torch.rand(B, Q, width, dtype=query.dtype, device="meta")
        window.on_weights(window.on_scores(weights, where), where)
