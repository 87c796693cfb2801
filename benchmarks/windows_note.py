"""The tables, the crossover lengths and the figure of `windows.py`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

BEAM = 5
MEASURES = {
    "forward": "training, forward alone: ms a step",
    "train": "training, forward and backward: ms a step",
    "memory": "training: MiB a step kept until the backward pass",
    "search": f"search, beam of {BEAM}: ms a step",
    "allocated": f"search, beam of {BEAM}: MiB a step allocated",
}


def crossover(one: dict[int, float], other: dict[int, float]) -> str:
    """The length from which `one` costs less than `other`, on straight lines between what was measured."""
    lengths = sorted(one)
    if all(one[s] < other[s] for s in lengths):
        return f"below {lengths[0]}"
    if one[lengths[-1]] >= other[lengths[-1]]:
        return f"above {lengths[-1]:,}"
    a, b = [(a, b) for a, b in pairwise(lengths) if one[a] >= other[a] and one[b] < other[b]][-1]
    before, after = one[a] - other[a], other[b] - one[b]
    return f"{a + (b - a) * before / (before + after):,.0f}"


def tables(found: dict[str, float], lengths: list[int], cells: list[str]) -> list[str]:
    """A table a measure, and the crossover lengths."""
    lines: list[str] = []

    def row(cell: str, kind: str) -> dict[int, float]:
        return {length: found[f"{cell} {kind} {length}"] for length in lengths}

    for kind, told in MEASURES.items():
        head = f"| S | {' | '.join(f'{length:,}' for length in lengths)} | from S = 50 to {lengths[-1]:,} |"
        lines += [f"## {told[0].upper()}{told[1:]}", "", head, "|---" + "|---:" * (len(lengths) + 1) + "|"]
        for cell in cells:
            values = row(cell, kind)
            numbers = " | ".join(f"{value:.2f}" for value in values.values())
            lines.append(f"| `{cell}` | {numbers} | x {values[lengths[-1]] / values[50]:.2f} |")
        lines.append("")
    lines += ["## From which length a window costs less than global attention", ""]
    lines += [f"| | {' | '.join(MEASURES)} |", "|---" + "|---:" * len(MEASURES) + "|"]
    for cell in cells:
        wide = cell.rsplit("/", 1)[0] + "/global"
        if cell != wide and wide in cells:
            at = " | ".join(crossover(row(cell, kind), row(wide, kind)) for kind in MEASURES)
            lines.append(f"| `{cell}` | {at} |")
    return lines


def draw(found: dict[str, float], lengths: list[int], cells: list[str], path: Path) -> None:
    """The measures by length, a panel for each and each scorer."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "windows"
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    scorers = list(dict.fromkeys(cell.split("/")[1] for cell in cells))
    rows, columns = len(MEASURES), len(scorers)
    figure, axes = plt.subplots(
        rows, columns, figsize=(8.5, 3 * rows), sharex=True, sharey="row", squeeze=False
    )
    marks = {"global": ("black", "s"), "local_m": ("0.55", "^"), "local_p": ("#0072b2", "o")}
    dashes = {"post_combine": "-", "input_feeding": "--", "post_combine_feeding": ":"}
    for panels, (kind, told) in zip(axes, MEASURES.items(), strict=True):
        for panel, scorer in zip(panels, scorers, strict=True):
            for cell in cells:
                order, of, window = cell.split("/")
                if of == scorer:
                    colour, mark = marks[window]
                    values = [found[f"{cell} {kind} {length}"] for length in lengths]
                    line = panel.plot(
                        lengths, values, dashes[order], marker=mark, color=colour, markersize=4
                    )[0]
                    line.set_markerfacecolor(colour if order == "post_combine" else "white")
                    line.set_label(f"{window}, {order}")
            panel.set(xscale="log", yscale="log", title=f"{scorer}: {told.split(':')[0]}")
            panel.title.set_fontsize(9)
            panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            panel.yaxis.set_minor_formatter(NullFormatter())
            panel.grid(color="0.9", which="major")
        panels[0].set_ylabel(told.split(":")[1].strip())
    for panel in axes[-1]:
        panel.set(xlabel="source length S", xticks=lengths[::3], xticklabels=[f"{s:,}" for s in lengths[::3]])
        panel.minorticks_off()
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=3, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


NOTE = """# What a decoder step costs by the length of the source

B = {batch}, U = H = K = {size}, D = {half}, float32, {threads} threads. The cost of a batch of {many} target
steps less that of one of {few}, over the difference: what happens once a batch (preparing the keys, the
gradient of all source states) drops out ({long_many} steps, for local windows and times from S = {long} on).
`post_combine` asks with all states at once, `input_feeding` step
after step. A step is the whole decoder's: recurrence, attention, readout; in search also the choice of
hypotheses and the weights of those returned, over all S positions, which is what is left of S in a window's
memory there. Allocated is what operations give anew, whether or not it lives on.

![cost of a step by source length]({figure})

{tables}

{day}; commit {commit}; {machine}; {versions}; `{command}`.
"""
