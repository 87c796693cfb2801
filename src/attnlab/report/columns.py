"""The columns of a comparison, as text, and the lines above and below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from attnlab.metrics.length import label
from attnlab.report.rows import Comparison, Row, Run


class Column(NamedTuple):
    """A title and one cell a row; `numeric` ones stand on the right."""

    title: str
    cells: list[str]
    numeric: bool = True


Pick = Callable[[Run], "float | None"]


def _path(*keys: str, within: str = "test") -> Pick:
    """Looks a number up in a run's scores or record; None as soon as a part is absent or null."""

    def pick(run: Run) -> float | None:
        value: Any = run.test if within == "test" else run.record[within]
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    return pick


# title, name in the CSV, where it is found, how the mean is written
SCORES: list[tuple[str, str, Pick, Callable[[float], str]]] = [
    ("chrF", "chrf", _path("chrf", "score"), "{:.1f}".format),
    ("TER", "ter", _path("ter", "score"), "{:.1f}".format),
    ("perplexity", "perplexity", _path("perplexity"), "{:.3g}".format),
    ("length ratio", "length_ratio", _path("length_ratio"), "{:.3f}".format),
    ("AER predicted", "aer_predicted", _path("alignment", "predicted", "aer"), "{:.3f}".format),
    ("AER input", "aer_input", _path("alignment", "input", "aer"), "{:.3f}".format),
]
CSV_ONLY = frozenset({"aer_input"})  # seldom wanted, and the table is wide
COSTS: list[tuple[str, str, Pick, Callable[[float], str]]] = [
    ("parameters", "parameters", _path("total", within="parameters"), lambda value: short(value)),
    (
        "of them attention",
        "parameters_attention",
        _path("attention", within="parameters"),
        lambda value: short(value),
    ),
    ("tokens/s", "tokens_per_s", _path("tokens_per_s", within="train"), lambda value: short(value)),
    (
        "wall time",
        "wall_s",
        _path("wall_s", within="train"),
        lambda value: str(timedelta(seconds=round(value))),
    ),
]
BLEU = _path("bleu", "score")
_ATTENTION = _path("attention", within="parameters")
_AER = _path("alignment", "predicted", "aer")


def short(value: float) -> str:
    """`842`, `12.3k`, `4.5M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:.0f}"


def columns(comparison: Comparison) -> tuple[list[Column], list[list[Column]]]:
    """The columns that name the cells, and three groups of numbers: scores, BLEU by length, cost.

    A score that no row has is left out.
    """
    rows = comparison.rows
    cell = [Column(axis, [row.cell[axis] or "none" for row in rows], False) for axis in comparison.varying]
    if any(row.settings for row in rows):
        cell.append(Column("other settings", [row.settings for row in rows], False))
    if not cell:
        cell = [Column("cell", [row.cell_id for row in rows], False)]
    scores = [
        Column("seeds", [_seeds(row) for row in rows], False),
        Column("BLEU", [_bleu(row) for row in rows]),
        *_present(rows, SCORES),
    ]
    return cell, [scores, _by_length(comparison), _present(rows, COSTS)]


def heading(comparison: Comparison) -> list[str]:
    """What holds for every row: test set and its origin, languages, size, signature, constant axes, files."""
    run = comparison.rows[0].runs[0]
    about = [comparison.origin] if comparison.origin else []
    about += [f"fingerprint {comparison.content}"] if comparison.content else []
    lines = [f"{comparison.label}: {run.test['n']} sentences" + (f" ({'; '.join(about)})" if about else "")]
    lines.append(f"BLEU {comparison.signature}")
    if comparison.constant and len(comparison.rows) > 1:
        lines.append(
            "all rows: " + ", ".join(f"{axis} {option}" for axis, option in comparison.constant.items())
        )
    if comparison.several:
        table, figure = comparison.file("table"), comparison.file("bleu_by_length")
        lines.append(f"files: {table}.{{csv,md}}, {figure}.{{csv,svg,png}}")
    return lines


def legend(comparison: Comparison) -> list[str]:
    """What the columns and marks of the table mean, where they are used."""
    lines = ["length columns: BLEU by white-space words of the source, n sentences in each"]
    if any(spread.n > 1 for row in comparison.rows for spread in [row.spread(BLEU)]):
        lines.append("mean ± sample standard deviation over the seeds")
    if any(row.spread(_AER).n for row in comparison.rows):
        lines.append(
            "AER predicted: alignment error rate (0 to 1, lower is better) of the attention weights against "
            "the gold links, the weights of a step credited to the token that it emits; "
            f"AER input ({comparison.file('table')}.csv): to the token that it reads"
        )
    if any(row.spread(_ATTENTION).n for row in comparison.rows):
        lines.append("of them attention: parameters of the scorer and the window")
    marks = {bucket["mark"] for row in comparison.rows for bucket, _ in row.buckets("by_source_length")}
    if "few" in marks:
        lines.append("* few sentences in the bucket: the score is not to be relied on")
    if "too_short" in marks:
        lines.append("short: no reference in the bucket has a 4-gram, BLEU is not defined")
    return lines


def _present(
    rows: Sequence[Row], wanted: Sequence[tuple[str, str, Pick, Callable[[float], str]]]
) -> list[Column]:
    table = []
    for title, name, pick, write in wanted:
        if name in CSV_ONLY:
            continue
        means = [row.spread(pick).mean for row in rows]
        if any(mean is not None for mean in means):
            table.append(Column(title, ["-" if mean is None else write(mean) for mean in means]))
    return table


def _by_length(comparison: Comparison) -> list[Column]:
    """A column for every bucket that any row has; titled with n where all rows agree on it."""
    cells: dict[str, dict[int, str]] = {}
    sizes: dict[str, set[int]] = {}
    order: dict[str, int] = {}
    for index, row in enumerate(comparison.rows):
        for bucket, spread in row.buckets("by_source_length"):
            name = label(bucket)
            order[name] = bucket["lo"]
            sizes.setdefault(name, set()).add(bucket["n"])
            text = "-" if spread.mean is None else f"{spread.mean:.1f}"
            if bucket["mark"] == "few":
                text += "*"
            elif bucket["mark"] == "too_short":
                text = "short"
            cells.setdefault(name, {})[index] = text
    return [
        Column(
            f"{name} (n={sizes[name].pop()})" if len(sizes[name]) == 1 else name,
            [cells[name].get(index, "-") for index in range(len(comparison.rows))],
        )
        for name in sorted(cells, key=lambda name: (order[name], name))
    ]


def _bleu(row: Row) -> str:
    spread = row.spread(BLEU)
    if spread.mean is None:
        return "-"
    text = f"{spread.mean:.2f}" if spread.deviation is None else f"{spread.mean:.2f} ± {spread.deviation:.2f}"
    return f"{text} (short)" if any(run.test["bleu"].get("mark") for run in row.runs) else text


def _seeds(row: Row) -> str:
    parts = [" ".join(run.seed for run in row.runs)]
    parts += [f"failed {' '.join(row.failed)}"] if row.failed else []
    parts += [f"interrupted {' '.join(row.interrupted)}"] if row.interrupted else []
    parts += [f"missing {' '.join(row.missing)}"] if row.missing else []
    return "; ".join(parts)
