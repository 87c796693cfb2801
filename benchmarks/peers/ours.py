"""`attnlab train` itself, on the same text."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from peers.base import EVERY, Toolkit
from peers.records import Setting, Text

REPORT = re.compile(r"^speed (\d+) ([\d.]+)$")
SPEAKING = """speaking:
  _target_: speaking.Speaking
  _partial_: true
"""
PRECISIONS = {"fp32": "32-true", "bf16": "bf16-mixed"}


class Ours(Toolkit):
    """The framework, in one precision.

    Args:
        precision: `fp32` or `bf16`.
        more: further overrides of the command line.
    """

    title, batching = "attnlab", "all pairs by target"

    def __init__(self, precision: str = "fp32", more: tuple[str, ...] = ()) -> None:
        super().__init__(Path(sys.executable), f"attnlab {precision}")
        self.precision, self.more = precision, more

    def training(
        self, setting: Setting, text: Text, folder: Path, *, updates: int, seed: int, keep: bool
    ) -> list[str]:
        """`attnlab train`, with one logger more, which prints what the run logs."""
        options = folder / "conf" / "logger"
        options.mkdir(parents=True)
        (options / "speaking.yaml").write_text(SPEAKING, encoding="utf-8")
        overrides = [
            *("data=files", f"data.dir={text.folder}", f"data.source={text.source}"),
            *(f"data.target={text.target}", f"data.cache_dir={text.folder / 'cache'}"),
            *("data.batch_tokens=null", f"data.batch_sentences={setting.sentences}"),
            *("tokenizer=word", "tokenizer.split_punctuation=false"),  # the same words as the peers'
            *("encoder=bilstm", f"encoder.hidden_size={setting.hidden}"),
            *(f"decoder={setting.order}", f"decoder.hidden_size={setting.hidden}"),
            *(f"scorer={setting.scorer}", f"model.embedding_size={setting.embedding}"),
            *(f"model.dropout={setting.dropout}", "optim=adam", "trainer.gradient_clip_val=5"),
            *("trainer.max_epochs=-1", f"trainer.max_steps={updates}"),
            *("trainer.accelerator=cpu", f"trainer.precision={PRECISIONS[self.precision]}"),
            *(f"trainer.threads={setting.threads}", "trainer.enable_progress_bar=false"),
            *(f"trainer.log_every_n_steps={EVERY}", "logger=speaking"),
            *(f"seed={seed}", "rerun=true", f"hydra.run.dir={folder / 'run'}", *self.more),
        ]
        return ["-m", "attnlab.cli", "train", *overrides, "--config-dir", str(folder / "conf")]

    def variables(self) -> dict[str, str]:
        """So that the logger is found, and nothing else of ours takes the place of another module."""
        here = str(Path(__file__).resolve().parent / "hooks")
        return {"PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}

    def report(self, line: str) -> tuple[int, float] | None:
        """A line of `speaking`: `train/tokens_per_s`, target tokens a second since the last one."""
        found = REPORT.match(line)
        return (int(found[1]), float(found[2])) if found else None
