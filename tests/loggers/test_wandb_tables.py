"""Translations as W&B tables: sent once, kept whole, shown only where that is allowed."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from attnlab.errors import UserError
from attnlab.loggers import Sample, WandbLogger, media

from ..wandb_files import Offline
from .conftest import keyless
from .runs import FACTS, RESULT, SHOWN, Server

KEY = "samples/validation"


def validated(logger, update, count=5, new=True):
    """A validation as the training module tells it, or as a replayed row."""
    if new:
        shown = [Sample(i, f"source {i}", f"at {update:04d}", f"reference {i}") for i in range(count)]
        logger.log_samples(shown, step=update)
    logger.log_metrics({"val/loss": 1.0, "val/bleu": 2.0}, step=update)


def rows_of(update, count=5):
    return [[update, i, f"source {i}", f"at {update:04d}", f"reference {i}"] for i in range(count)]


@pytest.fixture(scope="module")
def hundred(tmp_path_factory):
    top = tmp_path_factory.mktemp("hundred")
    with pytest.MonkeyPatch.context() as patch:
        keyless(patch, top)
        logger = WandbLogger(top / "run", SHOWN)
        for update in range(1, 101):
            validated(logger, update)
        logger.log_evaluation("test", RESULT)
        logger.log_translations("test", ["a"], ["b"], ["c"])
        logger.close(0)
    return Offline(top / "run")


def test_a_hundred_validations_send_each_of_their_five_hundred_rows_once_and_never_more_at_a_time(hundred):
    everything = [row for update in range(1, 101) for row in rows_of(update)]
    increments = hundred.tables(KEY)
    assert [len(rows) for rows in increments] == [5] * 100
    assert [row for rows in increments for row in rows] == everything
    assert hundred.tables(f"{KEY}/all") == [everything]
    assert [json.loads(Path(p).read_text())["data"] for p in hundred.staged(f".{KEY}.table")] == increments
    # What a log costs: its row of the history, and the file of the increment.
    sizes = [r.history.ByteSize() for r in hundred.records if r.HasField("history")][:100]
    assert max(sizes[media.INCREMENTS :]) - min(sizes[media.INCREMENTS :]) < 100
    staged = [Path(path).stat().st_size for path in hundred.staged(f".{KEY}.table")]
    assert max(staged[media.INCREMENTS :]) - min(staged[media.INCREMENTS :]) < 100


def test_translations_are_in_the_row_of_their_validation(hundred):
    row = hundred.history[6]
    assert (row["trainer/step"], row["val/bleu"], row[f"{KEY}/nrows"]) == (7, 2.0, 35)
    assert row[f"{KEY}/log_mode"] == "INCREMENTAL"


def test_a_test_set_of_3003_sentences_is_a_table_of_3003_rows(offline, tmp_path):
    texts = [[f"{side} {i}" for i in range(3003)] for side in ("source", "hypothesis", "reference")]
    logger = WandbLogger(tmp_path, SHOWN)
    logger.log_translations("newstest2014", *texts)
    logger.close(0)
    log = Offline(tmp_path)
    (rows,) = log.tables("translations/newstest2014")
    assert rows == [[i, 2, f"source {i}", f"hypothesis {i}", f"reference {i}"] for i in range(3003)]
    (artifact,) = log.staged("translations/newstest2014")  # what W&B shows
    assert json.loads(Path(artifact).read_text())["data"] == rows


def test_the_cut_of_a_longer_table_is_in_its_name(offline, monkeypatch):
    import wandb

    assert media.MOST <= wandb.Table.MAX_ROWS
    monkeypatch.setattr(media, "MOST", 3)
    ((key, table),) = media.table("translations/t", ["n"], [[i] for i in range(5)]).items()
    assert (key, table.data) == ("translations/t/first_3_of_5", [[0], [1], [2]])
    ((key, table),) = media.table("translations/t", ["n"], [[i] for i in range(3)]).items()
    assert (key, len(table.data)) == ("translations/t", 3)


@pytest.mark.parametrize("facts", [FACTS, replace(SHOWN, config={"data": {"show_samples": False}})])
def test_sentences_that_may_not_be_shown_are_in_no_table_and_no_file(offline, tmp_path, monkeypatch, facts):
    server = Server()
    monkeypatch.setattr("wandb.init", server.init)
    logger = WandbLogger(tmp_path, facts, mode="online")
    assert logger.samples == 0  # what the training module asks
    validated(logger, 1)
    logger.log_translations("test", ["source"], ["hypothesis"], ["reference"])
    assert [sorted(row) for row in server.rows] == [["trainer/step", "val/bleu", "val/loss"]]
    assert not (tmp_path / "wandb" / "samples.jsonl").exists()


def test_how_many_are_shown_is_an_option_and_none_is_one_too(offline, tmp_path, monkeypatch):
    server = Server()
    monkeypatch.setattr("wandb.init", server.init)
    logger = WandbLogger(tmp_path, SHOWN, mode="online", samples=0, translations=False)
    assert logger.samples == 0
    validated(logger, 1, new=False)
    logger.log_translations("test", ["source"], ["hypothesis"], ["reference"])
    assert len(server.rows) == 1 and KEY not in server.rows[0]
    for options in ({"samples": -1}, {"finish_timeout": 0}):
        with pytest.raises(UserError, match=r"logger\.wandb\."):
            WandbLogger(tmp_path, SHOWN, **options)


def attempts(logger_of):
    """A run that is killed behind its third validation, goes on from the second, and again from there."""
    told = [[(10, True), (20, True), (30, True)], [(10, False), (20, False)]]
    told += [[(10, False), (20, False), (30, True), (40, True)]]
    for attempt in told:
        logger = logger_of()
        for update, new in attempt:
            validated(logger, update, count=2, new=new)
    return logger


def test_a_run_that_goes_on_has_the_translations_of_all_its_validations_offline(offline, tmp_path):
    made = []

    def logger_of():
        if made:
            made[-1].close(1)
        made.append(WandbLogger(tmp_path, SHOWN))
        return made[-1]

    logger = attempts(logger_of)
    logger.log_translations("test", [], [], [])
    logger.close(0)
    log = Offline(tmp_path)
    expected = [rows_of(update, 2) for update in (10, 20, 30, 40)]
    assert log.tables(KEY) == expected
    assert log.tables(f"{KEY}/all") == [[row for rows in expected for row in rows]]
    assert {path.rpartition("/")[0] for path in log.staged("")} == {
        str(tmp_path / "wandb" / "data" / "artifacts" / "staging")
    }
    staged = list((tmp_path / "wandb" / "data" / "artifacts" / "staging").iterdir())
    assert len(staged) == 2 * 5  # of the last attempt alone; W&B makes each file twice


def test_a_run_that_goes_on_online_sends_no_translation_twice(offline, tmp_path, monkeypatch):
    server = Server()
    monkeypatch.setattr("wandb.init", server.init)
    logger = attempts(lambda: WandbLogger(tmp_path, SHOWN, mode="online"))
    tables = [(row["trainer/step"], row[KEY]) for row in server.rows]
    assert [update for update, _ in tables] == [10, 20, 30, 40]
    assert tables[3][1].data == rows_of(40, 2)  # the table of the third attempt holds what it alone sends
    logger.log_translations("test", [], [], [])
    assert [row[0] for row in server.rows[4][f"{KEY}/all"].data] == [10, 10, 20, 20, 30, 30, 40, 40]


def test_a_line_cut_short_takes_no_other_with_it(tmp_path, caplog):
    path = tmp_path / "samples.jsonl"
    first = media.Samples(path)
    for update in (1, 2):
        first.noted(update, [Sample(0, "s", f"at {update}", "r")])
    path.write_bytes(path.read_bytes()[:-20])
    again = media.Samples(path)
    assert [again.noted(update, None) for update in (1, 2)] == [[[1, 0, "s", "at 1", "r"]], []]
    assert caplog.text.count("left out") == 1


def test_all_that_the_record_names_lies_in_the_run_folder_and_moves_with_it(hundred, tmp_path):
    top = hundred.files.parents[2]
    names = [Path(path) for path in hundred.staged("")]
    names += [hundred.files / row[key] for row in hundred.history for key in row if key.endswith("/path")]
    assert len(names) == 2 * 104  # a hundred increments, all of them, translations, two tables of lengths
    inside = [path.resolve().relative_to(top.resolve()) for path in names]
    assert not (top.parent / "home").exists()
    shutil.copytree(top, tmp_path / "moved")
    assert all((tmp_path / "moved" / path).is_file() for path in inside)
    lines = (tmp_path / "moved" / "wandb" / "samples.jsonl").read_text().splitlines()
    kept = [json.loads(line) for line in lines]
    assert [one["update"] for one in kept] == list(range(1, 101))
