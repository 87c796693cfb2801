"""What a scorer owes to where it runs: half precision, another device, and its cost at every step."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from attnlab.contract.broken import Broken, Subject, failing, need
from attnlab.contract.scorer import ALIKE, query_of, states_of

FEW = 16  # keys


def precision(subject: Subject) -> None:
    """Half precision and autocast, which training on a GPU uses."""
    states, query = states_of(subject), query_of(subject)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        scorer: Any = subject.again(*subject.sizes).to(dtype).eval()
        where, word = subject.title, str(dtype).removeprefix("torch.")
        with failing("half precision", where, word, ALIKE):
            scores = scorer(query.to(dtype), scorer.prepare(states.to(dtype)))
            scores.float().sum().backward() if scores.requires_grad else None
        most = f"keep all values below its largest, {torch.finfo(dtype).max:.5g}, or compute in float32"
        need(torch.isfinite(scores).all(), "half precision", where, f"is not finite in {word}", most)
        with torch.no_grad():
            exact = scorer.double()(query.to(dtype).double(), scorer.prepare(states.to(dtype).double()))
            gap, bound = float((scores.double() - exact).abs().max()), 0.05 * (1 + float(exact.abs().max()))
        near = "compute what is small or large in float32"
        need(gap <= bound, "half precision", where, f"{word} is {gap:.2g} away from float64", near)
    scorer = subject.again(*subject.sizes).float().eval()
    fix = "let operands of one product have one dtype, as nn.Linear and @ do"
    with failing("half precision", subject.title, "bf16-mixed", fix), torch.autocast("cpu", torch.bfloat16):
        scorer(query.bfloat16(), scorer.prepare(states.float()))
        scorer(query.float(), scorer.prepare(states.bfloat16()))


def devices(subject: Subject) -> None:
    """No tensor is made on the CPU whatever the states' device; seen on torch's device without values."""
    scorer: Any = subject.again(*subject.sizes).to("meta")
    with elsewhere(subject.title, "states"):
        scorer(query_of(subject).to("meta"), scorer.prepare(states_of(subject).to("meta")))


@contextmanager
def elsewhere(where: str, like: str) -> Iterator[None]:
    """An error of mixed devices is a fault; what reads values has none to read there, which is none."""
    try:
        yield
    except Exception as error:
        if "meta" in str(error) and ("expected device" in str(error) or "same device" in str(error)):
            what = f"makes a tensor on the CPU, whatever the device of the {like}"
            raise Broken("device", where, what, f"give device={like}.device") from error


def cost(subject: Subject) -> None:
    """`forward` repeats no matrix product that `prepare` could have done once."""
    scorer, title = subject.module, subject.title
    keys = scorer.prepare(states_of(subject, 1, FEW)).detach()
    flops = []
    for queries in (1, 2):
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            scorer(query_of(subject, 1, queries), keys)
        flops.append(counter.get_total_flops())
    fixed = 2 * flops[0] - flops[1]
    what = f"{fixed} operations of a step on {FEW} keys do not depend on the query"
    fix = "do once a batch, in prepare, what the source alone decides"
    need(fixed < FEW, "work at every step", f"{title}.forward", what, fix)
