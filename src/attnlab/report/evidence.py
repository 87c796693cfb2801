"""What the numbers of a comparison are worth: intervals, tests, length curves, and what else differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from attnlab.metrics import length
from attnlab.report.fairness import confounded
from attnlab.report.rows import Comparison, Row

if TYPE_CHECKING:
    from attnlab.metrics.effects import Effects
    from attnlab.metrics.significance import Test
    from attnlab.metrics.slope import Slope

BLEU, CHRF = "bleu", "chrf"


class Estimate(NamedTuple):
    """A corpus score over seeds: mean, sample deviation (None for one seed), n, bootstrap interval if any."""

    mean: float
    deviation: float | None
    n: int
    low: float | None = None
    high: float | None = None


class Bucket(NamedTuple):
    """The sentences of some lengths: how many, their score over seeds, the difference from the baseline's.

    `lo` and `hi` are inclusive, `hi` None for the rest; `score` is None where there is none (`mark` says
    why: `empty`, `too_short`); `mark` `few`: not to be relied on.
    """

    lo: int
    hi: int | None
    n: int
    score: float | None
    low: float | None = None
    high: float | None = None
    delta: float | None = None
    delta_low: float | None = None
    delta_high: float | None = None
    mark: str | None = None

    @property
    def label(self) -> str:
        """`<=10`, `11-20`, `>60`."""
        return length.label({"lo": self.lo, "hi": self.hi})

    def centre(self, width: float = 10.0) -> float:
        """Where the bucket is drawn; the open one `width / 2` beyond its lower edge."""
        return length.centre({"lo": self.lo, "hi": self.hi}, width)


class Lengths(NamedTuple):
    """The buckets of one kind of length, and how much the score changes with 10 words or pieces more."""

    buckets: list[Bucket]
    slope: Slope | None = None


@dataclass
class Measure:
    """One metric over the rows of a comparison; every mapping is by `Row.key`.

    Attributes:
        name: as it is written: `BLEU`, `chrF`, or what the column of a further metric is called.
        signature: of the metric, where it has one.
        rows: the corpus scores.
        tests: every test that was made; with a baseline it stands second.
        against: the test of a row against the baseline.
        lengths: by row, then by kind of length: `source_words`, `reference_words`, `source_pieces`,
            `reference_pieces`.
    """

    name: str
    signature: str | None = None
    rows: dict[str, Estimate] = field(default_factory=dict)
    tests: list[Test] = field(default_factory=list)
    against: dict[str, Test] = field(default_factory=dict)
    lengths: dict[str, dict[str, Lengths]] = field(default_factory=dict)


class Evident(NamedTuple):
    """All that is known of one row; None or empty where its runs do not tell."""

    bleu: Estimate | None
    chrf: Estimate | None
    test: Test | None
    lengths: Mapping[str, Lengths]
    differs: list[str]
    confounded: bool


@dataclass
class Evidence:
    """The measures of a comparison and its fairness.

    Attributes:
        baseline: the row that others are tested against; None where there is only one row.
        samples, trials, level, seed: of the bootstrap, of the randomisation, of intervals and tests, of both.
        measures: `bleu`, `chrf` and further metrics by name.
        differs: by `Row.key`, every factor in which a row differs from the baseline.
        factors: by the two keys of each test, every factor in which its rows differ.
        effects: main effects and interactions of the axes; None, and why not in `effects_note`.
        note_on_tests: which test, how many comparisons, and from how many seeds.
        notes: what is missing, and the remedy.
    """

    baseline: Row | None
    samples: int
    trials: int
    level: float
    seed: int
    measures: dict[str, Measure] = field(default_factory=dict)
    differs: dict[str, list[str]] = field(default_factory=dict)
    factors: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    effects: Effects | None = None
    effects_note: str = ""
    note_on_tests: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def bleu(self) -> Measure:
        """The measure of BLEU, which every row with a run has."""
        return self.measures[BLEU]

    def of(self, row: Row) -> Evident:
        """What is known of a row."""
        bleu, chrf = self.measures[BLEU], self.measures.get(CHRF, Measure("chrF"))
        differs = self.differs.get(row.key, [])
        return Evident(
            bleu.rows.get(row.key),
            chrf.rows.get(row.key),
            bleu.against.get(row.key),
            bleu.lengths.get(row.key, {}),
            differs,
            confounded(differs),
        )


def claimed(test: Test | None) -> bool:
    """Whether a test may carry a mark: significant, and with several seeds on both sides."""
    return test is not None and bool(test.significant) and min(test.seeds) > 1


def evidence(
    comparison: Comparison,
    *,
    baseline: str | None = None,
    pairs: bool = False,
    samples: int = 1000,
    trials: int = 10000,
    level: float = 0.95,
    seed: int = 12345,
    tick: Callable[[], None] = lambda: None,
) -> Evidence:
    """Intervals, tests and length curves of every row that has the statistics of its sentences.

    Args:
        comparison: the rows; those without `segments` get means and deviations only.
        baseline: a row's key, cell or readable name, or a part of one; by default the cell without attention,
            else the first row with a run.
        pairs: test all pairs of rows, not only against the baseline.
        samples: of the bootstrap; 0 makes neither intervals nor tests.
        trials: of the approximate randomisation.
        level: of the intervals; a test is significant where Holm's p is below 1 - `level`.
        seed: of all random numbers.
        tick: called now and then, for a progress bar.

    Raises:
        UserError: no row, or several, are called `baseline`.
    """
    from attnlab.report import baseline as baselines
    from attnlab.report.gather import gather
    from attnlab.report.measure import Draw

    return gather(
        comparison, baselines.find(comparison, baseline), Draw(samples, trials, level, seed), pairs, tick
    )
