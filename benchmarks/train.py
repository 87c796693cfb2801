"""Training speed, ours and the published toolkits' in turn, on the same text, in one run.

    python benchmarks/train.py --data MULTI30K [--peers-folder ENVIRONMENTS] [--note benchmarks/train.md]

MULTI30K holds train.de, val.de, test_2016_flickr.de and the English ones, plain or .gz. Without peers ours is
measured alone; benchmarks/peers/README.md says how to install one. Linux only.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from machine import command, commit, description, peak, versions, wait_for_quiet, words
from peers import Setting, find, named, prepare
from peers.base import Peer, Toolkit
from peers.notes import note
from peers.ours import PRECISIONS, Ours
from peers.speeds import Speeds, Turn
from peers.work import Lengths

CONFIGS = [
    *("post_combine_feeding/additive", "post_combine_feeding/general"),
    *("post_combine/additive", "post_combine/general"),
]


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of Multi30k's files")
    parser.add_argument("--configs", type=words, default=CONFIGS, help="ORDER/SCORER, with commas between")
    parser.add_argument("--precisions", type=words, default=list(PRECISIONS), help="ours: fp32,bf16")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each toolkit (3)")
    parser.add_argument("--updates", type=int, default=40, help="of a turn, measured, at most (40)")
    parser.add_argument("--warm", type=int, default=30, help="of a turn, before (30)")
    parser.add_argument("--seconds", type=float, default=8, help="measured of a turn, at most (8)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--peers", nargs="*", default=[], metavar="NAME=ENVIRONMENT", help="such as eole=envs/e"
    )
    parser.add_argument("--peers-folder", type=Path, help="environments under the names opennmt, eole ...")
    parser.add_argument("--quiet", type=float, default=60, help="seconds to wait for a quiet machine (60)")
    parser.add_argument("--work", type=Path, help="for text, logs and every turn's figures; else thrown away")
    parser.add_argument("--note", type=Path, help="write the outcome there, in Markdown")
    asked = parser.parse_args()
    for name in asked.precisions:
        if name not in PRECISIONS:
            parser.error(f"--precisions {name}: not one of {', '.join(PRECISIONS)}")
    try:
        asked.settings = [Setting.parse(name, asked.threads) for name in asked.configs]
        asked.toolkits = [named(word) for word in asked.peers] + find(asked.peers_folder)
    except ValueError as error:
        parser.error(str(error))
    return asked


def main() -> None:
    """Measures, prints, and writes the note."""
    asked = parsed()
    with tempfile.TemporaryDirectory() as nowhere:
        try:
            measure(asked, (asked.work or Path(nowhere)).absolute())
        except FileNotFoundError as error:
            raise SystemExit(f"train.py: {error}") from None


def measure(asked: argparse.Namespace, work: Path) -> None:
    """All rounds; the note is written after each of them."""
    peers: list[Peer] = asked.toolkits
    text = prepare(asked.data, work / "text", [peer.python for peer in peers])
    lengths = Lengths.of(text.lines("train", text.source), text.lines("train", text.target))
    contenders: list[Toolkit] = [*(Ours(precision) for precision in asked.precisions), *peers]
    speeds = Speeds(contenders, asked.settings, text, lengths, asked.precisions)
    speeds.facts = {
        "machine": description(asked.threads),
        "versions": ", ".join(
            [versions(), *(f"{peer.name} {peer.version()} (torch {peer.version('torch')})" for peer in peers)]
        ),
        "commit": commit(),
        "command": command("train.py"),
    }
    print(speeds.work(), flush=True)
    print(f"peers: {', '.join(f'{peer.name} {peer.version()}' for peer in peers) or 'none'}", flush=True)
    turns = [(s, t) for s in asked.settings for t in contenders if t.takes(s)]
    print(f"{len(turns)} turns a round; {text.tokeniser}; words {text.words}", flush=True)
    began, broken = time.monotonic(), set[tuple[str, str]]()
    for number in range(1, asked.rounds + 1):
        wait_for_quiet(asked.quiet)
        for precision in dict.fromkeys(["fp32", *asked.precisions]):
            top = peak(precision, asked.threads)
            speeds.peaks.setdefault(precision, []).append(top)
            print(f"round {number}: {precision} product {top:.0f} GFLOP/s", flush=True)
        for setting, toolkit in turns:
            if (toolkit.name, setting.name) in broken:
                continue
            before = wait_for_quiet(asked.quiet)
            try:
                trained = toolkit.train(
                    setting,
                    text,
                    work / "runs",
                    updates=asked.warm + asked.updates,
                    warm=asked.warm,
                    seed=number,
                    seconds=asked.seconds,
                )
            except RuntimeError as error:
                broken.add((toolkit.name, setting.name))
                print(f"{toolkit.name}, {setting.name}: left out: {error}", flush=True)
                continue
            turn = Turn(number, setting.name, toolkit.name, trained)
            speeds.turns.append(turn)
            with (work / "turns.jsonl").open("a") as file:
                file.write(json.dumps({**asdict(turn), "before": before}) + "\n")
            print(f"{time.monotonic() - began:6.0f} s  {turn.line()}", flush=True)
        if asked.note is not None:
            asked.note.write_text(note(speeds), encoding="utf-8")
    print(note(speeds))
    print(f"{time.monotonic() - began:.0f} s in all")


if __name__ == "__main__":
    main()
