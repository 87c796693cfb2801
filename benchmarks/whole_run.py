"""Where one whole run spends its time, from the command to the end of its process.

    python benchmarks/whole_run.py [--note benchmarks/whole_run.md] [OVERRIDES ...]

Runs `attnlab train OVERRIDES` in a folder that is thrown away, with a clock at the borders of its stages
(stages.py); time belongs to the innermost open stage, so that the stages add up to the wall time. The cache
is empty too, unless `--cache` names one. Linux only.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from machine import command, commit, description, versions

HERE = Path(__file__).resolve().parent
INSIDE = f"""import importlib.util
spec = importlib.util.spec_from_file_location("attnlab_stages", {str(HERE / "stages.py")!r})
stages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stages)
stages.install()
"""
GROUPS = (
    "start",
    "data",
    "build",
    "training",
    "checkpoints",
    "validation",
    "test",
    "record",
    "rest of the run",
)


def run(overrides: list[str], cache: Path | None, keep: Path | None) -> dict[str, Any]:
    """One run; gives what the clock told, its wall time, peak memory and record."""
    with TemporaryDirectory() as place:
        inside, out = Path(place, "inside"), keep or Path(place, "out")
        inside.mkdir()
        (inside / "sitecustomize.py").write_text(INSIDE, encoding="utf-8")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(inside), os.environ.get("PYTHONPATH")))),
            "ATTNLAB_CACHE": str(cache or Path(place, "cache")),
            "ATTNLAB_PROFILE_FOLDER": str(inside),
        }
        began = time.perf_counter()
        environment["ATTNLAB_PROFILE_BEGAN"] = repr(began)
        command = [sys.executable, "-m", "attnlab.cli", "train", f"out={out}", *overrides]
        process = subprocess.Popen(command, env=environment)
        if process.wait():
            raise SystemExit(process.returncode)
        ended = time.perf_counter()
        told: dict[str, Any] = json.loads((inside / f"{process.pid}.json").read_text(encoding="utf-8"))
        told["wall"] = ended - began
        told["seconds"]["exit"] = ended - told["ended"]
        told["peak"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        (record,) = out.rglob("result.json")
        told["record"] = json.loads(record.read_text(encoding="utf-8"))
    return told


def table(told: dict[str, Any]) -> list[str]:
    """The stages by group, in the order of a run; groups with more than one stage have a sum."""
    seconds, calls, wall = told["seconds"], told["calls"], told["wall"]
    lines = ["| stage | seconds | share | calls | ms a call |", "|---|---:|---:|---:|---:|"]
    rest = sorted({name.partition(":")[0] for name in seconds} - set(GROUPS))
    for group in (*GROUPS, *rest):
        names = [name for name in seconds if name.partition(":")[0] == group]
        if not names:
            continue
        total = sum(seconds[name] for name in names)
        lines.append(f"| **{group}** | **{total:.2f}** | **{total / wall:.1%}** | | |")
        for name in names if len(names) > 1 else []:
            count = calls.get(name)
            each = f"{count:,} | {1000 * seconds[name] / count:,.2f}" if count else " | "
            label = name.partition(": ")[2] or name
            lines.append(f"| {label} | {seconds[name]:.2f} | {seconds[name] / wall:.1%} | {each} |")
    lines.append(f"| **wall time** | **{wall:.2f}** | {sum(seconds.values()) / wall:.1%} told | | |")
    return lines


def facts(told: dict[str, Any]) -> list[str]:
    """What is not a share: the first step, rates, memory, and what evaluation costs."""
    seconds, record, marks = told["seconds"], told["record"], told["marks"]
    splits = record["data"]["splits"]
    sentences = 2 * sum(split["pairs"] for split in splits.values())
    tokens = sum(sum(split["tokens"].values()) for split in splits.values())
    steps = told["calls"]["training: forward"]

    def of(group: str) -> float:
        return sum(value for name, value in seconds.items() if name.partition(":")[0] == group)

    lines = [
        f"First training step: begins {marks['first step begins']:.2f} s after the command, "
        f"done {marks['first step is done']:.2f} s after it."
    ]
    if spent := seconds.get("data: encode"):
        lines.append(
            f"Encoding: {sentences / spent:,.0f} sentences and {tokens / spent:,.0f} tokens a second "
            f"({sentences:,} sentences of both sides)."
        )
    speed = record["train"]["tokens_per_s"]
    lines += [
        f"Training: {steps:,} steps, {speed:,.0f} target tokens a second without padding; a step "
        f"{1000 * of('training') / steps:.0f} ms, of it "
        f"{1000 * seconds['training: wait for the loader'] / steps:.2f} for the loader, "
        f"{1000 * seconds['training: logging'] / steps:.2f} for logging, "
        f"{1000 * seconds.get('training: callbacks', 0.0) / steps:.2f} for callbacks and "
        f"{1000 * seconds['training: loop'] / steps:.2f} for the loop itself.",
        f"Evaluation: {(of('validation') + of('test')) / told['wall']:.1%} of the wall time "
        f"(validation {of('validation'):.1f} s, test {of('test'):.1f} s).",
        f"Peak resident memory: {told['peak']:,.0f} MiB; by the end of "
        + ", ".join(f"{group} {kib / 1024:,.0f}" for group, kib in told["memory"].items())
        + ".",
    ]
    return lines


def main() -> None:
    """Runs, prints, and writes the note."""
    parser = argparse.ArgumentParser(description="Where one whole run spends its time.")
    parser.add_argument("--note", type=Path, help="write the table there, in Markdown")
    parser.add_argument("--cache", type=Path, help="the cache of an earlier run: what a second run costs")
    parser.add_argument("--keep", type=Path, help="keep the run in this folder")
    parser.add_argument("overrides", nargs="*", help="as for `attnlab train`")
    options = parser.parse_args()
    told = run(options.overrides, options.cache, options.keep)
    lines = [*table(told), "", *(f"- {line}" for line in facts(told))]
    print("\n".join(lines))
    if options.note:
        trained = " ".join(["attnlab", "train", *options.overrides])
        facts_of_machine = f"{description()}; {versions()}; commit {commit()}"
        note = f"""# One whole run

`{trained}`, {"with a cache that is filled" if options.cache else "with an empty cache"}; time belongs to the
innermost open stage.

{chr(10).join(lines)}

{date.today()}; {facts_of_machine}; `{command("whole_run.py")}`.
"""
        options.note.write_text(note, encoding="utf-8")


if __name__ == "__main__":
    main()
