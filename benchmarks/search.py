"""Speed of search at one forced length, ours and the published toolkits' in turn, in one run.

    python benchmarks/search.py --data MULTI30K [--peers-folder ENVIRONMENTS] [--note benchmarks/search.md]

MULTI30K holds train.de, val.de, test_2016_flickr.de and the English ones, plain or .gz; without it ours alone
is measured, on made-up sentences. Linux only.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from machine import command, commit, description, versions, wait_for_quiet, words
from peers import Setting, find, named, prepare
from peers.base import Peer
from peers.records import Searched, Text
from peers.running import run
from peers.speeds import MARKS, table

CONFIGS = ["post_combine_feeding/additive", "post_combine_feeding/general", "post_combine/additive"]
CASES = ["5x64", "1x64", "5x1", "1x1"]
PRECISIONS = ["fp32", "bf16"]
SIZES = {"de": 7851, "en": 5913}
"""Words of Multi30k's vocabularies, marks not counted."""
FEWER = 16
"""Sentences of a batch of one are so many times fewer."""
TEXT = """# Speed of search

`ref-512`: bidirectional LSTM encoder of {hidden}, LSTM decoder of {hidden}, embeddings of {embedding},
{threads} threads; {source}; every output forced to {length} decoder steps, the last of which
may put the end mark; models hardly trained, since at a forced length what is put out matters little. All
toolkits read the same sentences, one after the other, in {rounds} round(s); {quiet}.
Each by its own timer, without loading; the first batch is in it.

{table}

- **Output tokens a second** at {sentences} sentences in batches of 64, or **ms a sentence** (the latency) at
  {few} sentences one by one: the median of the rounds.
- **Ratios** are medians of the ratios within a round; above 1 ours is faster.
- Ours sorts by length and gives the sentences back in their order; each peer does as it does.
- `bf16` is autocast; peers search in float32.

## Where the time goes, and what was tried

At beam 5 and batch 64 in float32 two thirds of a step are matrix products: a third the vocabulary's, a third
the gates'. In bfloat16 it is 40 %; point-wise work, candidates and casts of activations are the rest. One
sentence at a time a product waits for its weights to come from memory.

- Weights cast once a search (`search/ready.py`): under autocast in inference mode each product casts its
  weight anew, a quarter of a step in bfloat16.
- y = x W' as (W x')': the vocabulary product 1.7 times as fast in bfloat16; in float32 6 to 9 % at 320 rows,
  1.6 times at 10 to 40.
- The norm of the logits in parts that stay in the cache, groups ranked once a sentence: candidates a tenth to
  a quarter faster. `log_softmax` in their place is slower, since it writes all of [B, Q, V].
- References by force: logits of real tokens alone, in parts, 1.7 times as fast, without [B, T, V].
- Larger batches: level in float32 from 64 sentences on at beam 5 and from 128 on greedy; bfloat16 still gains
  at 256. The default of `data.batch_tokens` gives 100 to 300.
- Did not help enough: weights packed for MKL save 16 to 21 % of a product at 320 rows, but are packed anew
  for each number of rows, and sentences leave; the operators are private.
- The recurrent product of hypotheses that go on from the same one made once (`model/state.py`): with these
  parameters half of 320 are distinct. A step of `post_combine_feeding`, `general` 1.07 to 1.12 times as fast
  in float32, 1.07 times in bfloat16 (with and without in turn, in one process). bfloat16 rounds the number of
  rows up to a multiple of 32: oneDNN compiles a product for each new one.
- State and what is fed meet one matrix; it and the casts are made once for all batches.
- Did not help: the embedding's part of the gates once for equal words; 43 % of 320 words are distinct, but
  copying the rows costs what the smaller product saves.

{when}; {machine}; {versions}; commit {commit}; `{command}`.
"""


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

    def rows(self) -> list[list[str]]:
        """A row a setting, case and toolkit."""
        ours = [f"attnlab {precision}" for precision in PRECISIONS]
        heads = [
            "tokens/s",
            "ms a sentence",
            "lowest to highest tokens/s",
            *(f"{name} : it" for name in ours),
        ]
        rows = [["configuration", "search", "toolkit", *heads, "others' cores"]]
        for (setting, case, toolkit), rounds in self.turns.items():
            rates = sorted(each.tokens_per_s for each in rounds.values())
            each = 1000 * median(found.seconds / found.sentences for found in rounds.values())
            ratios = [
                "" if toolkit.startswith("attnlab") else self.ratio(setting, case, mine, toolkit)
                for mine in ours
            ]
            met = "" if all(found.lengths_met for found in rounds.values()) else " (lengths not met)"
            rows.append(
                [
                    *(setting, case.name, toolkit + met, f"{median(rates):,.0f}", f"{each:.1f}"),
                    *(f"{rates[0]:,.0f} to {rates[-1]:,.0f}", *ratios),
                    f"{median(found.others for found in rounds.values()):.2f}",
                ]
            )
        return rows


def made_up(count: int, seed: int = 1) -> list[list[int]]:
    """Sentences of about Multi30k's lengths, of no words in particular."""
    draw = random.Random(seed)
    lengths = [max(4, round(draw.gauss(13, 4))) for _ in range(count)]
    return [[draw.randrange(MARKS, SIZES["de"] + MARKS) for _ in range(n)] for n in lengths]


def ids(text: Text, count: int) -> list[list[int]]:
    """The first sentences of the test set."""
    words = text.vocabulary(text.source).read_text(encoding="utf-8").splitlines()
    numbers = {word: MARKS + i for i, word in enumerate(words)}
    return [[numbers.get(word, 1) for word in line] for line in text.lines("test", text.source)[:count]]


def ours(task: dict[str, Any], work: Path) -> Searched:
    """One turn of ours, in a process of its own."""
    path = work / "task.json"
    path.write_text(json.dumps(task))
    alone = [sys.executable, str(Path(__file__).with_name("searching.py").resolve()), str(path)]
    ran = run(alone, cwd=work, log=work / "ours.log", threads=task["setting"]["threads"])
    told = json.loads(ran.lines[-1][1])
    others = ran.others(ran.ended - told["seconds"], ran.ended)
    return Searched(len(task["sentences"]), task["length"], told["seconds"], told["met"], others)


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder of Multi30k's files; else made-up sentences")
    parser.add_argument("--configs", type=words, default=CONFIGS, help="ORDER/SCORER, with commas between")
    parser.add_argument("--cases", type=words, default=CASES, help="BEAMxBATCH, with commas between")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each toolkit (3)")
    parser.add_argument("--sentences", type=int, default=512, help="of a turn; few one by one (512)")
    parser.add_argument("--length", type=int, default=13, help="decoder steps of each output (13)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--run", type=Path, help="a finished run of ours, in place of random parameters")
    parser.add_argument("--peers", nargs="*", default=[], metavar="NAME=ENVIRONMENT")
    parser.add_argument("--peers-folder", type=Path, help="environments under the names opennmt, eole ...")
    parser.add_argument("--quiet", type=float, default=60, help="seconds to wait for a quiet machine (60)")
    parser.add_argument("--work", type=Path, help="for text, models and logs; else thrown away")
    parser.add_argument("--note", type=Path, help="write the outcome there, in Markdown")
    asked = parser.parse_args()
    try:
        asked.settings = [Setting.parse(name, asked.threads) for name in asked.configs]
        asked.cases = [Case.parse(case) for case in asked.cases]
        asked.toolkits = [named(word) for word in asked.peers] + find(asked.peers_folder)
    except ValueError as error:
        parser.error(str(error))
    if asked.toolkits and not asked.data:
        parser.error("the peers read Multi30k: give --data")
    return asked


def measure(asked: argparse.Namespace, work: Path) -> None:
    """All rounds; the note is written after each of them."""
    peers: list[Peer] = asked.toolkits
    text = prepare(asked.data, work / "text", [peer.python for peer in peers]) if asked.data else None
    sizes = [count + MARKS for count in (text.words if text else SIZES).values()]
    found, broken = Found(), set[tuple[str, str]]()
    began, here = time.monotonic(), work / "ours"
    here.mkdir(parents=True, exist_ok=True)
    for number in range(1, asked.rounds + 1):
        for setting in asked.settings:
            for case in asked.cases:
                count = asked.sentences if case.batch > 1 else max(1, asked.sentences // FEWER)
                task = {
                    **{"setting": vars(setting), "beam": case.beam, "batch": case.batch},
                    **{"length": asked.length, "sizes": sizes, "run": str(asked.run) if asked.run else None},
                    "sentences": ids(text, count) if text else made_up(count),
                }
                turns: list[tuple[str, Callable[[], Searched]]] = [
                    (f"attnlab {precision}", partial(ours, {**task, "precision": precision}, here))
                    for precision in PRECISIONS
                ]
                for peer in peers:
                    if peer.takes(setting):
                        wanted = {"beam": case.beam, "batch": case.batch, "length": asked.length}
                        search = partial(peer.search, setting, text, work / "runs", sentences=count, **wanted)
                        turns.append((peer.name, search))
                for name, turn in turns:
                    if (name, setting.name) in broken:
                        continue
                    wait_for_quiet(asked.quiet)
                    try:
                        searched = turn()
                    except RuntimeError as error:
                        broken.add((name, setting.name))
                        print(f"{name}, {setting.name}: left out: {error}", flush=True)
                        continue
                    found.add((setting.name, case, name), number, searched)
                    print(
                        f"{time.monotonic() - began:6.0f} s  round {number}, {setting.name}, {case.name}, "
                        f"{name}: {searched.tokens_per_s:,.0f} tokens/s, others {searched.others:.2f}, "
                        f"met {searched.lengths_met}",
                        flush=True,
                    )
        shown = note(asked, found, text, number)
        if asked.note is not None:
            asked.note.write_text(shown, encoding="utf-8")
    print(shown)


def note(asked: argparse.Namespace, found: Found, text: Text | None, rounds: int) -> str:
    """The whole text, with what was measured so far."""
    installed = [f"{peer.name} {peer.version()} (torch {peer.version('torch')})" for peer in asked.toolkits]
    return TEXT.format(
        hidden=asked.settings[0].hidden,
        embedding=asked.settings[0].embedding,
        threads=asked.threads,
        source=f"Multi30k's test set of 2016, {text.tokeniser}" if text else "made-up sentences",
        length=asked.length,
        rounds=rounds,
        quiet=(
            "before each turn the machine was waited for until it was quiet"
            if asked.quiet > 0
            else "nobody waited for a quiet machine, so the figures are rough"
        ),
        table="\n".join(table(found.rows())),
        sentences=asked.sentences,
        few=max(1, asked.sentences // FEWER),
        when=time.strftime("%Y-%m-%d", time.gmtime()),
        machine=description(asked.threads),
        versions=", ".join([versions(), *installed]),
        commit=commit(),
        command=command("search.py"),
    )


def main() -> None:
    """Measures, prints, and writes the note."""
    asked = parsed()
    with tempfile.TemporaryDirectory() as nowhere:
        measure(asked, (asked.work or Path(nowhere)).absolute())


if __name__ == "__main__":
    main()
