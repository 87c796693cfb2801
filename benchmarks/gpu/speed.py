"""Tokens a second in training and in search."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from attnlab import compiling
from attnlab.data.batches import Batch
from attnlab.errors import UserError
from attnlab.model import Seq2Seq
from attnlab.search import Search
from attnlab.training import clip, summed_loss
from gpu.parts import Parts, Rows, Skipped
from gpu.sizes import END, Size

# A precision: of float32 products, and the type of autocast.
PRECISIONS: dict[str, tuple[str, torch.dtype | None]] = {
    "fp32": ("highest", None),
    "tf32": ("high", None),
    "bf16": ("high", torch.bfloat16),
}


def autocast(device: torch.device, kind: torch.dtype | None) -> AbstractContextManager[Any]:
    """Autocast to `kind`, or nothing."""
    return nullcontext() if kind is None else torch.autocast(device.type, dtype=kind)


def able(parts: Parts, form: str) -> None:
    """Raises Skipped where a form cannot run here, or would take minutes in the smallest sizes."""
    if parts.tiny and compiling.form(form).compiled:
        raise Skipped("the smallest sizes are not compiled")
    try:
        compiling.check(form, parts.device)
    except UserError as error:
        raise Skipped(str(error)) from error


class Trainer:
    """Updates as `attnlab train` makes them, without Lightning's loop around them."""

    def __init__(self, model: Seq2Seq, device: torch.device, kind: torch.dtype | None) -> None:
        self.model, self.device, self.kind = model, device, kind
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)

    def update(self, batch: Batch) -> torch.Tensor:
        """One update; its summed loss stays on the device."""
        batch = batch.to(self.device)
        with autocast(self.device, self.kind):
            loss = summed_loss(self.model, batch)
        self.optimizer.zero_grad()
        (loss / batch.target_lengths.sum()).backward()
        clip(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.detach()


def trained(parts: Parts, size: Size, scorer: str, order: str, precision: str, form: str) -> dict[str, Any]:
    """Tokens a second of one cell, padding not counted.

    Raises:
        Skipped: the form cannot run here.
    """
    device = parts.device
    able(parts, form)
    products, kind = PRECISIONS[precision]
    compiling.precision(products)
    model = size.model(scorer, order, device)
    compiling.apply(model.decoder, form)
    trainer, text = Trainer(model, device, kind), size.text(device.type == "cuda")
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    began = time.perf_counter()
    for _ in range(1 if parts.tiny else 3):  # a size is captured when it comes the second time
        for batch in text:
            loss = trainer.update(batch)
    parts.settle()
    warmed, seconds, target, source, updates = time.perf_counter() - began, 0.0, 0, 0, 0
    began = time.perf_counter()
    while seconds < (0.01 if parts.tiny else 3.0):
        for batch in text:
            loss = trainer.update(batch)
            target, source = (
                target + int(batch.target_lengths.sum()),
                source + int(batch.source_lengths.sum()),
            )
            updates += 1
        parts.settle()
        seconds = time.perf_counter() - began
    if not torch.isfinite(loss):
        raise ArithmeticError(f"the loss is {float(loss)} after {updates} updates")
    memory = torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else 0.0
    return {
        "size": size.name,
        "scorer": scorer,
        "order": order,
        "precision": precision,
        "form": form,
        "target tokens/s": target / seconds,
        "source and target tokens/s": (source + target) / seconds,
        "updates/s": updates / seconds,
        "GiB": memory,
        "warm-up s": warmed,
    }


def searched(parts: Parts, size: Size, scorer: str, order: str, precision: str, beam: int) -> dict[str, Any]:
    """Output tokens a second, all sentences of one length that the search is held to."""
    device = parts.device
    products, kind = PRECISIONS[precision]
    compiling.precision(products)
    model = size.model(scorer, order, device).eval()
    length = size.search_length
    search = Search(
        beam_size=beam,
        min_length=length - 1,
        max_length=length,
        max_length_factor=0,
        max_length_offset=length,
    )
    source = torch.randint(4, size.source_words, (size.search_batch, length), device=device)
    lengths = torch.full((size.search_batch,), length)

    def once() -> int:
        with autocast(device, kind):
            found = search(model, source, lengths, end=END)
        return sum(len(best[0].tokens) + best[0].finished for best in found)

    once()
    parts.settle()
    tokens, seconds, began = 0, 0.0, time.perf_counter()
    while seconds < (0.01 if parts.tiny else 2.0):
        tokens += once()
        seconds = time.perf_counter() - began
    return {
        "size": size.name,
        "scorer": scorer,
        "order": order,
        "precision": precision,
        "beam": beam,
        "batch": size.search_batch,
        "output tokens/s": tokens / seconds,
    }


def each(rows: Rows, work: Callable[[], dict[str, Any]], parts: Parts, seconds: float, **what: Any) -> None:
    """One row of a table; a fault of one stops no other."""
    name = ", ".join(str(value) for value in what.values())
    if parts.left() < (0 if parts.tiny else seconds):
        rows.append({**what, "skipped": "no time left"})
        print(f"   {name}: skipped, no time left", flush=True)
        return
    parts.release()
    try:
        rows.append(work())
        print(
            f"   {name}: " + ", ".join(f"{k} {v:,.0f}" for k, v in rows[-1].items() if "/s" in k), flush=True
        )
    except Skipped as reason:
        rows.append({**what, "skipped": str(reason)})
    except TimeoutError:
        raise
    except Exception as error:
        rows.append(
            {**what, "fault": f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        )
