"""All turns of `benchmarks/search.py`, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from peers.records import Searched

PRECISIONS = ["fp32", "bf16"]
OURS = [f"attnlab {precision}" for precision in PRECISIONS]


@dataclass(frozen=True)
class Case:
    """A beam and the sentences a batch, such as `5x64`."""

    beam: int
    batch: int

    @classmethod
    def parse(cls, text: str) -> Case:
        """From `BEAMxBATCH`.

        Raises:
            ValueError: no such thing.
        """
        beam, _, batch = text.partition("x")
        return cls(int(beam), int(batch))

    @property
    def name(self) -> str:
        """For the table."""
        return f"{'greedy' if self.beam == 1 else f'beam {self.beam}'}, batch {self.batch}"


@dataclass
class Found:
    """All turns: what each toolkit needed for each setting and case, a round each."""

    turns: dict[tuple[str, Case, str], dict[int, Searched]] = field(default_factory=dict)

    def add(self, key: tuple[str, Case, str], number: int, searched: Searched) -> None:
        """One turn."""
        self.turns.setdefault(key, {})[number] = searched

    def ratio(self, setting: str, case: Case, ours: str, other: str) -> str:
        """Median over the rounds of ours by the other of the same round."""
        mine, its = (self.turns.get((setting, case, name), {}) for name in (ours, other))
        rates = [mine[n].tokens_per_s / its[n].tokens_per_s for n in mine.keys() & its.keys()]
        return f"{median(rates):.2f}" if rates else ""

    def lead(self, setting: str, case: Case, ours: str) -> str:
        """Median over the rounds of ours by the fastest peer of the same round, whichever that was."""
        mine = self.turns.get((setting, case, ours), {})
        best: dict[int, float] = {}
        for (name, at, toolkit), rounds in self.turns.items():
            if (name, at) == (setting, case) and toolkit not in OURS:
                for number, found in rounds.items():
                    best[number] = max(best.get(number, 0.0), found.tokens_per_s)
        rates = [mine[n].tokens_per_s / best[n] for n in mine.keys() & best.keys()]
        return f"{median(rates):.2f}" if rates else ""

    def leads(self) -> list[list[str]]:
        """A row a setting and case: ours against the fastest peer."""
        rows = [["configuration", "search", *(f"{name} : fastest peer" for name in OURS)]]
        for setting, case in dict.fromkeys((setting, case) for setting, case, _ in self.turns):
            rows.append([setting, case.name, *(self.lead(setting, case, name) for name in OURS)])
        return rows

    def rows(self) -> list[list[str]]:
        """A row a setting, case and toolkit."""
        heads = [
            "tokens/s",
            "ms a sentence",
            "lowest to highest tokens/s",
            *(f"{name} : it" for name in OURS),
        ]
        rows = [["configuration", "search", "toolkit", *heads, "others' cores"]]
        for (setting, case, toolkit), rounds in self.turns.items():
            rates = sorted(each.tokens_per_s for each in rounds.values())
            each = 1000 * median(found.seconds / found.sentences for found in rounds.values())
            ratios = ["" if toolkit in OURS else self.ratio(setting, case, mine, toolkit) for mine in OURS]
            met = "" if all(found.lengths_met for found in rounds.values()) else " (lengths not met)"
            rows.append(
                [
                    *(setting, case.name, toolkit + met, f"{median(rates):,.0f}", f"{each:.1f}"),
                    *(f"{rates[0]:,.0f} to {rates[-1]:,.0f}", *ratios),
                    f"{median(found.others for found in rounds.values()):.2f}",
                ]
            )
        return rows
