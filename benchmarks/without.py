"""What each idea of search gains: steps with all of them and without one, in turn, in one process.

    python benchmarks/without.py [--run RUN --sentences FILE] [--precision bf16] [--batch 1]

Made-up sentences and random parameters, or a finished run and a file of sentences. All outputs are forced to
one length. The order of the variants is drawn anew in each round.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import torch
from peers import Setting
from search import SIZES, made_up
from searching import END, random_model
from torch.nn.utils.rnn import pad_sequence

import attnlab
from attnlab import threads
from attnlab.model.per_word import PerWord
from attnlab.model.state import Siblings
from attnlab.search import Search, ready

LENGTH = 13


def nothing(*_: Any) -> None:
    """In the place of what makes an idea's helper."""


WITHOUT: dict[str, Callable[[], Any]] = {
    "all": contextlib.nullcontext,
    "without siblings": lambda: mock.patch.object(Siblings, "of", nothing),
    "without words kept": lambda: mock.patch.object(PerWord, "of", nothing),
    "without either": lambda: _both(),
}


@contextmanager
def _both() -> Iterator[None]:
    with WITHOUT["without siblings"](), WITHOUT["without words kept"]():
        yield


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", default="post_combine_feeding/general", help="ORDER/SCORER")
    parser.add_argument("--run", type=Path, help="a finished run, in place of random parameters")
    parser.add_argument("--sentences", type=Path, help="of the run's source language, a line each")
    parser.add_argument("--count", type=int, default=256, help="sentences (256)")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    if (asked.run is None) != (asked.sentences is None):
        parser.error("--run and --sentences go together")
    return asked


def main() -> None:
    """Measures and prints."""
    asked = parsed()
    threads.set_up(asked.threads)
    end, model = END, None
    if asked.run is not None:
        loaded = attnlab.load(asked.run, device="cpu")
        model, end = loaded.model, loaded.target_tokenizer.end
        ids = loaded.source_ids(asked.sentences.read_text(encoding="utf-8").splitlines()[: asked.count])
    else:
        model = random_model(Setting.parse(asked.config, asked.threads), (SIZES["de"] + 4, SIZES["en"] + 4))
        ids = made_up(asked.count)
    if asked.batch > 1:
        ids = sorted(ids, key=len)
    batches = [ids[start : start + asked.batch] for start in range(0, len(ids), asked.batch)]
    search = Search(
        asked.beam, min_length=LENGTH - 1, max_length=LENGTH, max_length_factor=0, max_length_offset=LENGTH
    )

    def run() -> float:
        kind = torch.autocast("cpu", torch.bfloat16, enabled=asked.precision == "bf16")
        began = time.perf_counter()
        with kind, torch.inference_mode(), ready(model):
            for batch in batches:
                source = pad_sequence([torch.tensor(one) for one in batch], batch_first=True)
                search(model, source, torch.tensor([len(one) for one in batch]), end=end)
        return 1000 * (time.perf_counter() - began) / len(batches) / LENGTH

    found: dict[str, list[float]] = {name: [] for name in WITHOUT}
    for number in range(asked.rounds + 1):
        for name in random.sample(list(WITHOUT), len(WITHOUT)):
            with WITHOUT[name]():
                took = run()
            if number:  # the first is to warm up
                found[name].append(took)
    print("| | ms a step | time to that of all |\n|---|---:|---:|")
    for name, times in found.items():
        ratio = median(one / whole for one, whole in zip(times, found["all"], strict=True))
        print(f"| {name} | {median(times):.2f} | {ratio:.3f} |")


if __name__ == "__main__":
    main()
