"""Corpus scores of many sums of sentence statistics at once, equal to sacrebleu's of each sum.

A resampling test scores thousands of pseudo-corpora. Each is a sum of cached sentence statistics, so a
score here is a function of an array [..., k] of sums. Sums may be fractions (averages over runs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sacrebleu.metrics import BLEU, CHRF

from attnlab.errors import UserError
from attnlab.metrics.bleu import check_options, check_parallel


class Score(Protocol):
    """A corpus score as a function of summed sentence statistics."""

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        """Scores [...] of sums [..., k]; BLEU and chrF run from 0 to 100."""
        ...

    def too_short(self, stats: np.ndarray) -> bool:
        """Whether no sentence of stats [n, k] is long enough for the score to mean anything."""
        ...


def bleu_score(
    order: int = 4,
    smooth_method: str = "exp",
    smooth_value: float | None = None,
    effective_order: bool = False,
) -> Score:
    """BLEU (Papineni 2002, section 2.3) of sums [..., 2 + 2 * order], laid out as `Bleu.statistics` has them.

    Raises:
        UserError: sacrebleu has no such smoothing.
    """
    if smooth_method not in BLEU.SMOOTH_DEFAULTS:
        known = ", ".join(sorted(BLEU.SMOOTH_DEFAULTS))
        raise UserError(f"smooth_method={smooth_method}: sacrebleu has no such smoothing; it has {known}")
    value = BLEU.SMOOTH_DEFAULTS[smooth_method] if smooth_value is None else smooth_value
    return _Bleu(order, smooth_method, float(value or 0.0), effective_order)


def chrf_score(char_order: int = 6, word_order: int = 0, beta: int = 2, eps_smoothing: bool = False) -> Score:
    """ChrF (Popovic 2015) of sums [..., 3 * (char_order + word_order)] as `chrf_statistics` has them."""
    return _Chrf(char_order + word_order, beta, eps_smoothing)


def mean_score() -> Score:
    """The mean of any metric's segment scores, from sums [..., 2] of score and count."""
    return _Mean()


def chrf_statistics(hypotheses: Sequence[str], references: Sequence[str], **options: Any) -> np.ndarray:
    """Statistics [n, 3 * order] of chrF: per order the n-grams of hypothesis, of reference, and shared.

    They are sacrebleu's own, so that their sum gives its corpus chrF; options of `sacrebleu.metrics.CHRF`.

    Raises:
        UserError: counts differ, an element is no string, or sacrebleu refuses an option.
    """
    metric = CHRF(**check_options("chrf", options))
    if not check_parallel(hypotheses=hypotheses, references=references):
        return np.zeros((0, 3 * metric.order), dtype=np.int64)
    rows = metric._extract_corpus_statistics(list(hypotheses), [list(references)])
    return np.asarray(rows, dtype=np.int64)


def score_of(signature: str) -> Score:
    """The score that a sacrebleu signature of BLEU or chrF describes.

    A signature writes the value of a smoothing with two digits; more of them are lost.

    Raises:
        UserError: the signature is of neither.
    """
    parts = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    try:
        if "nc" in parts:
            return chrf_score(
                char_order=int(parts["nc"]),
                word_order=int(parts["nw"]),
                beta=int(parts.get("beta", 2)),
                eps_smoothing=parts["eff"] == "no",
            )
        method, _, value = parts["smooth"].rstrip("]").partition("[")
        return bleu_score(
            order=int(parts.get("order", 4)),
            smooth_method=method,
            smooth_value=float(value) if value else None,
            effective_order=parts["eff"] == "yes",
        )
    except (KeyError, ValueError) as error:
        raise UserError(
            f"{signature!r} is no signature of BLEU or chrF; give one as sacrebleu writes it"
        ) from error


@dataclass(frozen=True)
class _Bleu:
    order: int
    smooth_method: str
    smooth_value: float
    effective_order: bool

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        sums = np.asarray(sums, dtype=np.float64)
        hypothesis, reference = sums[..., 0], sums[..., 1]
        matches, totals = sums[..., 2 : 2 + self.order], sums[..., 2 + self.order :]
        matched = (matches > 0).any(-1)
        if self.smooth_method == "add-k":  # not the unigrams (Lin and Och 2004)
            more = np.where(np.arange(self.order) > 0, self.smooth_value, 0.0)
            matches, totals = matches + more, totals + more
        # sacrebleu stops at the first order without n-grams; what follows has precision 0.
        reached = np.logical_and.accumulate(totals > 0, axis=-1)
        none = reached & (matches == 0)
        if self.smooth_method == "exp":
            numerator = np.where(none, 0.5 ** np.cumsum(none, axis=-1), matches)
        elif self.smooth_method == "floor":
            numerator = np.where(none, self.smooth_value, matches)
        else:
            numerator = matches
        precision = np.divide(numerator, totals, out=np.zeros_like(totals), where=reached)
        if self.effective_order:
            counted, orders = reached, np.maximum(reached.sum(-1), 1)
        else:
            counted, orders = np.ones_like(reached), np.full(reached.shape[:-1], self.order)
        possible = matched & ((precision > 0) | ~counted).all(-1) & (hypothesis > 0)
        logs = np.log(precision, out=np.zeros_like(precision), where=counted & (precision > 0))
        ratio = np.divide(reference, hypothesis, out=np.zeros_like(reference), where=hypothesis > 0)
        brevity = np.minimum(1.0 - ratio, 0.0)
        return np.where(possible, 100.0 * np.exp(brevity + logs.sum(-1) / orders), 0.0)

    def too_short(self, stats: np.ndarray) -> bool:
        return not bool((stats[..., 1] >= self.order).any())


@dataclass(frozen=True)
class _Chrf:
    order: int
    beta: int
    eps_smoothing: bool

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        sums = np.asarray(sums, dtype=np.float64)
        hypothesis, reference, shared = (sums[..., at::3] for at in range(3))
        tiny, factor = 1e-16, float(self.beta**2)
        precision = np.divide(shared, hypothesis, out=np.full_like(shared, tiny), where=hypothesis > 0)
        recall = np.divide(shared, reference, out=np.full_like(shared, tiny), where=reference > 0)
        if self.eps_smoothing:
            below = factor * precision + recall
            above = (1 + factor) * precision * recall
            return 100.0 * np.divide(above, below, out=np.full_like(above, tiny), where=below > 0).mean(-1)
        both = (hypothesis > 0) & (reference > 0)
        orders = np.maximum(both.sum(-1), 1)
        precision = np.where(both, precision, 0.0).sum(-1) / orders
        recall = np.where(both, recall, 0.0).sum(-1) / orders
        below = factor * precision + recall
        above = (1 + factor) * precision * recall
        return 100.0 * np.divide(above, below, out=np.zeros_like(above), where=below > 0)

    def too_short(self, stats: np.ndarray) -> bool:
        return False


@dataclass(frozen=True)
class _Mean:
    def __call__(self, sums: np.ndarray) -> np.ndarray:
        sums = np.asarray(sums, dtype=np.float64)
        total, count = sums[..., 0], sums[..., 1]
        return np.divide(total, count, out=np.zeros_like(total), where=count > 0)

    def too_short(self, stats: np.ndarray) -> bool:
        return False
