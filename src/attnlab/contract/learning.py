"""What a scorer owes to its training: gradients, numbers where states are 0, and sources of any length."""

import torch
from torch import Tensor

from attnlab.contract.broken import Broken, Subject, failing, need, shape
from attnlab.contract.scorer import Q, S, query_of, single, states_of
from attnlab.contract.slopes import POINTS, Slope, slopes

LONG = 130  # tokens; the generated language and the corpora have sentences up to some 100
WAY = "leave out detach(), no_grad(), .data and .item() on the way to the score"


def gradients(subject: Subject) -> None:
    """Every parameter, the query and the states are learnt through, and by the right amount."""
    scorer, title = subject.module, subject.title
    points = []
    for seed in range(POINTS):
        inputs = {
            "the states": states_of(subject, seed=20 + seed).requires_grad_(),
            "the query": query_of(subject, seed=30 + seed).requires_grad_(),
        }

        def run(states: Tensor = inputs["the states"], query: Tensor = inputs["the query"]) -> Tensor:
            keys = scorer.prepare(states)
            picked = scorer(query.unsqueeze(-2), keys[:, None, -2:].repeat(1, Q, 1, 1))
            whole: Tensor = scorer(query, keys)
            return torch.cat([whole, picked.squeeze(-2)], -1)

        points.append((run, inputs))
    what = "the scores have no gradient at all"
    need(points[0][0]().requires_grad, "gradients", f"{title}.forward", what, WAY)
    parameters = {f"{title}.{n}": p for n, p in scorer.named_parameters() if p.requires_grad}
    found = slopes(points, parameters, single(subject))
    for name in points[0][1]:
        learnt(found[name], title, name, "the scores", WAY)
    for name in parameters:
        idle = "use it in the score, or leave it out; or " + WAY
        need(found[name].reaches, "gradients", name, "this parameter gets no gradient", idle)
        learnt(found[name], name, "this parameter", "the scores", WAY)


def learnt(slope: Slope, where: str, name: str, outputs: str, way: str) -> None:
    """Raise `Broken` where something matters to the outputs and its gradient is not theirs.

    Args:
        slope: what was found.
        where: of the fault.
        name: of the tensor, in words.
        outputs: what depends on it, in words.
        way: the remedy.
    """
    what = f"no gradient reaches {name}, although {outputs} depend on it"
    need(slope.reaches or not slope.matters, "gradients", where, what, way)
    if slope.wrong:
        what = f"the gradient of {name} is not that of the formula"
        mend = f"{way}, of any part of it; or mend the backward pass of your autograd.Function"
        raise Broken("gradients", where, what, mend)


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
