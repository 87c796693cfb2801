"""What a scorer owes by itself: shapes, independence, gradients, precision, cost.

B, Q, N and the sizes are all different, so that an exchanged axis cannot pass by accident. Each function
raises `Broken` where its clause does not hold.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.gradcheck import GradcheckError

from attnlab.attention import Scorer
from attnlab.contract import joined
from attnlab.contract.asking import normal
from attnlab.contract.broken import Broken, Subject, failing, need, registered, shape, told

B, Q, S, W = 3, 5, 7, 2
LONG = 130  # tokens; the generated language and the corpora have sentences up to some 100
FORWARD = "return [..., Q, N], a score of each query with each key, for any leading axes"


def states_of(subject: Subject, *leading: int, seed: int = 2) -> Tensor:
    """States [B, S, K], or with other leading axes."""
    return normal(*(leading or (B, S)), subject.sizes[1], seed=seed)


def query_of(subject: Subject, *leading: int) -> Tensor:
    """Queries [B, Q, H], or with other leading axes."""
    return normal(*(leading or (B, Q)), subject.sizes[0], seed=1)


def interface(subject: Subject) -> None:
    """A module with `prepare`, `forward` and `max_length`, of any H and K that it takes."""
    scorer, where = subject.module, subject.title
    good = isinstance(scorer, nn.Module) and callable(getattr(scorer, "prepare", None))
    good = good and hasattr(scorer, "max_length")
    inherit = "inherit from attnlab.attention.Scorer"
    good = good and all(hasattr(scorer, name) for name in ("query_dim", "key_dim"))
    what = "is no scorer: it lacks prepare(states), max_length, query_dim or key_dim"
    need(good, "interface", where, what, inherit)
    mine = type(scorer).forward is not Scorer.forward and type(scorer).forward is not nn.Module.forward
    need(mine, "interface", f"{where}.forward", "is not there", "define forward(query, keys)")
    limit = scorer.max_length
    whole = isinstance(limit, int) and not isinstance(limit, bool) and limit >= 1
    fix = "None, or the largest number of positions that it can score"
    need(limit is None or whole, "max_length", f"{where}.max_length", f"is {limit!r}", f"make it {fix}")
    registered(subject)


def shapes(subject: Subject) -> None:
    """Keys [B, S, A]; scores [..., Q, N] with and without a window."""
    scorer, title = subject.module, subject.title
    states, query = states_of(subject), query_of(subject)
    where = f"{title}.prepare"
    fix = "return [B, S, A], a key of each source position"
    with failing("wrong shape", where, f"states {shape(states)} of B, S, K", fix):
        keys = scorer.prepare(states)
    good = isinstance(keys, Tensor) and keys.ndim == 3 and keys.shape[:2] == (B, S)
    swapped = isinstance(keys, Tensor) and keys.ndim == 3 and {B, S} < set(keys.shape)
    what = f"gives {shape(keys)} for states {shape(states)} of B, S, K"
    need(good, "wrong axis" if swapped else "wrong shape", where, what, fix)

    where = f"{title}.forward"
    picked = keys[:, None, :W].repeat(1, Q, 1, 1)
    for asked, found, expected in (
        (query, keys, [B, Q, S]),
        (query.unsqueeze(-2), picked, [B, Q, 1, W]),  # a window: each query meets its own W keys
    ):
        on = f"query {shape(asked)} and keys {shape(found)}"
        with failing("wrong shape", where, on, FORWARD), _sized(subject, asked.ndim):
            scores = scorer(asked, found)
        swapped = isinstance(scores, Tensor) and sorted(scores.shape) == sorted(expected)
        good = isinstance(scores, Tensor) and list(scores.shape) == expected
        what = f"gives {shape(scores)} for {on}, not {expected}"
        need(good, "wrong axis" if swapped else "wrong shape", where, what, FORWARD)


@contextmanager
def _sized(subject: Subject, axes: int) -> Iterator[None]:
    """What fails for H and K apart and not where they are equal needs to say so when it is constructed."""
    try:
        yield
    except Exception as error:
        query_dim, key_dim = subject.sizes
        if query_dim == key_dim or axes > 3:
            raise
        try:
            equal: Any = subject.again(query_dim, query_dim).eval()
            equal(normal(B, Q, query_dim), equal.prepare(normal(B, S, query_dim)))
        except Exception:
            raise error from None
        what = f"works for query_dim == key_dim alone, and takes {query_dim} and {key_dim}: {told(error)}"
        fix = "raise ValueError in __init__ where they differ, as attnlab.attention.Dot does"
        raise Broken("sizes", f"{subject.title}.forward", what, fix) from error


def lasting(subject: Subject) -> None:
    """Nothing is changed in place, and the same question gets the same answer."""
    scorer, title = subject.module, subject.title
    states, query = states_of(subject), query_of(subject)
    fix = "work on a copy: the same keys are asked at every step"
    with failing("in place", title, "tensors that need a gradient", fix):
        keys = scorer.prepare(states.clone().requires_grad_() * 1)
    kept = keys.detach().clone()
    for name, given in (("states", states), ("query", query)):
        copy = given.clone()
        with torch.no_grad():
            scorer.prepare(copy) if name == "states" else scorer(copy, kept.clone())
        need(torch.equal(copy, given), "in place", title, f"changes the {name} that it was given", fix)
    handed = kept.clone()
    before = {name: dict(vars(module)) for name, module in scorer.named_modules()}
    first = scorer(query, handed)
    need(torch.equal(handed, kept), "in place", f"{title}.forward", "changes the keys that it was given", fix)
    _other = scorer(query * 2 + 1, scorer.prepare(states - 3))
    again = scorer(query, scorer.prepare(states))
    for name, module in scorer.named_modules():
        joined.unchanged(f"{title}.{name}".rstrip("."), module, before[name], B)
    what = "the same query and states have another score the second time"
    same = torch.allclose(first, again, rtol=0, atol=1e-9)
    need(same, "state kept", title, what, "keep nothing of a batch, and draw nothing in eval()")
    training: Any = subject.again(*subject.sizes).train()
    values = {name: tensor.clone() for name, tensor in training.state_dict().items()}
    with failing(
        "state kept", title, "a batch in training", "let the sizes of the batch and of the source be any"
    ):
        training(query, training.prepare(states))
    for name, tensor in training.state_dict().items():
        fix = "keep nothing of a batch: the sentences beside one must not matter"
        need(torch.equal(tensor, values[name]), "state kept", f"{title}.{name}", "changes in training", fix)


def independence(subject: Subject) -> None:
    """A score depends on its own query and on its own key, whatever stands beside them."""
    scorer, title = subject.module, subject.title
    states, query = states_of(subject), query_of(subject)
    where = f"{title}.forward"
    keys = scorer.prepare(states)
    scores = scorer(query, keys)
    raw = "return raw scores: Attention owns the softmax over the source and its mask"
    for axis, over, name in (
        (-1, "positions", "no mask"),
        (-2, "queries", "wrong axis"),
        (0, "sentences", "wrong axis"),
    ):
        sums = scores.sum(axis)
        shared = (scores >= 0).all() and torch.allclose(sums, torch.ones_like(sums), atol=1e-6)
        share = ", so that padding takes a share" if axis == -1 else ""
        need(not shared, name, where, f"its scores sum to 1 over the {over}{share}", raw)

    fix = "treat every sentence by itself"
    alone = torch.cat([scorer.prepare(states[b : b + 1]) for b in range(B)])
    same = torch.allclose(alone, keys, rtol=0, atol=1e-9)
    need(same, "wrong axis", f"{title}.prepare", "a sentence's keys change with the other sentences", fix)
    alone = torch.cat([scorer(query[b : b + 1], keys[b : b + 1]) for b in range(B)])
    same = torch.allclose(alone, scores, rtol=0, atol=1e-9)
    need(same, "wrong axis", where, "a sentence's scores change with the other sentences", fix)
    alone = torch.cat([scorer(query[:, q : q + 1], keys) for q in range(Q)], 1)
    same = torch.allclose(alone, scores, rtol=0, atol=1e-9)
    what = "a query's scores change with the other queries, which a search does not have"
    need(same, "wrong axis", where, what, "treat every query by itself")

    fix = "let a position depend on no position after it: the last ones may be padding"
    other = states.clone()
    other[:, -2:] = states_of(subject, B, 2, seed=3) * 4
    same = torch.allclose(scorer.prepare(other)[:, :-2], keys[:, :-2], rtol=0, atol=1e-9)
    need(same, "no mask", f"{title}.prepare", "a position's key changes with the positions after it", fix)
    changed = keys.detach().clone()
    changed[:, -2:] = keys.detach().flip(0)[:, -2:] * 4 + 1
    same = torch.allclose(scorer(query, changed)[..., :-2], scores[..., :-2], rtol=0, atol=1e-9)
    picked = scorer(query.unsqueeze(-2), keys[:, None, :W].repeat(1, Q, 1, 1)).squeeze(-2)
    same = same and torch.allclose(picked, scores[..., :W], rtol=0, atol=1e-9)  # in a window
    what = "a position's score changes with the keys of others, padding among them"
    need(same, "no mask", where, what, "let the score of a key depend on no other key; " + raw)


def reading(subject: Subject) -> None:
    """The scores say something about the states and about the query."""
    scorer, title = subject.module, subject.title
    states, query = states_of(subject), query_of(subject)
    scores = scorer(query, scorer.prepare(states))
    other = scorer(query, scorer.prepare(states_of(subject, seed=3)))
    equal = torch.allclose(scores, scores[..., :1].expand_as(scores), rtol=0, atol=1e-9)
    blind = torch.allclose(scores, other, rtol=0, atol=1e-9)
    fix = "use the states that prepare is given"
    need(not (equal and blind), "states ignored", title, "all positions have the same score", fix)
    by_place = scorer.max_length is not None
    fix += "; a score by position alone sets max_length, the positions it knows"
    need(by_place or not blind, "states ignored", title, "other states have the same scores", fix)
    asked = scorer(query.flip(1) * 2, scorer.prepare(states))
    heard = not torch.allclose(asked, scores, rtol=0, atol=1e-9)
    need(heard, "query ignored", f"{title}.forward", "another query has the same scores", "use the query")


def gradients(subject: Subject) -> None:
    """Every parameter, the query and the states are learnt through, and by the right amount."""
    scorer, title = subject.module, subject.title
    states, query = states_of(subject).requires_grad_(), query_of(subject).requires_grad_()
    scorer.zero_grad()
    scores = scorer(query, scorer.prepare(states))
    fix = "leave out detach(), no_grad(), .data and .item() on the way to the score"
    need(scores.requires_grad, "gradients", f"{title}.forward", "the scores have no gradient at all", fix)
    scores.sin().sum().backward()
    read = not torch.equal(scores, scorer(query, scorer.prepare(states_of(subject, seed=3))))
    heard = not torch.equal(scores, scorer(query * 2, scorer.prepare(states)))
    for name, tensor, matters in [("the states", states, read), ("the query", query, heard)]:
        got = not matters or (tensor.grad is not None and tensor.grad.any())
        need(got, "gradients", title, f"no gradient reaches {name}, although the scores depend on it", fix)
    for name, parameter in scorer.named_parameters():
        if parameter.requires_grad:
            got = parameter.grad is not None and parameter.grad.any()
            idle = "use it in the score, or leave it out; or " + fix
            need(got, "gradients", f"{title}.{name}", "this parameter gets no gradient", idle)
    small = [query_of(subject, 2, 2).requires_grad_(), states_of(subject, 2, 3).requires_grad_()]
    try:
        torch.autograd.gradcheck(lambda q, s: scorer(q, scorer.prepare(s)), small, fast_mode=True)
    except GradcheckError as error:
        what = "the gradient is not that of the formula"
        raise Broken("gradients", title, what, "mend the backward pass of your autograd.Function") from error


def zeros(subject: Subject) -> None:
    """Padding, and all of an empty sentence, is states of 0: its scores and gradients are numbers."""
    scorer, title = subject.module, subject.title
    states, query = states_of(subject), query_of(subject)
    states[:, S // 2 :] = 0
    query[0] = 0  # a decoder's first state may be 0
    states.requires_grad_()
    query.requires_grad_()
    scorer.zero_grad()
    scores = scorer(query, scorer.prepare(states))
    fix = "bound what you divide by or take the root of, as F.normalize does"
    what = "a state of 0, as padding and an empty sentence have, gives NaN or an infinite"
    need(torch.isfinite(scores).all(), "empty sentence", title, f"{what} score", fix)
    if scores.requires_grad:
        scores.sin().sum().backward()
        for tensor in (states, query, *scorer.parameters()):
            good = tensor.grad is None or torch.isfinite(tensor.grad).all()
            need(good, "empty sentence", title, f"{what} gradient", fix)


def lengths(subject: Subject) -> None:
    """Sources of one token, and of more than it knows, have scores."""
    scorer, title = subject.module, subject.title
    limit = scorer.max_length
    longest = LONG if limit is None else max(LONG, min(limit, 4000) + 1)
    for length in (1, longest):
        fix = f"set max_length to the positions that it knows, and let prepare take {length} all the same"
        with failing("max_length", f"{title}.prepare", f"a source of {length} tokens", fix):
            scores = scorer(query_of(subject, 1, 1), scorer.prepare(states_of(subject, 1, length)))
        what = f"gives {shape(scores)} for a source of {length} tokens"
        need(scores.shape == (1, 1, length), "max_length", title, what, fix)
