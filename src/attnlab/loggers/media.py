"""What W&B shows of a run besides curves: tables of translations and of lengths, and heat maps.

W&B is imported where something is made, not with this module.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.loggers.base import Example, Sample
from attnlab.metrics.length import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

log = logging.getLogger(__name__)

MOST = 10_000
"""Rows of a table: W&B cuts the file of a longer one without a word (`wandb.Table.MAX_ROWS`)."""
INCREMENTS = 20
"""Validations of a growing table that the run's page shows at once."""
SAMPLE_COLUMNS = ["update", "sentence", "source", "hypothesis", "reference"]
TRANSLATION_COLUMNS = ["sentence", "source_words", "source", "hypothesis", "reference"]
LENGTH_COLUMNS = ["bucket", "lo", "hi", "n", "bleu", "ci_low", "ci_high", "mark"]

Row = list[Any]


class Samples:
    """The translations of validations: rows that are appended to one table, each sent once.

    Every row is also a line's part in a file, one line a validation: an attempt that goes on is told the
    numbers of the earlier ones by `metrics.jsonl`, and finds their translations here.

    Args:
        path: the file; what is in it is kept.
    """

    def __init__(self, path: Path):
        self.rows: list[Row] = []
        """Of the run so far, those of earlier attempts included."""
        self._path = path
        self._kept = dict(_lines(path))
        self._table: Any = None

    def noted(self, update: int, samples: Sequence[Sample] | None) -> list[Row]:
        """The rows of a validation: new ones, which are written down, or without any those of the file."""
        if samples is None:
            rows = self._kept.get(update, [])
        else:
            rows = [[update, *sample] for sample in samples]
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"update": update, "rows": rows}, ensure_ascii=False) + "\n")
        self.rows += rows
        return rows

    def appended(self, rows: Sequence[Row]) -> Any:
        """The W&B table with these rows as its increment, to be logged before the next one is asked for."""
        import wandb

        if self._table is None:
            self._table = wandb.Table(columns=list(SAMPLE_COLUMNS), log_mode="INCREMENTAL")
        for row in rows:
            self._table.add_data(*row)
        # W&B sends the address of every earlier increment along, 200 bytes each: the n-th log would have n.
        # They say what the page shows; the table itself has all rows.
        earlier = getattr(self._table, "_previous_increments_paths", None)
        if earlier:
            del earlier[: -(INCREMENTS - 1)]
        return self._table


def _lines(path: Path) -> Iterator[tuple[int, list[Row]]]:
    """Update and rows of each line; one that is cut short or damaged is left out."""
    lines = path.read_bytes().splitlines() if path.is_file() else []
    for line in lines:
        try:
            one = json.loads(line.decode("utf-8"))
            yield int(one["update"]), list(one["rows"])
        except (ValueError, KeyError, TypeError, RecursionError):
            log.warning("%s: a line that is no row of translations is left out", path)


def table(key: str, columns: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
    """A whole table under its key; of too many rows the first, and the key says how many of how many."""
    import wandb

    if len(rows) > MOST:
        key = f"{key}/first_{MOST}_of_{len(rows)}"
    return {key: wandb.Table(columns=list(columns), data=list(rows[:MOST]))}


def translations(sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]) -> list[Row]:
    """The rows of a test set, in its order."""
    pairs = enumerate(zip(sources, hypotheses, references, strict=True))
    return [[place, len(source.split()), source, *rest] for place, (source, *rest) in pairs]


def lengths(buckets: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The rows of a table of length buckets, as the record has them."""
    rows = []
    for bucket in buckets:
        low, high = bucket.get("ci") or (None, None)
        numbers = [bucket["lo"], bucket["hi"], bucket["n"], bucket["bleu"], low, high]
        rows.append([label(bucket), *numbers, bucket.get("mark")])
    return rows


def heat_map(example: Example, tokens: int) -> Any:
    """A W&B image of an attention matrix with its pieces, at most so many rows."""
    import wandb

    return wandb.Image(figure(example, tokens), caption=" ".join(example.hypothesis))


def figure(example: Example, tokens: int) -> Figure:
    """The heat map itself: source pieces across, hypothesis pieces down, at most `tokens` rows."""
    from matplotlib.figure import Figure

    weights = example.weights[:tokens]
    rows, columns = weights.shape
    drawn = Figure(figsize=(1.5 + 0.3 * columns, 1.5 + 0.3 * rows), layout="constrained")
    axes = drawn.subplots()
    axes.imshow(weights, cmap="Greys", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(columns), example.source, rotation=90)
    axes.set_yticks(range(rows), example.hypothesis[:rows])
    axes.xaxis.tick_top()
    axes.set_xlabel("source")
    axes.set_ylabel("hypothesis")
    return drawn


@contextmanager
def staged(place: Path) -> Iterator[None]:
    """Has W&B keep the files of tables under `place`, and not in the user's home, unless it is told where."""
    if "WANDB_DATA_DIR" in os.environ:
        yield
        return
    os.environ["WANDB_DATA_DIR"] = str(place)
    try:
        yield
    finally:
        del os.environ["WANDB_DATA_DIR"]
