"""All turns of `benchmarks/train.py`, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from peers.base import Toolkit
from peers.records import Setting, Text, Trained
from peers.work import FORMULA, Lengths, flops, products

MARKS = 4
"""Padding, unknown, start and end: in every toolkit's vocabulary."""


@dataclass(frozen=True)
class Turn:
    """One toolkit's training in one round."""

    round: int
    setting: str
    toolkit: str
    trained: Trained

    def line(self) -> str:
        """For the console."""
        quiet = sum(window.seconds for window in self.trained.quiet)
        total = sum(window.seconds for window in self.trained.windows)
        return (
            f"{self.setting}, {self.toolkit}: {self.trained.tokens_per_s:,.0f} target tokens/s over"
            f" {total:.0f} s, {quiet:.0f} of them quiet (others used {self.trained.others:.2f} cores);"
            f" first report after {self.trained.start_s:.0f} s; {self.trained.peak_mb:,.0f} MiB"
        )


@dataclass
class Speeds:
    """What was measured, of what."""

    toolkits: Sequence[Toolkit]
    settings: Sequence[Setting]
    text: Text
    lengths: Lengths
    precisions: Sequence[str]
    turns: list[Turn] = field(default_factory=list)
    peaks: dict[str, list[float]] = field(default_factory=dict)
    """GFLOP/s of the matrix product, one a round."""
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def ours(self) -> list[str]:
        """The names that ours goes by, one a precision."""
        return [f"attnlab {precision}" for precision in self.precisions]

    @property
    def vocabulary(self) -> int:
        """V of the target, marks included."""
        return self.text.words[self.text.target] + MARKS

    def of(self, setting: str, toolkit: str) -> dict[int, Trained]:
        """Its turns by round."""
        return {t.round: t.trained for t in self.turns if (t.setting, t.toolkit) == (setting, toolkit)}

    def rate(self, setting: str, toolkit: str) -> float | None:
        """Median over the rounds."""
        rates = [trained.tokens_per_s for trained in self.of(setting, toolkit).values()]
        return median(rates) if rates else None

    def ratio(self, setting: str, ours: str, other: str) -> float | None:
        """Median over the rounds of ours by the other of the same round."""
        mine, its = self.of(setting, ours), self.of(setting, other)
        found = [mine[n].tokens_per_s / its[n].tokens_per_s for n in mine.keys() & its.keys()]
        return median(found) if found else None

    def fastest(self, setting: str) -> dict[int, Turn]:
        """The fastest peer of each round."""
        best: dict[int, Turn] = {}
        for turn in self.turns:
            if turn.setting == setting and turn.toolkit not in self.ours:
                held = best.get(turn.round)
                if held is None or turn.trained.tokens_per_s > held.trained.tokens_per_s:
                    best[turn.round] = turn
        return best

    def lead(self, setting: str, ours: str) -> float | None:
        """Median over the rounds of ours by the fastest peer of the same round, whichever that was."""
        mine, best = self.of(setting, ours), self.fastest(setting)
        found = [mine[n].tokens_per_s / best[n].trained.tokens_per_s for n in mine.keys() & best.keys()]
        return median(found) if found else None

    def share(self, setting: Setting, toolkit: str) -> float | None:
        """Of the peak of its precision, in useful FLOPs."""
        rate = self.rate(setting.name, toolkit)
        precision = toolkit.split()[-1] if toolkit in self.ours else "fp32"
        top = median(self.peaks[precision]) * 1e9
        return None if rate is None else rate * flops(setting, self.lengths, self.vocabulary) / top

    def work(self) -> str:
        """The formula with its values."""
        names = list(products(self.settings[0], self.lengths, self.vocabulary))
        rows = [["multiply-adds a target token, thousands", *(setting.name for setting in self.settings)]]
        terms = [products(setting, self.lengths, self.vocabulary) for setting in self.settings]
        rows += [[name, *(f"{each[name] / 1e3:,.0f}" for each in terms)] for name in names]
        totals = [flops(setting, self.lengths, self.vocabulary) / 1e6 for setting in self.settings]
        rows.append(["MFLOP a target token", *(f"{total:.1f}" for total in totals)])
        tokens = int(self.lengths.target.sum())
        pairs = int((self.lengths.source * self.lengths.target).sum())
        told = (
            f"Here s = {self.lengths.source.sum() / tokens:.3f}, p = {pairs / tokens:.2f}, "
            f"b = {len(self.lengths.target) / tokens:.4f}, V = {self.vocabulary:,}; "
            f"H = K = A = U = {self.settings[0].hidden}, E = {self.settings[0].embedding}."
        )
        return "\n".join(["```", FORMULA, "```", "", told, "", *table(rows)])


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table; numbers to the right."""
    heads, *body = rows
    marks = [
        "---:" if body and all(_number(row[i]) for row in body) and any(row[i] for row in body) else "---"
        for i in range(len(heads))
    ]
    return ["| " + " | ".join(row) + " |" for row in [heads, marks, *body]]


def _number(cell: str) -> bool:
    return not cell or cell[0].isdigit()
