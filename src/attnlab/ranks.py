"""What one process must know of the others: sums over ranks and lists gathered from them.

Every function is the identity with one process, so no caller asks whether it is distributed.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, distributed


def active() -> bool:
    """Whether a process group of more than one rank is up."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def world() -> int:
    """The number of ranks, 1 without a process group."""
    return distributed.get_world_size() if active() else 1


def rank() -> int:
    """This process's rank, 0 without a process group."""
    return distributed.get_rank() if active() else 0


def total(values: Tensor) -> Tensor:
    """The sum of `values` over the ranks, the same on all of them; a new tensor, without gradient."""
    values = values.detach().clone()
    if active():
        distributed.all_reduce(values)
    return values


def gathered(items: list[Any]) -> list[Any]:
    """The ranks' lists one after the other, the same on all of them."""
    if not active():
        return list(items)
    parts: list[list[Any]] = [[] for _ in range(world())]
    distributed.all_gather_object(parts, items)
    return [item for part in parts for item in part]


def barrier() -> None:
    """Waits for all ranks."""
    if active():
        distributed.barrier()


def exact(device: torch.device) -> torch.dtype:
    """The type sums are kept in: float64 wherever the device has it (Apple's GPUs do not)."""
    return torch.float32 if device.type == "mps" else torch.float64


def collected(items: list[Any]) -> list[Any] | None:
    """The ranks' lists one after the other on rank 0, None on the others."""
    if not active():
        return list(items)
    parts: list[list[Any]] | None = [[] for _ in range(world())] if rank() == 0 else None
    distributed.gather_object(items, parts, dst=0)
    return None if parts is None else [item for part in parts for item in part]
