"""What a scorer owes by itself: its parts, shapes and numbers, and nothing kept of a batch.

B, Q, N and the sizes are all different, so that an exchanged axis cannot pass by accident. Each function
raises `Broken` where its clause does not hold.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from attnlab.attention import Scorer
from attnlab.contract.asking import normal
from attnlab.contract.broken import Broken, Subject, failing, need, of_shapes, shape, told
from attnlab.contract.holding import attributes, left_behind, registered, unchanged
from attnlab.contract.rounding import narrowest, near

B, Q, S, W = 3, 5, 7, 2
MANY = 29  # sentences, of which no tensor of one's own has as many rows by accident
FORWARD = "return [..., Q, N], a score of each query with each key, for any leading axes"
ALIKE = "make tensors with dtype=states.dtype and device=states.device, and cast none by name"


def states_of(subject: Subject, *leading: int, seed: int = 2) -> Tensor:
    """States [B, S, K], or with other leading axes."""
    return normal(*(leading or (B, S)), subject.sizes[1], seed=seed)


def query_of(subject: Subject, *leading: int, seed: int = 1) -> Tensor:
    """Queries [B, Q, H], or with other leading axes."""
    return normal(*(leading or (B, Q)), subject.sizes[0], seed=seed)


def single(subject: Subject) -> bool:
    """Whether the float64 scorer computes in float32 inside."""
    scorer = subject.module
    return narrowest(lambda: scorer(query_of(subject), scorer.prepare(states_of(subject)))) < 8


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
    """Keys [B, S, A]; scores [..., Q, N] with and without a window; one of each as well."""
    scorer, title = subject.module, subject.title
    for states, query in (
        (states_of(subject), query_of(subject)),
        (states_of(subject, 1, 1), query_of(subject, 1, 1)),  # what squeezes takes these axes away
    ):
        (b, n), q = states.shape[:2], query.shape[1]
        where = f"{title}.prepare"
        fix = "return [B, S, A], a key of each source position"
        on = f"states {shape(states)} of B, S, K"
        with _asked(subject, where, on, fix):
            keys = scorer.prepare(states)
        good = isinstance(keys, Tensor) and keys.ndim == 3 and keys.shape[:2] == (b, n)
        swapped = isinstance(keys, Tensor) and keys.ndim == 3 and {b, n} < set(keys.shape)
        what = f"gives {shape(keys)} for {on}"
        need(good, "wrong axis" if swapped else "wrong shape", where, what, fix)

        where, few = f"{title}.forward", min(W, n)
        picked = keys[:, None, :few].repeat(1, q, 1, 1)
        for asked, found, expected in (
            (query, keys, [b, q, n]),
            (query.unsqueeze(-2), picked, [b, q, 1, few]),  # a window: each query meets its own few keys
        ):
            on = f"query {shape(asked)} and keys {shape(found)}"
            with _asked(subject, where, on, FORWARD, asked.ndim):
                scores = scorer(asked, found)
            swapped = isinstance(scores, Tensor) and sorted(scores.shape) == sorted(expected)
            good = isinstance(scores, Tensor) and list(scores.shape) == expected
            what = f"gives {shape(scores)} for {on}, not {expected}"
            need(good, "wrong axis" if swapped else "wrong shape", where, what, FORWARD)


def numbers(subject: Subject) -> None:
    """Finite floating-point scores, of no smaller precision than what is asked with."""
    scorer, where = subject.module, f"{subject.title}.forward"
    states, query = states_of(subject), query_of(subject)
    scores = scorer(query, scorer.prepare(states))
    what, fix = f"gives scores of {scores.dtype}", "return floating-point scores"
    need(scores.is_floating_point(), "wrong type", where, what, fix)
    what = "gives NaN or an infinite score for states and queries of N(0, 1)"
    fix = "bound what you divide by, and what stands under a root or a logarithm"
    need(torch.isfinite(scores).all(), "not finite", where, what, fix)
    with failing("half precision", subject.title, "float32", ALIKE):
        plain: Any = subject.again(*subject.sizes).float().eval()
        size = narrowest(lambda: plain(query.float(), plain.prepare(states.float())))
    what = f"computes in {8 * size} bits what is given in float32"
    need(size >= 4, "half precision", where, what, "leave the precision to trainer.precision")


@contextmanager
def _asked(subject: Subject, where: str, on: str, fix: str, axes: int = 3) -> Iterator[None]:
    """An error, by its cause: sizes that must be equal, float32 alone, a shape, or something else.

    What fails for H and K apart and not where they are equal needs to say so when it is constructed.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        query_dim, key_dim = subject.sizes
        plain = axes == 3 and not isinstance(error, SystemExit)
        if plain and query_dim != key_dim and _works(subject, query_dim, query_dim, torch.float64):
            what = f"works for query_dim == key_dim alone, and takes {query_dim} and {key_dim}: {told(error)}"
            remedy = "raise ValueError in __init__ where they differ, as attnlab.attention.Dot does"
            raise Broken("sizes", where, what, remedy) from error
        if plain and _works(subject, query_dim, key_dim, torch.float32):
            what = f"works in float32 alone: {told(error)}"
            raise Broken("half precision", where, what, ALIKE) from error
        about = of_shapes(error) or (axes > 3 and not isinstance(error, SystemExit))
        name, remedy = ("wrong shape", fix) if about else ("error", "see what raised it")
        raise Broken(name, where, f"fails on {on}: {told(error)}", remedy) from error


def _works(subject: Subject, query_dim: int, key_dim: int, dtype: torch.dtype) -> bool:
    try:
        other: Any = subject.again(query_dim, key_dim).to(dtype).eval()
        states = normal(B, S, key_dim, dtype=dtype)
        scores = other(normal(B, Q, query_dim, dtype=dtype), other.prepare(states))
    except (Exception, SystemExit):
        return False
    return list(scores.shape) == [B, Q, S]


def lasting(subject: Subject) -> None:
    """Nothing is changed in place or left behind, and the same question gets the same answer."""
    scorer, title = subject.again(*subject.sizes).eval(), subject.title
    states, query = states_of(subject), query_of(subject)
    before, names = attributes(scorer), scorer.state_dict().keys()
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
    first = scorer(query, handed)
    need(torch.equal(handed, kept), "in place", f"{title}.forward", "changes the keys that it was given", fix)
    new = sorted(scorer.state_dict().keys() - names)
    what, make = "is made by the first batch: no optimiser knows of it", "make it in __init__"
    need(not new, "gradients", f"{title}.{', '.join(new)}", what, make)
    _other = scorer(query * 2 + 1, scorer.prepare(states - 3))
    again = scorer(query, scorer.prepare(states))
    unchanged(title, scorer, before, B)
    what = "the same query and states have another score the second time"
    fix = "keep nothing of a batch, and draw nothing in eval()"
    need(near(again, first, single(subject)), "state kept", title, what, fix)
    held = left_behind(MANY)
    scorer(query_of(subject, MANY, Q), scorer.prepare(states_of(subject, MANY, S)))
    what = "a tensor of the batch is still there after it, in a global name, a closure or a part of a part"
    need(left_behind(MANY) <= held, "state kept", title, what, fix)
    _trained(subject)


def _trained(subject: Subject) -> None:
    """In training, too, what stays is the same whatever the batch was: a step of a power iteration may."""
    title, after = subject.title, []
    for seed in (1, 2):
        training: Any = subject.again(*subject.sizes).train()
        before = attributes(training)
        fix = "let the sizes of the batch and of the source be any"
        with failing("state kept", title, "a batch in training", fix), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            training(query_of(subject, seed=seed), training.prepare(states_of(subject, seed=seed + 1)))
        unchanged(title, training, before, B, training=True)
        after.append({name: tensor.clone() for name, tensor in training.state_dict().items()})
    for name, tensor in after[0].items():
        fix = "keep nothing of a batch: the sentences beside one must not matter"
        what = "changes in training with the batch"
        need(torch.equal(tensor, after[1][name]), "state kept", f"{title}.{name}", what, fix)
