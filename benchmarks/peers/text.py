"""The text that all toolkits read: tokenised once, with one word vocabulary a language."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from peers.records import Text

SPLITS = {"train": "train", "val": "val", "test": "test_2016_flickr"}
"""Our names of the splits, and the published ones of Multi30k."""
MIN_FREQUENCY = 2
PLAIN = "white space and punctuation"


def prepare(
    data: Path, folder: Path, pythons: Iterable[Path] = (), languages: tuple[str, str] = ("de", "en")
) -> Text:
    """Lower-cases and tokenises the files of `data`, and counts their words.

    The tokens are Moses' where one of the interpreters has sacremoses (JoeyNMT's environment does), else
    words and single signs. Words seen once in training are left out of the vocabulary.

    Args:
        data: holds `train.de`, `val.de`, `test_2016_flickr.de` and the English ones, plain or `.gz`.
        folder: where the text is written; what lies there from the same files is used again.
        pythons: interpreters to ask for sacremoses, after our own.
        languages: source and target.

    Raises:
        FileNotFoundError: a file of `data` is missing.
    """
    moses = next((python for python in (Path(sys.executable), *pythons) if _has_moses(python)), None)
    told = f"sacremoses {_has_moses(moses)}" if moses else PLAIN
    files = {(split, each): _file(data, f"{SPLITS[split]}.{each}") for split in SPLITS for each in languages}
    key = {"tokeniser": told, "files": {path.name: path.stat().st_size for path in files.values()}}
    note = folder / "text.json"
    if note.exists() and (kept := json.loads(note.read_text())) and kept["key"] == key:
        return Text(folder, *languages, told, kept["words"])
    folder.mkdir(parents=True, exist_ok=True)
    words: dict[str, int] = {}
    for language in languages:
        for split in SPLITS:
            lines = [line.lower() for line in _lines(files[split, language])]
            tokens = _moses(moses, language, lines) if moses else [split_plainly(line) for line in lines]
            path = folder / f"{split}.{language}"
            path.write_text("".join(f"{line}\n" for line in tokens), encoding="utf-8")
            if split == "train":
                kept_words = vocabulary(tokens)
                words[language] = len(kept_words)
                path = folder / f"vocabulary.{language}"
                path.write_text("".join(f"{word}\n" for word in kept_words), encoding="utf-8")
    note.write_text(json.dumps({"key": key, "words": words}, indent=1) + "\n")
    return Text(folder, *languages, told, words)


def vocabulary(lines: Iterable[str]) -> list[str]:
    """Words seen at least `MIN_FREQUENCY` times, the most frequent first, then by the alphabet."""
    counts = Counter(word for line in lines for word in line.split())
    kept = [(-count, word) for word, count in counts.items() if count >= MIN_FREQUENCY]
    return [word for _, word in sorted(kept)]


def split_plainly(line: str) -> str:
    """Words and single signs, one space between them."""
    return " ".join(re.findall(r"\w+|[^\w\s]", line))


def _file(data: Path, name: str) -> Path:
    for path in (data / name, data / f"{name}.gz"):
        if path.exists():
            return path
    raise FileNotFoundError(
        f"{data}: no {name} and no {name}.gz; --data names the folder of Multi30k's files"
    )


def _lines(path: Path) -> list[str]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return [line.strip() for line in text.strip("\n").split("\n")]


def _has_moses(python: Path) -> str:
    """The version of sacremoses under an interpreter; empty where there is none."""
    ask = "import sacremoses; from importlib.metadata import version; print(version('sacremoses'))"
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _moses(python: Path, language: str, lines: list[str]) -> list[str]:
    script = Path(__file__).with_name("moses.py")
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        [python, script, language], input=text, capture_output=True, encoding="utf-8", check=True
    )
    return done.stdout.removesuffix("\n").split("\n")
