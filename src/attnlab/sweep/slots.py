"""Which cells fit side by side: devices, shares of a device, CPU slots, and the threads of each."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import UserError


@dataclass(frozen=True)
class Need:
    """What a cell runs on."""

    ranks: int = 1  # processes
    devices: int = 1  # 0: a cell for the CPU; negative: all there are
    name: str = "a cell"


@dataclass(frozen=True)
class Share:
    """What a cell was given, until it is given back."""

    devices: tuple[str, ...]
    variables: Mapping[str, str]


def devices() -> list[str]:
    """The CUDA devices that may be used, by CUDA_VISIBLE_DEVICES or else by the system's device files."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return [str(n) for n in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]
    found = []
    for device in visible.split(","):
        if not device.strip() or device.strip() == "-1":  # as CUDA reads it: what follows does not count
            break
        found.append(device.strip())
    return found


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Slots:
    """A machine's room for cells.

    With devices, each takes `per_device` cells at a time and a cell takes as many devices as it has ranks on
    one; a cell sees only its own. Without devices, or for cells on the CPU, there are `slots` places. `slots`
    also bounds the number of cells on devices; null is what the devices hold, 1 without.

    Args:
        slots: cells at a time, None for what there is room for.
        per_device: cells at a time on one device.
        threads: CPU threads of a cell, its ranks together; None for an equal share of the cores.
        available: the devices, by default those that are visible.

    Raises:
        UserError: a number below 1, or something else.
    """

    def __init__(
        self,
        slots: int | None = None,
        per_device: int = 1,
        threads: int | None = None,
        available: Sequence[str] | None = None,
    ) -> None:
        for name, value in (("slots", slots), ("per_device", per_device), ("threads", threads)):
            if value is None and name != "per_device":
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                raise UserError(f"hydra.launcher.{name}={value} must be a whole number")
            if value < 1:
                raise UserError(f"hydra.launcher.{name}={value} must be at least 1")
        self.available = list(devices() if available is None else available)
        self.per_device, self.threads, self._limit = per_device, threads, slots
        self._load = dict.fromkeys(self.available, 0)
        self._shares: list[Share] = []
        self.count = min(slots or 10**9, len(self.available) * per_device) if self.available else slots or 1
        """Cells of one rank that run side by side."""

    def check(self, need: Need) -> None:
        """Refuse what can never be given.

        Raises:
            UserError: more devices than there are.
        """
        if self.available and need.devices > len(self.available):
            raise UserError(
                f"trainer.devices={need.devices}, but {len(self.available)} devices are visible: lower it,"
                f" or set trainer.accelerator=cpu for processes without a device [{need.name}]"
            )

    def take(self, need: Need) -> Share | None:
        """Room for one cell, None where it has to wait."""
        on_devices = bool(self.available) and need.devices != 0
        beside = [share for share in self._shares if bool(share.devices) == on_devices]
        if (self._limit is not None and len(self._shares) >= self._limit) or (
            not on_devices and len(beside) >= (self._limit or 1)
        ):
            return None
        chosen: list[str] = []
        if on_devices:
            wanted = len(self.available) if need.devices < 0 else need.devices
            open_ones = [device for device in self.available if self._load[device] < self.per_device]
            if len(open_ones) < wanted:
                return None
            chosen = sorted(open_ones, key=lambda device: self._load[device])[:wanted]
            chosen.sort(key=self.available.index)
        share = Share(tuple(chosen), self._variables(need, chosen))
        for device in chosen:
            self._load[device] += 1
        self._shares.append(share)
        return share

    def give(self, share: Share) -> None:
        """Take back what a cell had."""
        self._shares = [other for other in self._shares if other is not share]
        for device in share.devices:
            self._load[device] -= 1

    def _variables(self, need: Need, chosen: Sequence[str]) -> dict[str, str]:
        ranks = max(need.ranks, len(chosen), 1)
        if self.threads is not None:
            threads = self.threads // ranks
        elif chosen:  # a rank is a place on a device, and these share the cores
            threads = cores() // self.count
        else:
            threads = cores() // (self._limit or 1) // ranks
        count = str(max(1, threads))
        variables = {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count, "PYTHONUNBUFFERED": "1"}
        if chosen:
            variables["CUDA_VISIBLE_DEVICES"] = ",".join(chosen)
        return variables
