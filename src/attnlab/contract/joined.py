"""What a scorer and a window owe together, asked one step at a time or all steps at once.

Each function raises `Broken` where its clause does not hold. The tests of the framework's own scorers and
windows call the same functions (tests/attention/test_contract.py).
"""

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from attnlab.attention import Attention, Positions
from attnlab.contract.asking import LENGTHS, PADDED, STEPS, ask, batch, sizes
from attnlab.contract.broken import Broken, need
from attnlab.contract.holding import BATCH, attributes, unchanged
from attnlab.contract.rounding import COARSE, EXACT, SINGLE, moved, narrowest, summed

PRECISIONS = ("float16", "bfloat16", "float32", "float64", "autocast")
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 2e-3, torch.float32: 1e-5, torch.float64: 1e-12}


def reachable(attention: Attention, lengths: Tensor = LENGTHS, padded: int = PADDED) -> Tensor:
    """[B, S]: which positions can have a weight."""
    limit = attention.scorer.max_length
    return torch.arange(padded) < lengths.clamp(max=padded if limit is None else limit).unsqueeze(-1)


def masks_hold(attention: Attention, precision: str, one_step: bool, at_most_one: bool = False) -> Tensor:
    """Weights of exactly 0 where nothing may be seen, shares of one elsewhere, everything finite.

    Args:
        attention: is converted to the precision.
        precision: one of PRECISIONS.
        one_step: ask one step after the other.
        at_most_one: the weights may sum to less than 1, as those of an unnormalised Gaussian.

    Returns:
        The weights [B, T, S].
    """
    dtype = torch.float32 if precision == "autocast" else getattr(torch, precision)
    autocast = torch.autocast("cpu", torch.bfloat16) if precision == "autocast" else nullcontext()
    attention = attention.to(dtype)
    attention.zero_grad()
    query, states = (x.requires_grad_() for x in batch(*sizes(attention), dtype))
    with autocast:
        context, weights = ask(attention, query, states, LENGTHS, one_step)
    count = (
        weights.shape[0] * weights.shape[1] if precision == "float16" else 1
    )  # a sum would leave its range
    ((context.float().square().sum() + weights.float().square().sum()) / count).backward()

    fix = f"in {precision}: keep every intermediate value finite"
    need(
        torch.isfinite(context).all() and torch.isfinite(weights).all(),
        *("not finite", "weights", "NaN or an infinite value", fix),
    )
    for name, gradient in [
        *(("queries", query.grad), ("states", states.grad)),
        *((n, p.grad) for n, p in attention.named_parameters()),
    ]:
        good = gradient is None or torch.isfinite(gradient).all()
        need(good, "not finite", f"gradient of {name}", "NaN or an infinite value", fix)

    places = reachable(attention)
    outside = ~places.unsqueeze(1).expand_as(weights)
    mend = "leave a weight of 0 at 0, and say in `inside` which places are in the sentence"
    need((weights[outside] == 0).all(), "no mask", "weights", "padding has a weight", mend)
    no_pull = states.grad is None or (states.grad[~places] == 0).all()
    need(no_pull, "no mask", "gradient of states", "padding has a gradient", mend)
    need((weights >= 0).all(), "sum", "weights", "a weight is below 0", "return shares of at least 0")
    empty = (weights[0] == 0).all() and (context[0] == 0).all()
    need(empty, "empty sentence", "weights", "a sentence of no tokens has a weight", mend)

    weights = weights.detach()
    total = weights.double().sum(-1)
    tolerance = max(TOLERANCE[dtype], TOLERANCE[weights.dtype], 2e-3 if precision == "autocast" else 0)
    reached = weights.ne(0).any(-1)
    excess = float(total.max() - 1) if at_most_one else float((total[reached] - 1).abs().max())
    if excess > tolerance and dtype == torch.float64 and _single(attention):
        tolerance = SINGLE
    said = f"off by {excess:.2g} in {precision}"
    must = "sum to at most 1" if at_most_one else "sum to 1"
    need(excess <= tolerance, "sum", "weights", f"do not {must}: {said}", "divide by the sum, or by nothing")
    if attention.scorer.max_length is None:
        need(
            reached[1:].all(),
            *("nothing inside", "positions", "a step has no place to look at", "keep m within 1..S"),
        )
    return weights


def half_agrees_with_single(attention: Attention, one_step: bool, by_size: bool = False) -> None:
    """bfloat16 gives what float32 gives with the same, rounded, parameters.

    Large scores, which only `by_size` allows for, move weights and contexts far and leave those in float32 no
    say. So a context is held to the sum that its own weights give as well, whatever the scores are.

    Args:
        attention: is converted to float32.
        one_step: ask one step after the other.
        by_size: large scores may move the weights by as much as their rounding does (`rounding`).
    """
    query, states = batch(*sizes(attention), torch.bfloat16)
    half = ask(attention.bfloat16(), query, states, LENGTHS, one_step)
    query, states = query.float(), states.float()
    window = attention.window
    act, bounds = window.on_scores, [0.0]

    def noted(scores: Tensor, where: Positions | None) -> Tensor:
        acted = act(scores, where)
        bounds.append(moved(acted, torch.bfloat16))
        return acted

    if by_size:
        window.on_scores = noted  # type: ignore[method-assign]
    single = ask(attention.float(), query, states, LENGTHS, one_step)
    if by_size:
        del window.on_scores
    most = max(bounds)
    gap = (half[1].float() - single[1]).detach().abs()
    # A predicted centre next to a whole number may fall on its other side: compare where it did not. A weight
    # that is 0 in one and next to 0 in the other is no other place.
    other = (half[1].ne(0) != single[1].ne(0)) & (gap > 1e-6)
    same = ~other.any(-1)
    fix = "compute what is small or large in float32"
    need(same.float().mean() > 0.9, "half precision", "weights", "other places than in float32", fix)

    moved_by = (half[0].float() - single[0]).detach().abs()
    spread = (states.amax(1) - states.amin(1)).unsqueeze(1).expand_as(moved_by)
    sums, rounded_by = summed(half[1], states, torch.bfloat16)
    added = (half[0].float() - sums).detach().abs()
    for where, gaps, bound, reference in (
        ("weights", gap[same], torch.tensor(most).clamp(min=COARSE), "those in float32"),
        ("context", moved_by[same], (most * spread[same]).clamp(min=COARSE), "that in float32"),
        ("context", added, rounded_by, "the sum that its weights give"),
    ):
        what = f"{float(gaps.max()):.2g} away from {reference}"
        need((gaps <= bound).all(), "half precision", where, what, fix)


def _close(
    ours: Tensor, theirs: Tensor, name: str, where: str, what: str, remedy: str, single: bool = False
) -> None:
    """Equal but for rounding: of float64, or of float32 relative to 1 and to the largest value."""
    size = 1 + float(theirs.detach().abs().max()) if single and theirs.numel() else 1
    try:
        torch.testing.assert_close(ours, theirs, rtol=0, atol=SINGLE * size if single else EXACT)
    except AssertionError as error:
        raise Broken(name, where, what, remedy) from error


def _single(attention: Attention) -> bool:
    """Whether this float64 attention computes in float32 inside."""
    query, states = (x[:2] for x in batch(*sizes(attention)))
    return narrowest(lambda: ask(attention, query, states, LENGTHS[1:3], one_step=False)) < 8


def one_step_gives_what_all_steps_give(attention: Attention) -> None:
    """Search asks one step at a time, training all at once."""
    one, all_ = (ask(attention, *batch(*sizes(attention)), LENGTHS, one) for one in (True, False))
    single = _single(attention)
    for ours, theirs in zip(one, all_, strict=True):
        what = "a step asked alone is not the step asked with all others"
        _close(ours, theirs, "wrong axis", "weights", what, "treat every query by itself", single)


def a_sentence_is_as_if_alone(attention: Attention, one_step: bool) -> None:
    """Neither the other sentences nor the padding are seen."""
    query, states = batch(*sizes(attention))
    context, weights = ask(attention, query, states, LENGTHS, one_step)
    single = _single(attention)
    for b in [1, 2, 17, 30]:
        n = int(LENGTHS[b])
        alone = ask(attention, query[b : b + 1], states[b : b + 1, :n], LENGTHS[b : b + 1], one_step)
        what = f"a sentence of {n} tokens in a padded batch is not the sentence alone"
        fix = "treat every sentence by itself, and no position by those after it"
        _close(context[b], alone[0][0], "no mask", "context", what, fix, single)
        _close(weights[b, :, :n], alone[1][0], "no mask", "weights", what, fix, single)


def _gradients(
    attention: Attention, query: Tensor, states: Tensor, lengths: Tensor, one_step: bool
) -> dict[str, Tensor]:
    attention.zero_grad()
    context, weights = ask(attention, query, states, lengths, one_step)
    (context.sin().sum() + weights.square().sum()).backward()
    return {
        n: torch.zeros_like(p) if p.grad is None else p.grad.clone() for n, p in attention.named_parameters()
    }


def an_empty_sentence_leaves_the_gradients_of_the_others(attention: Attention, one_step: bool) -> None:
    """No 0/0 arises in a row with nothing to attend to, which a later mask might hide from the values."""
    query_dim, key_dim = sizes(attention)
    query, states = batch(query_dim, key_dim)
    query, states = query[:2, :7], states[:2, :6]
    together = (query.clone().requires_grad_(), states.clone().requires_grad_())
    alone = (query[:1].clone().requires_grad_(), states[:1].clone().requires_grad_())
    fix = "let no 0/0 arise where nothing is inside"
    try:
        with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
            found = _gradients(attention, *together, torch.tensor([5, 0]), one_step)
    except RuntimeError as error:
        raise Broken("empty sentence", "gradient", str(error).splitlines()[0], fix) from error
    expected = _gradients(attention, *alone, torch.tensor([5]), one_step)
    what = "an empty sentence in the batch changes the gradients of the other"
    single = _single(attention)
    for name in expected:
        _close(found[name], expected[name], "empty sentence", f"gradient of {name}", what, fix, single)
    for name, ours, theirs in zip(("queries", "states"), together, alone, strict=True):
        if ours.grad is None or theirs.grad is None:  # a scorer and a window of places alone need no query
            need(ours.grad is theirs.grad, "gradients", name, what, fix)
            continue
        _close(ours.grad[:1], theirs.grad, "empty sentence", f"gradient of {name}", what, fix, single)
        need((ours.grad[1] == 0).all(), "empty sentence", f"gradient of {name}", "is not 0", fix)


def nothing_of_a_batch_is_kept(attention: Attention) -> None:
    """`prepare` runs once a batch, and no attribute, parameter or buffer is another one afterwards."""
    calls: list[Any] = []
    scorer: Any = attention.scorer
    prepare = scorer.prepare

    def counted(states: Tensor) -> Tensor:
        calls.append(states.shape)
        keys: Tensor = prepare(states)
        return keys

    scorer.prepare = counted
    try:
        kept = attributes(attention)
        values = {name: tensor.clone() for name, tensor in attention.state_dict().items()}
        ask(attention, *batch(*sizes(attention)), LENGTHS, one_step=True)
        ran = f"ran {len(calls)} times for one batch"
        need(len(calls) == 1, "work at every step", "prepare", ran, "run it once")
        unchanged("", attention, kept, len(LENGTHS))
    finally:
        del scorer.prepare
    need(attention.state_dict().keys() == values.keys(), "state kept", "state_dict", "has other names", BATCH)
    for name, tensor in attention.state_dict().items():
        need(torch.equal(tensor, values[name]), "state kept", name, "is another one after a batch", BATCH)


def sentences_can_be_selected(attention: Attention) -> None:
    """The memory of some sentences gives their rows."""
    query, states = batch(*sizes(attention))
    rows = torch.tensor([30, 0, 7, 7])
    steps = torch.arange(1, STEPS + 1)
    memory = attention.prepare(states, LENGTHS).select(rows)
    found = attention(query[rows], memory, steps).dense(PADDED)
    expected = attention(query, attention.prepare(states, LENGTHS), steps).dense(PADDED)[rows]
    what = "the memory of some sentences does not give their weights"
    fix = "return keys whose first axis is the sentence"
    _close(found, expected, "wrong axis", "prepare", what, fix, _single(attention))
