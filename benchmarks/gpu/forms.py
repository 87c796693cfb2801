"""The forms of the loop, the precisions, and what waits for the device."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from attnlab import compiling
from attnlab.captured import Captured
from attnlab.model import Seq2Seq
from attnlab.search import Search, forced
from attnlab.training import summed_loss
from gpu.comparing import apart, told
from gpu.oracles import WINDOWS, models
from gpu.parts import Parts, Rows, Skipped
from gpu.sizes import GNMT, REF, tiny
from gpu.speed import PRECISIONS, Trainer, able, autocast


def forms(parts: Parts, rows: Rows, form: str) -> None:
    """The loop captured or compiled against the loop as it stands: values, gradients."""
    device = parts.device
    able(parts, form)
    for order, window in (("post_combine_feeding", "global"), ("input_feeding", "local_p")):
        # A compiler adds in another order.
        for kind, bound in ((None, 1e-5 if form == "cuda_graph" else 1e-4), (torch.bfloat16, 3e-2)):
            parts.release()
            size = tiny(REF) if parts.tiny else REF
            model = size.model("additive", order, device, dropout=0.0)  # cuDNN wants training for gradients
            if window != "global":
                model.decoder.attention.window = WINDOWS[window][0](size.hidden).to(device)
            text = [batch.to(device) for batch in size.text(False)[:4]]
            expected = [_outcome(model, batch, kind) for batch in text]
            loop = compiling.apply(model.decoder, form)
            worst = 0.0
            for _ in range(3):
                for batch, outcome in zip(text, expected, strict=True):
                    worst = max(worst, apart(_outcome(model, batch, kind), outcome))
            told(rows, f"{form}: {order}, {window}, {kind or 'float32'}", worst, bound)
            if isinstance(loop, Captured):
                told(rows, f"{form}: {order}, {window}, sizes not captured", float(not loop.graphs), 0)


def _outcome(model: Seq2Seq, batch: Any, kind: torch.dtype | None) -> list[Tensor | None]:
    with autocast(batch.source.device, kind):
        decoded = model(batch.source, batch.source_lengths, batch.target)
    loss = decoded.readouts.float().square().mean() + decoded.attended.weights.square().mean()
    slopes = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    scaled = [None if s is None else s / s.abs().max().clamp(min=1e-12) for s in slopes]
    return [decoded.readouts.detach(), *scaled]


def dropout_in_graphs(parts: Parts, rows: Rows) -> None:
    """A captured loop drops other values each time, the same after the same seed."""
    if parts.device.type != "cuda":
        raise Skipped("CUDA graphs need a CUDA device")
    size = tiny(GNMT) if parts.tiny else GNMT
    model = size.model("general", "input_feeding", parts.device)
    loop = compiling.apply(model.decoder, "cuda_graph")
    batch = size.text(False)[0].to(parts.device)
    model.dropout.p = model.encoder.rnn.dropout = 0.0  # what is outside the graph
    outside = [model.encode(batch.source, batch.source_lengths)[0].states.detach() for _ in range(2)]
    told(rows, "what is outside the graph draws too", apart(outside[:1], outside[1:]), 0)

    def drawn(seed: int | None) -> Tensor:
        if seed is not None:
            torch.manual_seed(seed)
        decoded = model(batch.source, batch.source_lengths, batch.target)
        decoded.readouts.sum().backward()
        return decoded.readouts.detach().clone()

    drawn(None)
    drawn(None)
    assert loop is not None
    told(rows, "sizes not captured", float(not loop.graphs), 0)
    one, two, again = drawn(5), drawn(None), drawn(5)
    told(rows, "two passes draw the same", float(torch.equal(one, two)), 0)
    told(rows, "one seed, two results", apart([one], [again]), 1e-6)


def precisions(parts: Parts, rows: Rows) -> None:
    """Loss and gradient of one update in each precision against float64 on the same device."""
    size = tiny(REF) if parts.tiny else REF
    bounds = {"fp32": (1e-5, 1e-3), "tf32": (1e-3, 3e-2), "bf16": (1e-2, 1e-1)}
    batch = size.text(False)[0].to(parts.device)
    exact = size.model("additive", "post_combine_feeding", parts.device, 0.0).double()
    loss, slope = _plain_update(exact, batch)
    ours, direction = _update(exact, batch, None)
    told(rows, "fp64: loss, relative", abs(ours / loss - 1), 1e-10)
    told(rows, "fp64: gradients", apart([direction], [slope]), 1e-9)
    for name, (of_loss, of_slope) in bounds.items():
        products, kind = PRECISIONS[name]
        compiling.precision(products)
        model = size.model("additive", "post_combine_feeding", parts.device, 0.0)
        found, direction = _update(model, batch, kind)
        told(rows, f"{name}: loss, relative", abs(found / loss - 1), of_loss)
        cosine = torch.nn.functional.cosine_similarity(direction.double(), slope, dim=0)
        told(rows, f"{name}: 1 - cosine of the gradients", float(1 - cosine), of_slope)
    compiling.precision("highest")
    read = forced(exact, batch.source, batch.source_lengths, batch.target)
    told(rows, "forced decoding: loss, relative", abs(float(-read.log_probs.sum()) / loss - 1), 1e-6)


def _plain_update(model: Seq2Seq, batch: Any) -> tuple[float, Tensor]:
    """The same by torch's own cross-entropy."""
    readouts = model(batch.source, batch.source_lengths, batch.target).readouts
    real = batch.target != model.pad
    logits = model.output(readouts[real])
    loss = torch.nn.functional.cross_entropy(logits, batch.target[real], reduction="sum")
    slopes = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return float(loss.detach()), torch.cat([s.flatten() for s in slopes if s is not None])


def _update(model: Seq2Seq, batch: Any, kind: torch.dtype | None) -> tuple[float, Tensor]:
    with autocast(batch.source.device, kind):
        loss = summed_loss(model, batch)
    slopes = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return float(loss.detach()), torch.cat([s.flatten() for s in slopes if s is not None])


def waits(parts: Parts, rows: Rows) -> None:
    """How often an update waits for the device, and that the loop over steps never does."""
    if parts.device.type != "cuda":
        raise Skipped("only CUDA tells of waits")
    size = tiny(REF) if parts.tiny else REF
    text = size.text(True)
    for order in ("post_combine_feeding", "post_combine"):
        model = size.model("additive", order, parts.device)
        trainer = Trainer(model, parts.device, None)
        trainer.update(text[0])
        parts.settle()
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                trainer.update(text[1])
        finally:
            torch.cuda.set_sync_debug_mode("default")
        places = sorted(
            {f"{w.filename.rpartition('/')[2]}:{w.lineno}" for w in said if "synchron" in str(w.message)}
        )
        count = sum("synchron" in str(w.message) for w in said)
        rows.append(
            {"check": f"{order}: waits in an update, at {', '.join(places) or 'none'}", "difference": count}
        )
        batch = text[0].to(parts.device)
        with torch.no_grad():
            memory, state = model.encode(batch.source, batch.source_lengths)
            embedded = model.target_embedding(batch.target)
        # So that the backward pass ends where the decoder does.
        memory = memory._replace(states=memory.states.requires_grad_(), keys=memory.keys.requires_grad_())
        parts.settle()
        torch.cuda.set_sync_debug_mode("error")
        try:
            readouts, _ = model.decoder(embedded, memory, state)
            readouts.sum().backward()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        told(rows, f"{order}: waits in the decoder, forward and backward", 0, 0)
        rows.append({"check": f"{order}: waits in a step of search", "difference": _searched(model, batch)})


def _searched(model: Seq2Seq, batch: Any, steps: int = 16) -> float:
    """How often a step of a search waits for the device: of twice as many steps, what is more."""

    def counted(length: int) -> int:
        search = Search(5, min_length=length - 1, max_length=length, max_length_offset=length)
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                search(model, batch.source, batch.source_lengths, end=models.END)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        return sum("synchron" in str(w.message) for w in said)

    return (counted(2 * steps) - counted(steps)) / steps
