"""What was found, as JSON and as a note in Markdown."""

from __future__ import annotations

import json
import platform
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import torch

from gpu.oracles import CHECKOUT
from gpu.parts import Part, Parts

PUBLISHED = """Beside them, from the README of NVIDIA's GNMT v2 for PyTorch (4 layers of 1024 units, additive
attention, one A100): training 83,000 tokens a second in TF32 and 141,000 in mixed precision, source and
target together, batch 128; search 47,000 output tokens a second, beam 5, batch 512. Its text is WMT's, its
encoder reads both ways in the first layer alone, and its layers have residual connections; here ids are drawn
at random with lengths like WMT's, all layers read both ways, and hypotheses are held to one length."""


def facts(parts: Parts) -> dict[str, Any]:
    """The machine and the versions."""
    device = parts.device
    gpu = None
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        gpu = {
            "name": properties.name,
            "memory_GiB": properties.total_memory / 2**30,
            "capability": f"{properties.major}.{properties.minor}",
        }
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "date": str(date.today()),
        "device": str(device),
        "gpu": gpu,
        "host": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "python": platform.python_version(),
        "commit": commit or None,
    }


def record(parts: Parts) -> dict[str, Any]:
    """All that was found."""
    return {
        **facts(parts),
        "minutes": parts.minutes,
        "tiny": parts.tiny,
        "parts": [vars(part) for part in parts.done],
    }


def write(parts: Parts, json_path: Path | None, note_path: Path | None) -> None:
    """Writes both, whatever has been found so far."""
    if json_path is not None:
        json_path.write_text(json.dumps(record(parts), indent=1, default=str) + "\n", encoding="utf-8")
    if note_path is not None:
        note_path.write_text(note(parts), encoding="utf-8")


def note(parts: Parts) -> str:
    """The note."""
    known = facts(parts)
    where = known["gpu"]["name"] if known["gpu"] else f"{known['device']} ({known['host']})"
    lines = ["# On a GPU", "", f"`python benchmarks/gpu.py` on {where}.", ""]
    lines += ["| part | | seconds | |", "|---|---|---:|---|"]
    lines += [f"| {p.name} | {p.status} | {p.seconds:.1f} | {_cell(p.told)} |" for p in parts.done]
    for part in parts.done:
        if part.rows:
            lines += ["", f"## {part.name[0].upper()}{part.name[1:]}", "", *table(part)]
            if part.name in ("training at 4 x 1024", "search at 4 x 1024"):
                lines += ["", PUBLISHED]
    versions = ", ".join(f"{name} {known[name]}" for name in ("torch", "cuda", "cudnn", "python", "commit"))
    small = " Tiny sizes: these are no measurements." if parts.tiny else ""
    return "\n".join([*lines, "", f"{known['date']}; {versions}.{small}", ""])


def table(part: Part) -> list[str]:
    """The rows of a part."""
    names = list(dict.fromkeys(name for row in part.rows for name in row))
    numeric = {n for n in names if any(isinstance(row.get(n), int | float) for row in part.rows)}
    lines = [
        "| " + " | ".join(names) + " |",
        "|" + "".join("---:|" if n in numeric else "---|" for n in names),
    ]
    return lines + ["| " + " | ".join(_cell(row.get(name, "")) for name in names) + " |" for row in part.rows]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        if value and abs(value) < 0.01:
            return f"{value:.1e}"
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
    return str(value).replace("|", "/").replace("\n", " ")
