"""Every fast path on the device against a slow one: loops over single numbers, float64, the plain formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from attnlab.attention.funnel import funnel
from attnlab.model import Seq2Seq
from attnlab.search import Search
from gpu import forms
from gpu.comparing import apart, told
from gpu.oracles import SCORERS, WINDOWS, models, oracles
from gpu.parts import Parts, Rows

PAIRS = ([4, 1], [3, 2])
"""Lengths of the sentences that the oracles read."""


# --- scorers, windows, orders ------------------------------------------------------------------------------


def cells(small: bool) -> list[tuple[str, str | None, str | None]]:
    """Order, scorer and window of every cell, or of a few."""
    scorers, windows = (["additive"], ["global", "local_p"]) if small else (list(SCORERS), list(WINDOWS))
    orders = ["post_combine_feeding", "post_combine"] if small else models.ATTENTIVE
    made: list[tuple[str, str | None, str | None]] = [
        (order, scorer, window) for order in orders for scorer in scorers for window in windows
    ]
    return [*made, ("fixed_vector", None, None)]


def against_loops(parts: Parts, rows: Rows) -> None:
    """Readouts, weights and gradients of every cell against loops over single numbers on the host."""
    source, lengths, target, _ = models.pairs(*PAIRS)
    worst: dict[str, float] = {}
    for order, scorer, window in cells(parts.tiny):
        given = {} if scorer is None else {"scorer": scorer, "window": window}
        model = models.spread(models.build(order=order, **given))
        parameters = list(model.parameters())
        expected = _slowly(model, order, scorer, window, source, lengths, target)
        slopes = torch.autograd.grad(_pull(expected), parameters, allow_unused=True)
        device = parts.device
        model = model.to(device)
        decoded = model(source.to(device), lengths, target.to(device))
        weights = decoded.attended.dense(source.shape[1])
        found = [
            part[row, :t]
            for row, t in enumerate(PAIRS[1])
            for part in (decoded.readouts, weights[..., : PAIRS[0][row]])
        ]
        gradients = torch.autograd.grad(_pull(found), list(model.parameters()), allow_unused=True)
        for what, difference in (("values", apart(found, expected)), ("gradients", apart(gradients, slopes))):
            key = f"{order}: {what} of all scorers and windows against loops"
            worst[key] = max(worst.get(key, 0.0), difference)
            if difference > 1e-9:
                told(rows, f"{order}, {scorer}, {window}: {what}", difference, 1e-9)
    for key, difference in worst.items():
        told(rows, key, difference, 1e-9)


def _slowly(
    model: Seq2Seq,
    order: str,
    scorer: str | None,
    window: str | None,
    source: Tensor,
    lengths: Tensor,
    target: Tensor,
) -> list[Tensor]:
    found = []
    for row, steps in enumerate(PAIRS[1]):
        embedded = model.source_embedding(source[row, : lengths[row]])
        states, finals = oracles.encode(model.encoder, "lstm", embedded)
        inputs = torch.cat((torch.tensor([model.start]), target[row, : steps - 1]))
        do = oracles.Steps(model, "lstm", scorer, window)
        found += oracles.ORDERS[order](do, oracles.combine, model.target_embedding(inputs), states, finals)
    return found


def _pull(found: Sequence[Tensor]) -> Tensor:
    """A sum in which every value has a factor of its own."""
    total = found[0].sum() * 0
    for part in found:
        factors = torch.linspace(-1, 1, max(1, part.numel()), dtype=part.dtype, device=part.device)
        total = total + (part.flatten() * factors[: part.numel()]).sum()
    return total


# --- the additive score, windows over long sources ---------------------------------------------------------


def plain(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """v' tanh(q + k), all [B, T, S, U] at once."""
    return torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3)) @ v


def additive_score(parts: Parts, rows: Rows) -> None:
    """`funnel` against the plain formula, and what both need beside their inputs."""
    device, units = parts.device, 16 if parts.tiny else 512
    length = 6 if parts.tiny else 60
    for kind, bound in ((torch.float64, 1e-10), (torch.float32, 2e-4)):
        made = torch.Generator().manual_seed(0)
        exact = [
            torch.randn(shape, generator=made, dtype=torch.float64)
            for shape in ((4, length, units), (4, length, units), (units,))
        ]
        wide = [x.to(device).requires_grad_() for x in exact]
        inputs = [x.to(device, kind).requires_grad_() for x in exact]
        expected, found = plain(*wide), funnel(*inputs)
        seen = torch.randn(expected.shape, generator=made, dtype=torch.float64).to(device)
        slopes = torch.autograd.grad(expected, wide, seen)
        gradients = torch.autograd.grad(found, inputs, seen.to(kind))
        told(rows, f"additive score, {kind}", apart([found], [expected]), bound)
        told(rows, f"additive score, gradients, {kind}", apart(gradients, slopes), bound)
    if device.type != "cuda":
        return
    for form in (plain, funnel):
        inputs = [
            torch.randn(shape, device=device, requires_grad=True)
            for shape in ((8, 400, 512), (8, 400, 512), (512,))
        ]
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        form(*inputs).sum().backward()
        used = (torch.cuda.max_memory_allocated(device) - before) / 2**20
        rows.append({"check": f"MiB of {form.__name__}, B = 8, S = T = 400, U = 512", "difference": used})


def long_windows(parts: Parts, rows: Rows) -> None:
    """Local windows against global scores of which all outside the window are masked."""
    batch, length, steps = (2, 40, 3) if parts.tiny else (8, 300, 20)
    for scorer in ("additive", "general"):
        for window in ("local_m", "local_p"):
            made = torch.Generator().manual_seed(0)
            model = models.spread(models.build(order="post_combine", scorer=scorer, window=window))
            attention = model.decoder.attention.to(parts.device)
            shapes = ((batch, steps, models.SIZE), (batch, length, models.SIZE))
            query, states = (
                torch.randn(s, generator=made, dtype=torch.float64).to(parts.device).requires_grad_()
                for s in shapes
            )
            lengths = torch.randint(1, length, (batch,), generator=made).to(parts.device)
            at = torch.arange(1, steps + 1, device=parts.device) * (length // steps)
            found = attention(query, attention.prepare(states, lengths), at)
            where = attention.window.positions(query, lengths, at)
            places = torch.arange(1, length + 1, device=parts.device)
            first = where.places[..., :1]
            inside = (places >= first) & (places < first + where.places.shape[-1])
            inside = inside & (places <= lengths[:, None, None])
            scores = attention.scorer(query, attention.scorer.prepare(states))
            weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), -1)
            if hasattr(attention.window, "gaussian"):
                sigma = attention.window.half_width / 2
                distance = places - where.centre.unsqueeze(-1)
                weights = weights * torch.exp(-(distance**2) / (2 * sigma**2))
            leaves = [query, states, *attention.parameters()]
            mine = torch.autograd.grad(_pull([found.context, found.dense(length)]), leaves, allow_unused=True)
            theirs = torch.autograd.grad(_pull([weights @ states, weights]), leaves, allow_unused=True)
            name = f"{scorer} in {window} over {length} positions"
            told(rows, name, apart([found.context, found.dense(length)], [weights @ states, weights]), 1e-9)
            told(rows, f"{name}, gradients", apart(mine, theirs), 1e-9)


# --- search ------------------------------------------------------------------------------------------------


def searches(parts: Parts, rows: Rows) -> None:
    """Greedy search against a loop over one sentence, and a beam against the same search on the host."""
    source, lengths, *_ = models.pairs([5, 2, 4, 1, 0, 3], [1] * 6)
    orders = ["post_combine_feeding"] if parts.tiny else models.ATTENTIVE
    for order in orders:
        for window in ("global", "local_p"):
            model = models.spread(models.build(order=order, window=window), 1.5).eval()
            host = [
                Search(beam_size=beam, max_length=12)(model, source, lengths, end=models.END)
                for beam in (1, 5)
            ]
            model.to(parts.device)
            there = source.to(parts.device)
            for beam, theirs in zip((1, 5), host, strict=True):
                mine = Search(beam_size=beam, max_length=12)(model, there, lengths, end=models.END)
                same = sum(a[0].tokens != b[0].tokens for a, b in zip(mine, theirs, strict=True))
                told(rows, f"{order}, {window}, beam {beam}: sentences unlike the host's", same, 0)
                scores = [torch.tensor([h[0].log_prob for h in found]) for found in (mine, theirs)]
                told(
                    rows,
                    f"{order}, {window}, beam {beam}: log-probability",
                    apart(*([s] for s in scores)),
                    1e-5,
                )
                if beam == 1:
                    wrong = sum(
                        found[0].tokens != _greedy(model, row, 12, parts.device)
                        for found, row in zip(
                            mine, [s[:n] for s, n in zip(source, lengths, strict=True)], strict=True
                        )
                    )
                    told(rows, f"{order}, {window}: sentences unlike a loop's", wrong, 0)


@torch.no_grad()
def _greedy(model: Seq2Seq, sentence: Tensor, limit: int, device: torch.device) -> list[int]:
    if not len(sentence):
        return []
    limit = min(limit, Search().limit(len(sentence)))
    memory, state = model.encode(sentence[None].to(device), torch.tensor([len(sentence)]))
    token, found = model.start, []
    for _ in range(limit):
        readout, _, state = model.step(torch.tensor([[token]], device=device), state, memory)
        scores = model.logits(readout).flatten()
        scores[[model.pad, model.start]] = -torch.inf
        token = int(scores.argmax())
        if token == models.END:
            break
        found.append(token)
    return found


CHECKS: list[tuple[str, float, Callable[[Parts, Rows], None]]] = [
    ("scorers, windows and orders against loops", 60, against_loops),
    ("additive score", 10, additive_score),
    ("windows over long sources", 10, long_windows),
    ("search", 25, searches),
    ("precisions", 10, forms.precisions),
    ("waits for the device", 15, forms.waits),
    ("dropout in captured loops", 15, forms.dropout_in_graphs),
]
