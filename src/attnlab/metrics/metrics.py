"""All text metrics of a run behind one object, built from `conf/metrics/*.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.errors import UserError
from attnlab.metrics.bleu import Bleu, check_options, check_parallel, corpus_chrf, corpus_ter
from attnlab.metrics.length import buckets, check_edges, words


class Metrics:
    """Scores hypotheses against references; the same BLEU object serves validation and test.

    Args:
        length_edges: upper edges of the length buckets, inclusive; what is longer falls into the rest.
        min_bucket: buckets with fewer sentences are marked `few`.
        bleu: options of `sacrebleu.metrics.BLEU`.
        chrf: options of `sacrebleu.metrics.CHRF`; None leaves chrF out.
        ter: options of `sacrebleu.metrics.TER`; None leaves TER out.
        bootstrap: `samples` (0: no intervals), `level` and `seed` of the buckets' intervals.

    Raises:
        UserError: sacrebleu refuses an option, the edges do not rise, or there is no such bootstrap.
    """

    def __init__(
        self,
        length_edges: Sequence[int],
        min_bucket: int,
        bleu: Mapping[str, Any],
        chrf: Mapping[str, Any] | None,
        ter: Mapping[str, Any] | None,
        bootstrap: Mapping[str, Any],
    ) -> None:
        self.length_edges = check_edges(length_edges)
        if not isinstance(min_bucket, int):
            raise UserError(f"metrics.min_bucket={min_bucket}: must be a whole number")
        self.min_bucket = min_bucket
        self.bleu = Bleu(**dict(bleu))
        self.chrf = None if chrf is None else check_options("chrf", chrf)
        self.ter = None if ter is None else check_options("ter", ter)
        # What only the end of a run would find out.
        if set(bootstrap) != {"samples", "level", "seed"}:
            raise UserError("metrics.bootstrap: has samples, level and seed, and nothing else")
        self.bootstrap: dict[str, Any] = dict(bootstrap)
        for name in ("samples", "seed"):
            value = bootstrap[name]
            if not isinstance(value, int) or value < 0:
                raise UserError(f"metrics.bootstrap.{name}={value}: must be a whole number from 0")
        level = bootstrap["level"]
        if not isinstance(level, int | float) or not 0 < level < 1:
            raise UserError(f"metrics.bootstrap.level={level}: must lie between 0 and 1, such as 0.95")

    @property
    def cased(self) -> list[str]:
        """The options, as they are set now, by which metrics tell upper from lower case."""
        found = [] if self.bleu.lowercase else ["metrics.bleu.lowercase=false"]
        if self.chrf is not None and not self.chrf.get("lowercase"):
            found.append("metrics.chrf.lowercase=false")
        if self.ter is not None and self.ter.get("case_sensitive"):
            found.append("metrics.ter.case_sensitive=true")
        return found

    def case_warning(self, lowercase: bool) -> str | None:
        """One line where hypotheses are in lower case (`data.lowercase`) and a metric sees case."""
        if not lowercase or not self.cased:
            return None
        return (
            f"data.lowercase=true, but {', '.join(self.cased)}: hypotheses in lower case lose to references "
            "that keep theirs; set metrics.bleu.lowercase=true, metrics.chrf.lowercase=true (follows in a "
            "training) and metrics.ter.case_sensitive=false"
        )

    def corpus_bleu(self, hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
        """Corpus BLEU alone as `{score, signature}`: the cheap number for validation during training."""
        if not check_parallel(hypotheses=hypotheses, references=references):
            raise UserError("there is nothing to score: 0 hypotheses and 0 references")
        return self._pair(self.bleu.statistics(hypotheses, references))

    def score(
        self, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
    ) -> dict[str, Any]:
        """The text scores of one test set, in the shape of the record's `test.<set>`.

        Args:
            sources: raw source lines; only their lengths are used.
            hypotheses: detokenised translations, in the order of the sources.
            references: raw reference lines.

        Returns:
            `bleu`, `chrf`, `ter` (each `{score, signature}`, None if switched off), `length_ratio`,
            `n`, `empty` (`{source, hypothesis, reference}`: counts of blank lines), `by_source_length` and
            `by_reference_length` (`[{lo, hi, n, bleu, ci, mark}]`). A `mark` says why a bucket's BLEU is
            missing or weak: `empty` (n = 0, no score), `too_short` (no reference has an n-gram of the
            largest order; no score), `few` (n below `min_bucket`).

        Raises:
            UserError: counts differ, there is nothing to score, or an element is no string.
        """
        count = check_parallel(sources=sources, hypotheses=hypotheses, references=references)
        if not count:
            raise UserError("there is nothing to score: the test set has 0 pairs")
        statistics = self.bleu.statistics(hypotheses, references)
        produced, expected = (int(total) for total in statistics[:, :2].sum(0))
        return {
            "bleu": self._pair(statistics),
            "chrf": None if self.chrf is None else corpus_chrf(hypotheses, references, **self.chrf),
            "ter": None if self.ter is None else corpus_ter(hypotheses, references, **self.ter),
            "length_ratio": produced / expected if expected else None,
            "n": count,
            "empty": {
                "source": _blank(sources),
                "hypothesis": _blank(hypotheses),
                "reference": _blank(references),
            },
            "by_source_length": self._by_length(sources, statistics),
            "by_reference_length": self._by_length(references, statistics),
        }

    def _pair(self, statistics: np.ndarray) -> dict[str, Any]:
        pair: dict[str, Any] = {
            "score": self.bleu.from_statistics(statistics.sum(0)),
            "signature": self.bleu.signature,
        }
        if self.bleu.too_short(statistics):
            pair["mark"] = "too_short"  # the 0 that sacrebleu gives here says nothing about the translations
        return pair

    def _by_length(self, lines: Sequence[str], statistics: np.ndarray) -> list[dict[str, Any]]:
        table = []
        for bucket in buckets([words(line) for line in lines], self.length_edges):
            members = statistics[bucket["members"]]
            score = interval = mark = None
            if not len(members):
                mark = "empty"
            elif self.bleu.too_short(members):
                mark = "too_short"
            else:
                if len(members) < self.min_bucket:
                    mark = "few"
                score = self.bleu.from_statistics(members.sum(0))
                interval = self.bleu.interval(members, **self.bootstrap)
            table.append(
                {
                    "lo": bucket["lo"],
                    "hi": bucket["hi"],
                    "n": len(members),
                    "bleu": score,
                    "ci": interval,
                    "mark": mark,
                }
            )
        return table


def _blank(lines: Sequence[str]) -> int:
    return sum(not line.strip() for line in lines)
