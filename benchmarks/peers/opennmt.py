"""OpenNMT-py 3.5.1."""

from __future__ import annotations

import json
import re
from pathlib import Path

from peers.base import EVERY, Peer
from peers.records import Setting, Text

SCORERS = {"additive": "mlp", "general": "general"}
REPORT = re.compile(r"Step\s+(\d+)/.*?;\s*\d+/\s*(\d+) tok/s")
SPEED = re.compile(r"Tokens per second: ([\d.]+)")


class OpenNMT(Peer):
    """With feeding a loop over the steps, else one library call; `mlp` projects the keys at each step."""

    kind, title, distribution, batching = "opennmt", "OpenNMT-py", "OpenNMT-py", "4,096 pairs by source"

    def training(
        self, setting: Setting, text: Text, folder: Path, *, updates: int, seed: int, keep: bool
    ) -> list[str]:
        """`onmt.bin.train` with a configuration."""
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
            "vocab_size_multiple": 1,
            "save_model": str(folder / "model"),
            "keep_checkpoint": 1,
            "save_checkpoint_steps": updates,
            "train_steps": updates,
            "report_every": EVERY,
            "seed": seed,
            "encoder_type": "brnn",
            "decoder_type": "rnn",
            "rnn_type": "LSTM",
            "enc_layers": 1,
            "dec_layers": 1,
            "hidden_size": setting.hidden,
            "src_word_vec_size": setting.embedding,
            "tgt_word_vec_size": setting.embedding,
            "global_attention": SCORERS[setting.scorer],
            "input_feed": int(setting.feeds),
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
            "model_dtype": "fp32",
        }
        config = folder / "train.yaml"
        config.write_text(json.dumps(options, indent=1), encoding="utf-8")  # JSON is YAML
        return ["-W", "ignore", "-m", "onmt.bin.train", "-config", str(config)]

    def report(self, line: str) -> tuple[int, float] | None:
        """`Step 10/ 600; ...; 1523/1496 tok/s; 5 sec;`: source and target tokens a second of the window."""
        found = REPORT.search(line)
        return (int(found[1]), float(found[2])) if found else None

    def checkpoint(self, folder: Path) -> Path:
        """The newest."""
        return next(iter(sorted(folder.glob("model_step_*.pt"))), folder / "model.pt")

    def searching(
        self, setting: Setting, text: Text, folder: Path, source: Path, *, beam: int, batch: int, length: int
    ) -> list[str]:
        """`onmt.bin.translate`; at `max_length` an output ends without an end mark, one token a step."""
        options = {
            "model": self.checkpoint(folder),
            "src": source,
            "output": folder / "outputs",
            "beam_size": beam,
            "batch_size": batch,
            "batch_type": "sents",
            "min_length": length,
            "max_length": length,
            "max_length_ratio": 0,
        }
        words = [word for name, value in options.items() for word in (f"-{name}", str(value))]
        # A beam of 1 has code of its own, which is asked for by drawing from the best 1.
        greedy = ["-random_sampling_topk", "1"] if beam == 1 else []
        return ["-W", "ignore", "-m", "onmt.bin.translate", *words, *greedy, "-report_time"]

    def seconds(self, lines: list[str], tokens: int) -> float:
        """From the tokens a second: the seconds are printed with one decimal only."""
        return tokens / float(SPEED.findall("\n".join(lines))[-1])

    def outputs(self, folder: Path, lines: list[str]) -> list[int]:
        """Words of each line."""
        text = (folder / "outputs").read_text(encoding="utf-8")
        return [len(line.split()) for line in text.removesuffix("\n").split("\n")]
