"""Eole 0.6.4, the successor of OpenNMT-py."""

from __future__ import annotations

import json
import re
from pathlib import Path

from peers.base import EVERY
from peers.opennmt import SCORERS, OpenNMT
from peers.records import Setting, Text

TOOK = re.compile(r"(?:Step 0 time|Subsequent prediction time including all) \(s\): ([\d.]+)")


class Eole(OpenNMT):
    """OpenNMT-py's loops; its encoder runs over padding."""

    kind, title, distribution, batching = "eole", "Eole", "eole", "4,096 pairs by source"

    def training(
        self, setting: Setting, text: Text, folder: Path, *, updates: int, seed: int, keep: bool
    ) -> list[str]:
        """`eole train` with a configuration."""
        layers = {"rnn_type": "LSTM", "layers": 1, "hidden_size": setting.hidden}
        options = {
            "data": {
                "all": {
                    "path_src": str(text.path("train", text.source)),
                    "path_tgt": str(text.path("train", text.target)),
                    "transforms": [],
                }
            },
            "save_data": str(folder / "data"),
            "src_vocab": str(text.vocabulary(text.source)),
            "tgt_vocab": str(text.vocabulary(text.target)),
            "share_vocab": False,
            "vocab_size_multiple": 1,
            "seed": seed,
            "report_every": EVERY,
            "model": {
                "architecture": "custom",  # "rnn" refuses two directions
                "hidden_size": setting.hidden,
                "input_feed": int(setting.feeds),
                "embeddings": {
                    "src_word_vec_size": setting.embedding,
                    "tgt_word_vec_size": setting.embedding,
                },
                "encoder": {"encoder_type": "brnn", **layers},
                "decoder": {"decoder_type": "rnn", "global_attention": SCORERS[setting.scorer], **layers},
            },
            "training": {
                "model_path": str(folder / "model"),
                "keep_checkpoint": 1,
                "save_checkpoint_steps": updates,
                "train_steps": updates,
                "dropout": [setting.dropout],
                "batch_type": "sents",
                "batch_size": setting.sentences,
                "bucket_size": 4096,
                "num_workers": 0,
                "accum_count": [1],
                "normalization": "tokens",
                "optim": "adam",
                "learning_rate": 0.001,
                "decay_method": "none",
                "start_decay_steps": 1_000_000,
                "max_grad_norm": 5,
                "compute_dtype": "fp32",
            },
        }
        config = folder / "train.yaml"
        config.write_text(json.dumps(options, indent=1), encoding="utf-8")
        return ["-W", "ignore", "-m", "eole.bin.main", "train", "-config", str(config)]

    def checkpoint(self, folder: Path) -> Path:
        """A folder with the weights."""
        return folder / "model"

    def searching(
        self, setting: Setting, text: Text, folder: Path, source: Path, *, beam: int, batch: int, length: int
    ) -> list[str]:
        """`eole predict`."""
        options = {
            "model_path": self.checkpoint(folder),
            "src": source,
            "output": folder / "outputs",
            "beam_size": beam,
            "batch_size": batch,
            "batch_type": "sents",
            "min_length": length,
            "max_length": length,
            "max_length_ratio": 0,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        return ["-W", "ignore", "-m", "eole.bin.main", "predict", *words, "--report_time"]

    def seconds(self, lines: list[str], tokens: int) -> float:
        """Both parts: the encoder with the first step, and the rest, which its tokens a second are of."""
        return sum(float(part) for part in TOOK.findall("\n".join(lines)))
