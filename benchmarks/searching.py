"""One turn of ours for `search.py`, in a process of its own: its seconds, and whether the lengths were met.

python benchmarks/searching.py TASK.json
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from peers import Setting

END = 3


def random_model(setting: Setting, sizes: tuple[int, int]) -> Any:
    """Ours with its first parameters."""
    import torch

    from attnlab.attention import Additive, General, Global
    from attnlab.model import Combine, Encoder, InputFeeding, PostCombine, PostCombineFeeding, Seq2Seq

    torch.manual_seed(1)
    scorers: dict[str, Callable[..., Any]] = {
        "additive": partial(Additive, units=setting.hidden),
        "general": General,
    }
    orders = {
        "post_combine": PostCombine,
        "post_combine_feeding": PostCombineFeeding,
        "input_feeding": InputFeeding,
    }
    return Seq2Seq(
        *sizes,
        encoder=partial(Encoder, hidden_size=setting.hidden, cell="lstm", bidirectional=True),
        decoder=partial(orders[setting.order], hidden_size=setting.hidden),
        readout=Combine,
        scorer=scorers[setting.scorer],
        window=Global,
        hidden_size=setting.hidden,
        embedding_size=setting.embedding,
    ).eval()


def alone(task: dict[str, Any]) -> None:
    """Searches, and prints a line of JSON."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    from attnlab import threads
    from attnlab.search import Search, ready

    setting, length, sentences = Setting(**task["setting"]), task["length"], task["sentences"]
    threads.set_up(setting.threads)
    end = END
    if task["run"]:
        import attnlab

        loaded = attnlab.load(task["run"], device="cpu")
        model, end = loaded.model, loaded.target_tokenizer.end
        sentences = loaded.source_ids([" ".join(line) for line in task["lines"]])
    else:
        sentences = [[*line, END] for line in sentences]
        model = random_model(setting, tuple(task["sizes"]))
    search = Search(
        beam_size=task["beam"],
        min_length=length - 1,
        max_length=length,
        max_length_factor=0,
        max_length_offset=length,
    )
    began = time.perf_counter()
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    found: list[list[int]] = [[] for _ in sentences]
    precision = (
        torch.autocast("cpu", torch.bfloat16) if task["precision"] == "bf16" else contextlib.nullcontext()
    )
    with precision, torch.inference_mode(), ready(model):
        for start in range(0, len(order), task["batch"]):
            rows = order[start : start + task["batch"]]
            lines = [torch.tensor(sentences[i]) for i in rows]
            source = pad_sequence(lines, batch_first=True)
            best = search(model, source, torch.tensor([len(line) for line in lines]), end=end)
            for i, hypotheses in zip(rows, best, strict=True):
                found[i] = hypotheses[0].tokens + [end] * hypotheses[0].finished
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "met": {len(tokens) for tokens in found} == {length}}))


if __name__ == "__main__":
    alone(json.loads(Path(sys.argv[1]).read_text()))
