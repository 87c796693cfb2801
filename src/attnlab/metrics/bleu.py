"""BLEU, chrF and TER through sacrebleu: a score never leaves here without its signature.

BLEU is always computed from the sum of sentence statistics (Papineni 2002, section 2.3), so one scorer
serves validation, the test set, every length bucket and every bootstrap sample, and statistics of several
processes may be added. Scores run from 0 to 100.

Empty references are scored as sacrebleu scores them: the words of the hypothesis count as unmatched, the
reference adds nothing to the reference length. `Metrics` counts such segments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU, CHRF, TER

from attnlab.errors import UserError


def check_parallel(**lists: Sequence[str]) -> int:
    """Number of segments, after checking that all lists hold as many plain strings.

    A list of one-element lists would be read by sacrebleu as many reference sets of one segment and score
    the first sentence only; here it is refused.

    Raises:
        UserError: counts differ, a list is a single string, or an element is not a string.
    """
    for name, lines in lists.items():
        if isinstance(lines, str):
            raise UserError(f"{name} is a single string; give a list with one string a segment")
        for number, line in enumerate(lines):
            if not isinstance(line, str):
                raise UserError(
                    f"{name}[{number}] is a {type(line).__name__}, not a string; "
                    "give one flat list with one string a segment"
                )
    counts = {name: len(lines) for name, lines in lists.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise UserError(f"cannot score {told}: the counts must be equal")
    return next(iter(counts.values()), 0)


class Bleu:
    """Corpus BLEU from sentence statistics.

    Args:
        options: those of `sacrebleu.metrics.BLEU`: `tokenize`, `lowercase`, `smooth_method`,
            `smooth_value`, `max_ngram_order`, `effective_order`.

    Attributes:
        order: the largest n-gram order.
        signature: sacrebleu's, complete with version, and `order:n` where the order isn't 4.
    """

    def __init__(self, **options: Any) -> None:
        self._metric = _construct("bleu", BLEU, options)
        # Sentence counts without smoothing: `add-k` would change the counts themselves. `effective_order`
        # has no effect on counts; it only silences sacrebleu's advice about single sentences.
        counting = {**options, "smooth_method": "none", "smooth_value": None, "effective_order": True}
        self._counter = _construct("bleu", BLEU, counting)
        self.order: int = self._metric.max_ngram_order
        self.lowercase: bool = self._metric.lowercase
        self.signature: str = _signature(self._metric)

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """Statistics [n, 2 + 2 * order]: hypothesis length, reference length, matches, totals by order."""
        check_parallel(hypotheses=hypotheses, references=references)
        table = np.zeros((len(hypotheses), 2 + 2 * self.order), dtype=np.int64)
        for row, (hypothesis, reference) in enumerate(zip(hypotheses, references, strict=True)):
            counts = self._counter.sentence_score(hypothesis, [reference])
            table[row] = [counts.sys_len, counts.ref_len, *counts.counts, *counts.totals]
        return table

    def from_statistics(self, summed: Sequence[int] | np.ndarray) -> float:
        """BLEU, 0 to 100, of summed statistics [2 + 2 * order]."""
        values = [int(value) for value in summed]
        matches, totals = values[2 : 2 + self.order], values[2 + self.order :]
        return float(
            self._metric.compute_bleu(
                correct=matches,
                total=totals,
                sys_len=values[0],
                ref_len=values[1],
                smooth_method=self._metric.smooth_method,
                smooth_value=self._metric.smooth_value,
                effective_order=self._metric.effective_order,
                max_ngram_order=self.order,
            ).score
        )

    def interval(
        self, statistics: np.ndarray, *, samples: int, level: float, seed: int
    ) -> list[float] | None:
        """Percentile bootstrap interval `[low, high]` of corpus BLEU (Koehn 2004, section 4).

        Segments are drawn with replacement; only their cached statistics [n, 2 + 2 * order] are added up.
        The seed alone decides the draws. None where there is nothing to draw from or no samples are wanted.
        """
        count = len(statistics)
        if not count or not samples:
            return None
        draws = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=samples)
        scores = [self.from_statistics(summed) for summed in draws @ statistics]
        low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
        return [float(low), float(high)]

    def too_short(self, statistics: np.ndarray) -> bool:
        """Whether no reference is long enough for one n-gram of the largest order: BLEU says nothing."""
        return not bool((statistics[:, 1] >= self.order).any())


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str], **options: Any) -> dict[str, Any]:
    """Corpus BLEU as `{score, signature}`; the options are those of `Bleu`."""
    bleu = Bleu(**options)
    score = bleu.from_statistics(bleu.statistics(hypotheses, references).sum(0))
    return {"score": score, "signature": bleu.signature}


def corpus_chrf(hypotheses: Sequence[str], references: Sequence[str], **options: Any) -> dict[str, Any]:
    """Corpus chrF (Popovic 2015) as `{score, signature}`; options of `sacrebleu.metrics.CHRF`."""
    return _corpus_score("chrf", CHRF, hypotheses, references, options)


def corpus_ter(hypotheses: Sequence[str], references: Sequence[str], **options: Any) -> dict[str, Any]:
    """Corpus TER (Snover 2006; lower is better) as `{score, signature}`; options of sacrebleu's TER."""
    return _corpus_score("ter", TER, hypotheses, references, options)


def perplexity(loss: float, tokens: int) -> float | None:
    """`exp(loss / tokens)`: loss summed in nats over all target tokens, the end marks among them.

    None without tokens or where the number is too large for a float.
    """
    if tokens <= 0 or not math.isfinite(loss):
        return None
    try:
        return math.exp(loss / tokens)
    except OverflowError:
        return None


def _corpus_score(
    name: str,
    metric_class: Any,
    hypotheses: Sequence[str],
    references: Sequence[str],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    if not check_parallel(hypotheses=hypotheses, references=references):
        raise UserError(f"{name}: there is nothing to score: 0 hypotheses and 0 references")
    metric = _construct(name, metric_class, options)
    score = float(metric.corpus_score(list(hypotheses), [list(references)]).score)
    return {"score": score, "signature": _signature(metric)}


def check_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `chrf` or `ter`, tried out, so that a fault shows before a training and not after it.

    Raises:
        UserError: sacrebleu refuses one.
    """
    _construct(name, {"chrf": CHRF, "ter": TER}[name], options)
    return dict(options)


def _construct(name: str, metric_class: Any, options: Mapping[str, Any]) -> Any:
    try:
        metric = metric_class(**options)
        metric.corpus_score(["a"] * 2, [["a"] * 2])  # what is wrong may show only here
        return metric
    except (
        *(TypeError, AssertionError, LookupError, ValueError, ArithmeticError, AttributeError),
        *(RuntimeError, ImportError),
    ) as error:
        told = ", ".join(f"{key}={value}" for key, value in options.items())
        remedy = "the options are those of sacrebleu"
        if metric_class is BLEU:
            remedy = (
                f"tokenize is one of {', '.join(sorted(BLEU.TOKENIZERS))}; "
                f"smooth_method one of {', '.join(sorted(BLEU.SMOOTH_DEFAULTS))}"
            )
        raise UserError(f"metrics.{name}: sacrebleu refuses {told}; {remedy}") from error


_UNSIGNED = {"max_ngram_order": ("order", 4), "beta": ("beta", 2)}
"""Options that change a score but not sacrebleu's signature: our name for them, and the usual value."""


def _signature(metric: Any) -> str:
    """Sacrebleu's signature of a metric that has scored, and what it leaves out where that is unusual."""
    signature: str = metric.get_signature().format()
    for option, (name, usual) in _UNSIGNED.items():
        if (value := getattr(metric, option, usual)) != usual:
            signature = signature.replace("|version:", f"|{name}:{value}|version:")
    return signature
