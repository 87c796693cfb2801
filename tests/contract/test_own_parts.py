"""docs/own_parts.md as a reader follows it: the scorer's file, the check, and a training with it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "own_parts.md"
SMALL = [
    *("trainer.max_epochs=1", "trainer.accelerator=cpu", "encoder.hidden_size=8", "decoder.hidden_size=8"),
    *("model.embedding_size=8", "data.train_pairs=60", "data.val_pairs=4", "data.test_pairs=4"),
    *("data.max_words=8", "data.cache_dir=cache", "logger=none"),
]


def block(language: str, words: str) -> str:
    """The fenced block of the document that holds these words."""
    blocks = re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [text for text in blocks if words in text]
    return found


@pytest.fixture
def reader(real_command: Any) -> Any:
    """A folder with the document's two files."""
    (real_command.folder / "my_scorer.py").write_text(block("python", "class Distance(Scorer)"))
    options = real_command.folder / "my_conf" / "scorer"
    options.mkdir(parents=True)
    (options / "distance.yaml").write_text(block("yaml", "_target_: my_scorer.Distance"))
    return real_command


def test_the_scorer_of_the_document_is_short_and_keeps_the_contract(reader: Any) -> None:
    code = [
        line
        for line in (reader.folder / "my_scorer.py").read_text().splitlines()
        if line and "import" not in line and '"""' not in line
    ]
    assert len(code) <= 10
    done = reader("check", "my_scorer:Distance")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_it_is_trained_from_the_command_line_and_decoded_again(reader: Any) -> None:
    done = reader("train", "scorer=general", "scorer._target_=my_scorer.Distance", *SMALL)
    assert done.returncode == 0, done.stderr
    ((name, record),) = reader.records().items()
    assert record["config"]["scorer"] == {"_target_": "my_scorer.Distance", "_partial_": True}
    done = reader("translate", f"outputs/runs/{name}", "my_scorer.py")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_it_is_trained_from_python_under_its_own_name(reader: Any) -> None:
    call = re.search(r'attnlab\.train\(\["hydra.*?\]\)', DOCUMENT.read_text(encoding="utf-8"))
    assert call is not None
    given = call.group().replace("])", f", *{SMALL}])")
    script = f"import attnlab, json\nrecord = {given}\njson.dump(record['cell'], open('cell.json', 'w'))\n"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=reader.folder,
        env=reader.environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((reader.folder / "cell.json").read_text())["scorer"] == "distance"


def test_arguments_that_the_class_does_not_take_are_one_line(reader: Any) -> None:
    done = reader("train", "scorer=additive", "scorer._target_=my_scorer.Distance", *SMALL)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert "unexpected keyword argument 'units'; leave an option out with ~GROUP.KEY" in done.stderr
    assert not (reader.folder / "outputs").exists()


def test_an_assertion_of_the_class_is_one_line(reader: Any) -> None:
    (reader.folder / "picky_scorer.py").write_text(
        "from attnlab.attention import Dot\n\n\nclass Picky(Dot):\n"
        "    def __init__(self, query_dim, key_dim):\n"
        "        super().__init__(query_dim, key_dim)\n"
        "        assert query_dim % 7 == 0, 'sizes of 7, 14, ... only'\n"
    )
    done = reader("train", "scorer=dot", "scorer._target_=picky_scorer.Picky", *SMALL)
    assert (done.returncode, done.stderr) == (2, "attnlab: sizes of 7, 14, ... only\n")
    assert not (reader.folder / "outputs").exists()
