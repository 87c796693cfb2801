"""Statistics of each sentence of a test set, `segments.npz` beside `hyp.txt`: counts, and no text.

Sums of its rows are the corpus scores of the record, so intervals, tests and length buckets need neither the
hypotheses nor a second scoring.
"""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from attnlab.errors import UserError

NAME = "segments.npz"
LENGTHS = ("source_words", "reference_words", "source_pieces", "reference_pieces")
"""The kinds of length that are kept: white-space words of the raw text, pieces without marks."""
COUNTS = ("links", "sure", "in_sure", "in_possible")
"""The last axis of `Segments.alignment`: |A|, |S|, |A & S|, |A & P|."""


class Segments(NamedTuple):
    """The n sentences of a test set in its order; whole numbers are int64.

    Attributes:
        bleu: [n, 2 + 2 * order], `metrics.Bleu.statistics`.
        chrf: [n, k], the statistics that sacrebleu's CHRF extracts; None without chrF.
        source_words, reference_words, source_pieces, reference_pieces: [n], the `LENGTHS`.
        alignment: [n, credits, counts], in the order of `metrics.CREDITS` and `COUNTS`: arg-max links of the
            weights while the reference is read, beside gold links; None without gold or attention.
        entropy: float32 [n], mean entropy over log S of the rows of the weights while searching, merged to
            words; NaN where a sentence has no such row. None without attention.
        max_weight: float32 [n], mean of the rows' largest weights; as `entropy`.
        bleu_signature: sacrebleu's, as in the record.
        chrf_signature: likewise; None without chrF.
    """

    bleu: np.ndarray
    chrf: np.ndarray | None
    source_words: np.ndarray
    reference_words: np.ndarray
    source_pieces: np.ndarray
    reference_pieces: np.ndarray
    alignment: np.ndarray | None
    entropy: np.ndarray | None
    max_weight: np.ndarray | None
    bleu_signature: str
    chrf_signature: str | None

    @property
    def n(self) -> int:
        """How many sentences."""
        return len(self.bleu)

    def lengths(self, kind: str) -> np.ndarray:
        """The lengths [n] of one kind, a name of `LENGTHS`."""
        if kind not in LENGTHS:
            raise UserError(f"length '{kind}': there are {', '.join(LENGTHS)}")
        found: np.ndarray = getattr(self, kind)
        return found


_DAMAGED = (
    *(OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error, TypeError, MemoryError, SyntaxError),
    *(OverflowError, RuntimeError),  # of the latter's kind: an archive's feature that zipfile lacks
)
_OPTIONAL = ("chrf", "alignment", "entropy", "max_weight", "chrf_signature")
_TEXT = ("bleu_signature", "chrf_signature")
_REAL = ("entropy", "max_weight")
_DIMENSIONS = {"bleu": 2, "chrf": 2, "alignment": 3}


def write(folder: Path, segments: Segments) -> Path:
    """Writes `segments.npz` into the folder of a test set; the same content gives the same bytes.

    Whole numbers take the smallest type that holds an array; what is None is left out.

    Raises:
        UserError: the arrays are of different numbers of sentences.
    """
    path = Path(folder) / NAME
    arrays: dict[str, np.ndarray] = {}
    for name, value in segments._asdict().items():
        if value is None:
            continue
        if name in _TEXT:
            arrays[name] = np.array(value)
        elif name in _REAL:
            arrays[name] = np.asarray(value, dtype=np.float32)
        else:
            arrays[name] = _narrow(np.asarray(value))
    _check(segments, path)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(buffer.getvalue())
    return path


def read(folder: Path, n: int | None = None) -> Segments | None:
    """Reads the `segments.npz` of a test set's folder; None where there is none.

    Args:
        folder: `test/<set>` of a run, or `evaluations/NAME/<set>`.
        n: how many sentences the record counts, where known.

    Raises:
        UserError: the file cannot be read, or is of another number of sentences.
    """
    path = Path(folder) / NAME
    try:
        # From memory: of a file that is no archive, numpy would leave the handle open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        made = Segments(*(_value(name, arrays) for name in Segments._fields))
    except FileNotFoundError:
        return None
    except _DAMAGED as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"{path}: cannot be read ({reason}); remove it, and evaluate the run again for a new one"
        ) from error
    _check(made, path)
    if n is not None and made.n != n:
        raise UserError(
            f"{path}: holds {made.n} sentences, the record counts {n}; remove it, and evaluate the run again"
        )
    return made


def fit(segments: Segments) -> bool:
    """Whether BLEU and chrF have as many statistics as scores by their signatures are made from."""
    orders = [(segments.bleu, segments.bleu_signature, 2, 2), (segments.chrf, segments.chrf_signature, 0, 3)]
    for array, signature, more, each in orders:
        if array is None or signature is None:
            continue
        parts = dict(part.partition(":")[::2] for part in signature.split("|"))
        wanted = [parts.get("order", "4")] if more else [parts.get("nc", ""), parts.get("nw", "")]
        if not all(map(str.isdecimal, wanted)) or array.shape[1] != more + each * sum(map(int, wanted)):
            return False
    return True


def _value(name: str, arrays: dict[str, np.ndarray]) -> Any:
    if name not in arrays:
        if name in _OPTIONAL:
            return None
        raise KeyError(f"no {name} in it")
    if name in _TEXT:
        return str(arrays[name])
    if arrays[name].dtype.kind not in ("f" if name in _REAL else "iu"):
        raise ValueError(f"{name} is of type {arrays[name].dtype}")
    return arrays[name].astype(np.float32 if name in _REAL else np.int64)


def _narrow(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers in the smallest type that holds them all."""
    low, high = (int(numbers.min()), int(numbers.max())) if numbers.size else (0, 0)
    return numbers.astype(np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high)))


def _check(segments: Segments, path: Path) -> None:
    """Shapes that cannot be."""
    for name, value in segments._asdict().items():
        if name in _TEXT or value is None:
            continue
        shape = np.shape(value)
        if len(shape) != _DIMENSIONS.get(name, 1) or shape[0] != segments.n:
            raise UserError(
                f"{path}: {name} has the shape {list(shape)}, but there are {segments.n} sentences; "
                "remove it, and evaluate the run again"
            )
