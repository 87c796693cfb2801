"""The committed note of `benchmarks/train.py`."""

from __future__ import annotations

from datetime import UTC, datetime
from statistics import median

from peers.speeds import Speeds, table
from peers.work import padding

TEXT = """# Training speed

`ref-512` on Multi30k: bidirectional LSTM encoder of {hidden}, LSTM decoder of {hidden}, embeddings of
{embedding}, dropout {dropout}, {sentences} sentences a batch, Adam, {threads} threads. All toolkits read the
same tokens ({tokeniser}, lower case) with the same vocabularies (words: {sizes}, and four
marks), one after the other, in {rounds} round(s); before each turn the machine was waited for until it was
quiet. Ours is `attnlab train`. Peers train in float32.

{best}

{all}

Matrix product, measured at the start of each round: {peaks}.

- **Target tokens**: words and the end mark, no padding, no start mark; tokens over time of the reports after
  the warm-up, by each toolkit's own counter and the time between its reports; the median of the rounds.
- **Ratios** are medians of the ratios within a round; in the first table to the fastest peer of the round,
  whichever that was.
- **Share of peak**: useful FLOPs (below) a second by the measured matrix product of the precision (bf16 for
  `attnlab bf16`).
- **Quiet**: share of the measured time in which all else on the machine used less than a tenth of a core.
  Where half of a turn or more was quiet, the rest of it is left out.
- **MiB**: peak resident memory of the process.

## Batches

Nobody leaves a sentence out. Batches of {sentences} are cut from pairs sorted by length, in all or within
4,096, or drawn; sorting saves padding, and is part of what is compared. The shares of padding are computed
from the lengths by these rules.

{padding}

## Useful work

{work}

{when}; {machine}; {versions}; commit {commit}; `{command}`.
"""


def note(speeds: Speeds) -> str:
    """The whole text, with what was measured so far."""
    setting = speeds.settings[0]
    peaks = "; ".join(
        f"{name} {median(values):.0f} GFLOP/s ({min(values):.0f} to {max(values):.0f})"
        for name, values in speeds.peaks.items()
    )
    best = _fastest(speeds)
    return TEXT.format(
        hidden=setting.hidden,
        embedding=setting.embedding,
        dropout=setting.dropout,
        sentences=setting.sentences,
        threads=setting.threads,
        tokeniser=speeds.text.tokeniser,
        sizes=", ".join(f"{language} {count:,}" for language, count in speeds.text.words.items()),
        rounds=max((turn.round for turn in speeds.turns), default=0),
        best="\n".join(table(best)) if len(best) > 1 else "No peer took part.",
        all="\n".join(table(_all(speeds))),
        peaks=peaks,
        padding="\n".join(table(_padding(speeds))),
        work=speeds.work(),
        when=f"{datetime.now(UTC):%Y-%m-%d}",
        **speeds.facts,
    )


def _fastest(speeds: Speeds) -> list[list[str]]:
    """Ours by the fastest peer of each round, a row a configuration."""
    rows = [["configuration", "fastest peers", *(f"{name} : them" for name in speeds.ours)]]
    for setting in speeds.settings:
        names = list(dict.fromkeys(turn.toolkit for turn in speeds.fastest(setting.name).values()))
        if names:
            ratios = [speeds.lead(setting.name, name) for name in speeds.ours]
            shown = ["" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
            rows.append([setting.name, ", ".join(names), *shown])
    return rows


def _all(speeds: Speeds) -> list[list[str]]:
    """A row a configuration and toolkit."""
    rows = [
        [
            *("configuration", "toolkit", "target tokens/s", "lowest to highest"),
            *(f"{name} : it" for name in speeds.ours),
            *("share of peak", "MiB", "quiet"),
        ]
    ]
    for setting in speeds.settings:
        for toolkit in speeds.toolkits:
            found = list(speeds.of(setting.name, toolkit.name).values())
            if not found:
                continue
            rates = sorted(trained.tokens_per_s for trained in found)
            seconds = sum(w.seconds for trained in found for w in trained.windows)
            quiet = sum(w.seconds for trained in found for w in trained.quiet)
            rows.append(
                [
                    *(setting.name, toolkit.name, f"{median(rates):,.0f}"),
                    f"{rates[0]:,.0f} to {rates[-1]:,.0f}",
                    *_ratios(speeds, setting.name, toolkit.name),
                    f"{speeds.share(setting, toolkit.name):.0%}",
                    f"{max(trained.peak_mb for trained in found):,.0f}",
                    f"{quiet / seconds:.0%}",
                ]
            )
    return rows


def _ratios(speeds: Speeds, setting: str, other: str) -> list[str]:
    """Ours by the other, in each of our precisions; empty for ours itself."""
    if other in speeds.ours:
        return [""] * len(speeds.ours)
    found = [speeds.ratio(setting, name, other) for name in speeds.ours]
    return ["" if ratio is None else f"{ratio:.2f}" for ratio in found]


def _padding(speeds: Speeds) -> list[list[str]]:
    """A row a toolkit; ours once."""
    rows = [["toolkit", "batches", "padding, source", "padding, target"]]
    for toolkit in speeds.toolkits:
        if toolkit.name not in speeds.ours[1:]:
            shares = padding(speeds.lengths, toolkit.batching, speeds.settings[0].sentences)
            rows.append([toolkit.name, toolkit.batching, *(f"{share:.1%}" for share in shares)])
    return rows
