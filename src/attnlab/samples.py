"""A few sentences of a test set with their attention, `samples.json` beside `hyp.txt`, to be shown to people.

Written only where `data.show_samples` allows it. Which sentences they are depends on the sources alone, so
that all runs on one test set show the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlab.errors import UserError

NAME = "samples.json"
END = "</s>"
COUNT = 8
"""Sentences of a set."""
LONGEST = 40
"""Words of a source that is still shown."""


def chosen(sources: Sequence[str], count: int = COUNT, longest: int = LONGEST) -> list[int]:
    """Places of at most `count` different sources, spread evenly over the lengths up to `longest` words.

    The k-th is the one whose length comes nearest to k / count of the longest; of equally near ones the
    shorter, then the first of the set.
    """
    lengths: dict[str, tuple[int, int]] = {}  # of each text its words and its first place
    for place, source in enumerate(sources):
        words = len(source.split())
        if 1 <= words <= longest:
            lengths.setdefault(source, (words, place))
    left = sorted(lengths.values())
    top = left[-1][0] if left else 0
    found = []
    for k in range(1, min(count, len(left)) + 1):
        nearest = min(left, key=lambda item: (abs(item[0] - top * k / count), item))
        left.remove(nearest)
        found.append(nearest)
    return [place for _, place in sorted(found)]


def collect(
    sentences: Sequence[Any],
    hypotheses: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    source_tokenizer: Any,
    target_tokenizer: Any,
    attends: bool,
    count: int = COUNT,
) -> list[dict[str, Any]]:
    """The samples of a decoded set, in order of length.

    Args:
        sentences: those of `decoding.decode`.
        hypotheses: their detokenised texts.
        rows: the raw columns `source`, `target` and, where known, `alignment`.
        source_tokenizer: the source side's.
        target_tokenizer: the target side's.
        attends: whether the weights mean anything.
        count: of samples, at most.

    Returns:
        For each sentence `index`, `source`, `reference`, `hypothesis`, `source_pieces` [S], `pieces` (of the
        hypothesis, with `</s>` where it finished), `weights` [pieces][S] to three digits or None, and `gold`,
        its links as `i-j ...` or None.
    """
    gold = rows.get("alignment")
    found = []
    for place in chosen(rows["source"], count):
        sentence = sentences[place]
        end = [END] * bool(sentence.finished)
        found.append(
            {
                "index": place,
                "source": rows["source"][place],
                "reference": rows["target"][place],
                "hypothesis": hypotheses[place],
                "source_pieces": source_tokenizer.pieces(sentence.source),
                "pieces": [*target_tokenizer.pieces(sentence.tokens), *end],
                "weights": _rounded(sentence.weights) if attends else None,
                "gold": None if gold is None else gold[place] or "",
            }
        )
    return found


def _rounded(weights: Any) -> list[list[float]]:
    """Three digits; 0 and 1 without a point, which is most of them."""
    rounded = [[round(float(weight), 3) for weight in row] for row in weights]
    return [[int(weight) if weight == int(weight) else weight for weight in row] for row in rounded]


def write(folder: Path, samples: Sequence[Mapping[str, Any]]) -> Path:
    """Writes `samples.json` into the folder of a test set, a line a sentence."""
    path = Path(folder) / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(sample, ensure_ascii=False, allow_nan=False, separators=(",", ":")) for sample in samples
    ]
    path.write_text("[" + ",\n".join(lines) + "]\n", encoding="utf-8", newline="\n")
    return path


def read(folder: Path) -> list[dict[str, Any]] | None:
    """Reads the `samples.json` of a test set's folder; None where there is none.

    Raises:
        UserError: the file cannot be read.
    """
    path = Path(folder) / NAME
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(
            f"{path}: cannot be read ({type(error).__name__}); remove it, and evaluate the run again"
        ) from error
    if not isinstance(found, list) or not all(isinstance(sample, dict) for sample in found):
        raise UserError(f"{path}: holds no list of samples; remove it, and evaluate the run again")
    return found
