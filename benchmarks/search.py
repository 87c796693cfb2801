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
from functools import partial
from pathlib import Path
from typing import Any

from machine import command, commit, description, versions, wait_for_quiet, words
from peers import Setting, find, named, prepare
from peers.base import FEW, Peer
from peers.ours import Ours
from peers.records import Searched, Text
from peers.running import run
from peers.searches import PRECISIONS, Case, Found
from peers.speeds import MARKS, table

CONFIGS = [
    *("post_combine_feeding/additive", "post_combine_feeding/general"),
    *("post_combine/additive", "post_combine/general"),
]
CASES = ["5x64", "1x64", "5x1", "1x1"]
SIZES = {"de": 7851, "en": 5913}
"""Words of Multi30k's vocabularies, marks not counted."""
FEWER = 16
"""Sentences of a batch of one are so many times fewer."""
TEXT = """# Speed of search

`ref-512`: bidirectional LSTM encoder of {hidden}, LSTM decoder of {hidden}, embeddings of {embedding},
{threads} threads; {source}; every output forced to {length} decoder steps, the last of which
may put the end mark. {models}
they make the same products whatever they put out. All toolkits read the same sentences, one after the
other, in {rounds} round(s); {quiet}. Each by its own timer, without loading; the first batch is in it.

{leads}

{table}

- **Output tokens a second** at {sentences} sentences in batches of 64, or **ms a sentence** (the latency) at
  {few} sentences one by one: the median of the rounds.
- **Ratios** are medians of the ratios within a round; above 1 ours is faster. In the first table to the
  fastest peer of the round, whichever that was.
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
- The recurrent product of hypotheses that go on from the same one made once (`model/state.py`): with random
  parameters half of 320 are distinct. A step of `post_combine_feeding`, `general` 1.07 to 1.12 times as fast
  in float32, 1.07 times in bfloat16 (with and without in turn, in one process). bfloat16 rounds the number of
  rows up to a multiple of 32: oneDNN compiles a product for each new one.
- State and what is fed meet one matrix; it and the casts are made once for all batches.
- The embedding's part of the gates kept for each word, from step to step and batch to batch
  (`model/per_word.py`): with a trained model (`post_combine`, `general`, 900 updates, test set of Multi30k) a
  step 1.08 times as fast in float32; 1.02 with random parameters, which put out ever new words; in bfloat16
  and one by one the same (with and without in turn, in one process). Once for the equal words of one step
  alone did not help.

{when}; {machine}; {versions}; commit {commit}; `{command}`.
"""


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


def trained(setting: Setting, text: Text, work: Path, updates: int) -> str:
    """A run of ours after so many updates; one that lies in the work folder already is taken."""
    toolkit, folder = Ours("bf16"), work / f"trained-{updates}"
    run = toolkit.folder(setting, folder) / "run"
    if not (run / "result.json").exists():
        print(f"training {setting.name} for {updates} updates", flush=True)
        toolkit.train(setting, text, folder, updates=updates, warm=0, keep=True)
    return str(run)


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
    parser.add_argument("--updates", type=int, default=0, help="of ours before it is searched; else random")
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
    if asked.updates < 0:
        parser.error(f"--updates {asked.updates}: give 0 or more")
    if (asked.toolkits or asked.updates) and not asked.data:
        parser.error("the peers and what is trained read Multi30k: give --data")
    return asked


def measure(asked: argparse.Namespace, work: Path) -> None:
    """All rounds; the note is written after each of them."""
    peers: list[Peer] = asked.toolkits
    text = prepare(asked.data, work / "text", [peer.python for peer in peers]) if asked.data else None
    sizes = [count + MARKS for count in (text.words if text else SIZES).values()]
    found, broken = Found(), set[tuple[str, str]]()
    began, here = time.monotonic(), work / "ours"
    here.mkdir(parents=True, exist_ok=True)
    runs = {s.name: trained(s, text, work, asked.updates) for s in asked.settings if text and asked.updates}
    for number in range(1, asked.rounds + 1):
        for setting in asked.settings:
            for case in asked.cases:
                count = asked.sentences if case.batch > 1 else max(1, asked.sentences // FEWER)
                task = {
                    **{"setting": vars(setting), "beam": case.beam, "batch": case.batch},
                    **{"length": asked.length, "sizes": sizes, "run": runs.get(setting.name)},
                    "sentences": ids(text, count) if text else made_up(count),
                    "lines": text.lines("test", text.source)[:count] if text else [],
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
        models=(
            f"Ours is trained for {asked.updates} updates: it makes once what is the same for\n"
            f"several hypotheses, and the model decides how much that is. The peers' are trained for {FEW};"
            if asked.updates
            else "Ours has random parameters, the peers' models are hardly trained;"
        ),
        rounds=rounds,
        quiet=(
            f"before each turn the machine had up to {asked.quiet:.0f} s to become quiet"
            if asked.quiet > 0
            else "nobody waited for a quiet machine, so the figures are rough"
        ),
        leads="\n".join(table(found.leads())) if asked.toolkits else "No peers were asked.",
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
        try:
            measure(asked, (asked.work or Path(nowhere)).absolute())
        except FileNotFoundError as error:
            raise SystemExit(f"search.py: {error}") from None


if __name__ == "__main__":
    main()
