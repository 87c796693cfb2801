"""What a score sees: its own state and its own query, and no other's.

B, Q, N and the sizes are all different, so that an exchanged axis cannot pass by accident.
"""

from typing import Any

import torch
from torch import Tensor, nn

from attnlab.contract.broken import Broken, Subject, need
from attnlab.contract.rounding import near
from attnlab.contract.scorer import B, Q, S, W, query_of, single, states_of


def reading(subject: Subject) -> None:
    """The score of a position says something about its own state, and about the query."""
    scorer, title, rough = subject.module, subject.title, single(subject)
    states, query, other = states_of(subject), query_of(subject), states_of(subject, seed=3) * 2
    scores = scorer(query, scorer.prepare(states)).detach()
    known = min(S, scorer.max_length or S)
    fix = "use the states that prepare is given"
    equal = known > 1 and near(scores[..., :known], scores[..., :1].expand_as(scores[..., :known]), rough)
    need(not equal, "states ignored", title, "all positions have the same score", fix)

    moves = torch.zeros(S, S, dtype=torch.bool)  # whether state j moves the score of position i
    for j in range(S):
        one = states.clone()
        one[:, j] = other[:, j]
        changed = scorer(query, scorer.prepare(one)).detach()
        moves[j] = torch.tensor([not near(changed[..., i], scores[..., i], rough) for i in range(S)])
    blind = not moves.any()
    words = "; a score by position alone sets max_length, the positions it knows"
    by_place = scorer.max_length is not None
    need(by_place or not blind, "states ignored", title, "other states have the same scores", fix + words)
    lost = [] if blind else [i for i in range(known) if not moves[i, i]]
    for i in sorted(lost, key=lambda i: not moves[:, i].any())[:1]:  # first one that moves with another state
        by = [j + 1 for j in range(S) if moves[j, i]]
        what = f"the score of position {i + 1} does not move with its state h_{i + 1}"
        name = "wrong place" if by else "states ignored"
        what += f", but with h_{by[0]}" if by else ""
        raise Broken(name, title, what, "let e_j be a score of h_j" if by else fix)

    asked = scorer(query_of(subject, seed=4) * 2, scorer.prepare(states)).detach()
    heard = not near(asked, scores, rough)
    need(heard, "query ignored", f"{title}.forward", "another query has the same scores", "use the query")
    flat, level = (x[..., :known] - x[..., :known].mean(-1, keepdim=True) for x in (asked, scores))
    what = "the query adds the same to every position's score, which the softmax takes out"
    fix = "let the query meet each state in a product, or inside a function that is not linear"
    need(known == 1 or not near(flat, level, rough), "query ignored", f"{title}.forward", what, fix)


def independence(subject: Subject) -> None:
    """A score depends on its own query and on its own key, whatever stands beside them."""
    scorer, title, rough = subject.module, subject.title, single(subject)
    states, query = states_of(subject), query_of(subject)
    where = f"{title}.forward"
    keys = scorer.prepare(states).detach()
    scores = scorer(query, keys).detach()
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
    lengths = keys.norm(dim=1)
    sums = keys.sum(1)
    shared = (keys >= 0).all() and torch.allclose(sums, torch.ones_like(sums), atol=1e-6)
    even = keys.shape[-1] > 1 and torch.allclose(lengths, lengths[:1, :1].expand_as(lengths), atol=1e-6)
    what = "its keys are normalised over the positions, axis 1, so that padding takes part"
    fix = "normalise each key by itself, over the last axis"
    need(not shared and not even, "wrong axis", f"{title}.prepare", what, fix)

    fix = "treat every sentence by itself"
    alone = torch.cat([scorer.prepare(states[b : b + 1]) for b in range(B)])
    what = "a sentence's keys change with the other sentences"
    need(near(alone, keys, rough), "wrong axis", f"{title}.prepare", what, fix)
    alone = torch.cat([scorer(query[b : b + 1], keys[b : b + 1]) for b in range(B)])
    what = "a sentence's scores change with the other sentences"
    need(near(alone, scores, rough), "wrong axis", where, what, fix)
    alone = torch.cat([scorer(query[:, q : q + 1], keys) for q in range(Q)], 1)
    what = "a query's scores change with the other queries, which a search does not have"
    need(near(alone, scores, rough), "wrong axis", where, what, "treat every query by itself")

    fix = "let a position depend on no position after it: the last ones may be padding"
    other = states.clone()
    other[:, -2:] = states_of(subject, B, 2, seed=3) * 4
    what = "a position's key changes with the positions after it"
    same = near(scorer.prepare(other)[:, :-2], keys[:, :-2], rough)
    need(same, "no mask", f"{title}.prepare", what, fix)
    changed = keys.clone()
    changed[:, -2:] = keys.flip(0)[:, -2:] * 4 + 1
    same = near(scorer(query, changed)[..., :-2], scores[..., :-2], rough)
    what = "a position's score changes with the keys of others, padding among them"
    fix = "let the score of a key depend on no other key; " + raw
    need(same, "no mask", where, what, fix)
    from_first, later = (
        near(_windowed(subject, query, keys[:, at : at + W]), scores[..., at : at + W], rough)
        for at in (0, S - W)
    )
    what = "a key's score changes with how many keys there are, padding among them"
    need(from_first, "no mask", where, what, fix)
    what = "a key's score changes with its place among the keys: a window hands over a few of them"
    need(later, "wrong place", where, what, "put the place into the key, in prepare")
    _in_training(subject)


def _in_training(subject: Subject) -> None:
    """The same of the sentences in train(), where what is drawn at random can be left out."""
    training: Any = subject.again(*subject.sizes).train()
    for module in training.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0
        elif isinstance(module, nn.RNNBase):
            module.dropout = 0
    states, query = states_of(subject), query_of(subject)
    whole, again = (training(query, training.prepare(states)) for _ in range(2))
    if not torch.equal(whole, again):
        return
    alone = [training(query[b : b + 1], training.prepare(states[b : b + 1])) for b in range(B)]
    what = "in training, a sentence's scores change with the other sentences"
    same = near(torch.cat(alone), whole, single(subject))
    need(same, "wrong axis", subject.title, what, "treat every sentence by itself")


def _windowed(subject: Subject, query: Tensor, keys: Tensor) -> Tensor:
    """Scores [B, Q, W] of the same few keys [B, W, A] for each query, as a window hands them over."""
    scores: Tensor = subject.module(query.unsqueeze(-2), keys[:, None].repeat(1, query.shape[1], 1, 1))
    return scores.squeeze(-2)
