"""`attnlab prepare`: what cells read is made once, beforehand, and the cells make nothing new."""

from typing import Any

from attnlab import prepare
from attnlab.sweep import compose

TINY = [
    *("data.train_pairs=80", "data.val_pairs=8", "data.test_pairs=12", "data.max_words=8"),
    *("data.vocabulary=20", "data.batch_tokens=200", "data.cache_dir=cache"),
]
CELL = [
    *("encoder.hidden_size=8", "decoder.hidden_size=8", "model.embedding_size=8", "search.beam_size=1"),
    *("trainer.max_epochs=1", "trainer.accelerator=cpu", "metrics.bootstrap.samples=2", "logger=none"),
]


def configs(*overrides: str) -> list[dict[str, Any]]:
    with compose.composing() as loader:
        return prepare.cells(loader, list(overrides))


def entries(folder: Any) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.glob("*/*") if path.suffix != ".lock"}


def test_cells_that_read_alike_are_prepared_once_and_a_second_time_there_is_nothing_to_do(
    tmp_path: Any, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = configs("scorer=dot,general", "tokenizer.min_frequency=1,2", "seed=1,2", *TINY)
    assert len(wanted) == 8
    made = prepare.prepare(wanted)
    told = capsys.readouterr().out
    assert "[1/2]" in told and "[2/2]" in told and "[3/" not in told
    assert {path.parent.name for path in made} == {"tokenizers", "encoded", "overlap"}
    before = entries(tmp_path / "cache")
    assert prepare.prepare(wanted) == []
    assert capsys.readouterr().out.count("nothing to do") == 2
    assert entries(tmp_path / "cache") == before


def test_a_study_with_a_file_is_taken_as_train_takes_it(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "experiments" / "two" / "study.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("grids: [{tokenizer.min_frequency: [1, 3]}]\nseeds: [1, 2]\n")
    found = configs("study=two", *TINY)
    assert [one["tokenizer"]["min_frequency"] for one in found] == [1, 1, 3, 3]
    assert len(prepare.distinct(found)) == 2


def test_a_cell_after_it_makes_nothing_new(real_command: Any) -> None:
    done = real_command("prepare", "-m", "scorer=dot,general", *TINY)
    assert done.returncode == 0, done.stderr
    assert real_command.folders() == ["cache"]  # nothing was trained
    before = entries(real_command.folder / "cache")
    assert before
    trained = real_command("train", "scorer=dot", *TINY, *CELL)
    assert trained.returncode == 0, trained.stderr
    assert entries(real_command.folder / "cache") == before


def test_what_cannot_be_prepared_is_told_in_a_line(command: Any) -> None:
    for words in (
        ["scorer=dot", "decoder.hidden_size=100"],
        ["scorer=nothing"],
        ["--resume"],
        ["data=files"],
    ):
        done = command("prepare", *words)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith("attnlab: ")
