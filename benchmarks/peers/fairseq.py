"""fairseq 0.12.2. Its LSTM has one attention, `general` with feeding."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from peers.base import EVERY, Peer
from peers.records import Setting, Text

REPORT = re.compile(r"train_inner \| (\{.*\})")
SPEED = re.compile(r"Translated [\d,]+ sentences .*, ([\d.]+) tokens/s")


class Fairseq(Peer):
    """Loops over the steps; the query is projected, so nothing is done to the keys."""

    kind, title, distribution, batching = "fairseq", "fairseq", "fairseq", "all pairs by source"

    def takes(self, setting: Setting) -> bool:
        """Feeding with `general` alone."""
        return super().takes(setting) and setting.feeds and setting.scorer == "general"

    def training(
        self, setting: Setting, text: Text, folder: Path, *, updates: int, seed: int, keep: bool
    ) -> list[str]:
        """`fairseq_cli.train` on what `fairseq_cli.preprocess` made of the text."""
        made = {"--trainpref": text.folder / "train", "--validpref": text.folder / "val"}
        self._preprocess(text, folder, made, folder / "bin")
        options = {
            "arch": "lstm",
            "encoder-embed-dim": setting.embedding,
            "encoder-hidden-size": setting.hidden // 2,
            "encoder-layers": 1,
            "decoder-embed-dim": setting.embedding,
            "decoder-hidden-size": setting.hidden,
            "decoder-layers": 1,
            "decoder-out-embed-dim": setting.hidden,
            "dropout": setting.dropout,
            "criterion": "cross_entropy",
            "optimizer": "adam",
            "lr": 0.001,
            "lr-scheduler": "fixed",
            "clip-norm": 5,
            "batch-size": setting.sentences,
            "num-workers": 0,
            "max-update": updates,
            "max-epoch": 1000,
            "save-dir": folder / "model",
            "log-format": "json",
            "log-interval": EVERY,
            "seed": seed,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        flags = ["--encoder-bidirectional", "--cpu", "--no-epoch-checkpoints", "--disable-validation"]
        return ["-W", "ignore", "-m", "fairseq_cli.train", str(folder / "bin"), *words, *flags]

    def report(self, line: str) -> tuple[int, float] | None:
        """`train_inner | {"wps": "2328.1", "num_updates": "10", ...}`: target tokens a second."""
        found = REPORT.search(line)
        if not found:
            return None
        told = json.loads(found[1])
        try:
            return int(told["num_updates"]), float(told["wps"])
        except (KeyError, ValueError):  # the first window has no speed
            return int(told.get("num_updates", 0)), 0.0

    def checkpoint(self, folder: Path) -> Path:
        """The newest."""
        return folder / "model" / "checkpoint_last.pt"

    def searching(
        self, setting: Setting, text: Text, folder: Path, source: Path, *, beam: int, batch: int, length: int
    ) -> list[str]:
        """`fairseq_cli.generate`; an output of n - 1 words takes n steps, the last of which puts the end."""
        lines = source.read_text(encoding="utf-8").count("\n")
        target = source.with_suffix(f".{text.target}")
        references = text.lines("test", text.target)[:lines]
        target.write_text("".join(f"{' '.join(line)}\n" for line in references), encoding="utf-8")
        made = folder / "some-bin"
        self._preprocess(text, folder, {"--testpref": source.with_suffix("")}, made)
        options = {
            "gen-subset": "test",
            "path": self.checkpoint(folder),
            "beam": beam,
            "batch-size": batch,
            "min-len": length - 1,
            "max-len-a": 0,
            "max-len-b": length - 1,
            "num-workers": 0,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        return ["-W", "ignore", "-m", "fairseq_cli.generate", str(made), "--cpu", *words]

    def seconds(self, lines: list[str], tokens: int) -> float:
        """Of its generation timer, which leaves the loading of batches out; from its tokens a second."""
        return tokens / float(SPEED.findall("\n".join(lines))[-1])

    def outputs(self, folder: Path, lines: list[str]) -> list[int]:
        """Words of each hypothesis and the end mark."""
        return [len(line.split("\t")[2].split()) + 1 for line in lines if line.startswith("H-")]

    def _preprocess(self, text: Text, folder: Path, prefixes: dict[str, Path], made: Path) -> None:
        """Numbers for words, by dictionaries made of the vocabularies."""
        words = [word for option, prefix in prefixes.items() for word in (option, str(prefix))]
        for option, language in (("--srcdict", text.source), ("--tgtdict", text.target)):
            path = folder / f"dict.{language}.txt"
            listed = text.vocabulary(language).read_text(encoding="utf-8").splitlines()
            path.write_text("".join(f"{word} {len(listed) - i}\n" for i, word in enumerate(listed)))
            words += [option, str(path)]
        command = [
            *(str(self.python), "-W", "ignore", "-m", "fairseq_cli.preprocess"),
            *("--source-lang", text.source, "--target-lang", text.target),
            *(*words, "--destdir", str(made), "--workers", "1"),
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"fairseq's preprocessing failed:\n{(done.stdout + done.stderr)[-1500:]}")
