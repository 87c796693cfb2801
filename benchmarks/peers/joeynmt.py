"""JoeyNMT 2.3.0."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from peers.base import EVERY, Peer
from peers.records import Setting, Text

SCORERS = {"additive": "bahdanau", "general": "luong"}
MARKS = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
REPORT = re.compile(r"Step:\s+(\d+),.*?Tokens per Sec:\s+([\d.]+)")
# 2.3.0 reads testing.min_output_length and prints it, but its search never hears of it.
TOLD = """
import functools, runpy, sys
from joeynmt import prediction
prediction.search = functools.partial(prediction.search, min_output_length={length})
runpy.run_module("joeynmt", run_name="__main__", alter_sys=True)
"""
TOOK = re.compile(r"Generation took ([\d.]+)\[sec\]")


class JoeyNMT(Peer):
    """Loops over the steps always; its `bahdanau` is the additive score in Luong's order."""

    kind, title, distribution, batching = "joeynmt", "JoeyNMT", "joeynmt", "at random"

    def training(
        self, setting: Setting, text: Text, folder: Path, *, updates: int, seed: int, keep: bool
    ) -> list[str]:
        """`joeynmt train` with a configuration."""
        config = self._configuration(setting, text, folder, seed=seed, updates=updates)
        path = folder / "train.yaml"
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
        return ["-W", "ignore", "-m", "joeynmt", "train", str(path), "--skip-test"]

    def report(self, line: str) -> tuple[int, float] | None:
        """`Step: 10, Batch Loss: ..., Tokens per Sec: 1040, Lr: ...`: target tokens, by its own clock."""
        found = REPORT.search(line)
        return (int(found[1]), float(found[2])) if found else None

    def checkpoint(self, folder: Path) -> Path:
        """A link to the newest."""
        return folder / "model" / "latest.ckpt"

    def searching(
        self, setting: Setting, text: Text, folder: Path, source: Path, *, beam: int, batch: int, length: int
    ) -> list[str]:
        """`joeynmt test`; it wants references, which are not looked at before the clock has stopped."""
        config = self._configuration(setting, text, folder, seed=1, updates=1)
        lines = source.read_text(encoding="utf-8").count("\n")
        references = text.lines("test", text.target)[:lines]
        target = source.with_suffix(f".{text.target}")
        target.write_text("".join(f"{' '.join(line)}\n" for line in references), encoding="utf-8")
        config["data"]["test"] = str(source.with_suffix(""))
        del config["data"]["dev"]
        config["testing"].update(
            load_model=str(self.checkpoint(folder)),
            batch_size=batch,
            beam_size=beam,
            max_output_length=length,
        )
        path = folder / "search.yaml"
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
        told = TOLD.format(length=length)
        return ["-W", "ignore", "-c", told, "test", str(path), "-o", str(folder / "outputs")]

    def seconds(self, lines: list[str], tokens: int) -> float:
        """As it prints them, in four decimals."""
        return float(TOOK.findall("\n".join(lines))[-1])

    def outputs(self, folder: Path, lines: list[str]) -> list[int]:
        """Words of each line."""
        text = (folder / "outputs.test").read_text(encoding="utf-8")
        return [len(line.split()) for line in text.removesuffix("\n").split("\n")]

    def _configuration(
        self, setting: Setting, text: Text, folder: Path, *, seed: int, updates: int
    ) -> dict[str, Any]:
        sides = {}
        for side, language in (("src", text.source), ("trg", text.target)):
            words = folder / f"vocabulary.{language}"
            listed = text.vocabulary(language).read_text(encoding="utf-8")
            words.write_text("".join(f"{mark}\n" for mark in MARKS.values()) + listed, encoding="utf-8")
            sides[side] = {
                "lang": language,
                "level": "word",
                "lowercase": False,
                "max_length": 100,
                "voc_file": str(words),
            }
        embeddings = {"embedding_dim": setting.embedding, "scale": False, "dropout": setting.dropout}
        network = {
            "type": "recurrent",
            "rnn_type": "lstm",
            "num_layers": 1,
            "dropout": setting.dropout,
            "embeddings": embeddings,
        }
        return {
            "name": "ref-512",
            "joeynmt_version": "2.3.0",
            "model_dir": str(folder / "model"),
            "use_cuda": False,
            "random_seed": seed,
            "data": {
                "train": str(text.folder / "train"),
                "dev": str(text.folder / "val"),
                "dataset_type": "plain",
                **sides,
                "special_symbols": {
                    **{f"{name}_token": mark for name, mark in MARKS.items()},
                    **{f"{name}_id": number for number, name in enumerate(MARKS)},
                },
            },
            "testing": {
                "batch_size": setting.sentences,
                "batch_type": "sentence",
                "eval_metrics": ["bleu"],
                "sacrebleu_cfg": {"tokenize": "none"},
                "beam_size": 5,
                "beam_alpha": 1.0,
                "max_output_length": 50,
            },
            "training": {
                "optimizer": "adam",
                "learning_rate": 0.001,
                # 2.3.0 fails without a schedule, and "plateau" fails from torch 2.7 on: a factor of 1.
                "scheduling": "exponential",
                "decrease_factor": 1.0,
                "learning_rate_min": 0.0,
                "clip_grad_norm": 5.0,
                "normalization": "tokens",
                "batch_size": setting.sentences,
                "batch_type": "sentence",
                "shuffle": True,
                "epochs": 1000,
                "updates": updates,
                "validation_freq": 1_000_000,
                "logging_freq": EVERY,
                "overwrite": True,
            },
            "model": {
                "initializer": "xavier_uniform",
                "embed_initializer": "normal",
                "embed_init_weight": 0.1,
                "encoder": {**network, "hidden_size": setting.hidden // 2, "bidirectional": True},
                "decoder": {
                    **network,
                    "hidden_size": setting.hidden,
                    "hidden_dropout": setting.dropout,
                    "input_feeding": setting.feeds,
                    "init_hidden": "bridge",
                    "attention": SCORERS[setting.scorer],
                },
            },
        }
