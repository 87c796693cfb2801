"""The W&B logger: what an offline run holds, and what goes on online after a stop."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.loggers import Example, MetricsFile, Sample, WandbLogger, flat, scalars

from ..wandb_files import Offline
from .runs import FACTS, RESULT, SHOWN, Server

EXAMPLES = [
    Example(["a", "b"], ["x", "</s>"], np.array([[0.9, 0.1], [0.2, 0.8]], dtype=np.float32)),
    Example(["a"] * 70, ["x", "</s>"], np.full((2, 70), 1 / 70, dtype=np.float32)),
    Example(["a", "b"], ["x"] * 80, np.full((80, 2), 0.5, dtype=np.float32)),
]


@pytest.fixture
def written(offline, tmp_path, caplog):
    logger = WandbLogger(tmp_path / "run", FACTS, heatmaps=3)
    logger.log_metrics({"train/loss": 2.5}, step=10)
    logger.log_metrics({"val/loss": 2.0, "val/bleu": 12.0}, step=20)
    logger.log_evaluation("test", RESULT, EXAMPLES)
    logger.close(0)
    return Offline(tmp_path / "run"), caplog.text


def test_without_a_key_the_run_is_offline_in_its_folder_with_one_warning(written):
    assert written[1].count("no key found") == 1


def test_a_run_is_grouped_by_cell_and_named_by_cell_and_seed(written):
    run = written[0].run
    assert (run.run_group, run.job_type) == (FACTS.cell_id, "grid")
    assert run.display_name == f"{FACTS.cell_id} seed3"


def test_the_config_is_flat_enough_to_filter_by_each_axis(written):
    config = written[0].config
    axes = {name: config[name] for name in ("encoder", "scorer", "decoder", "window", "seed")}
    assert axes == {**FACTS.cell, "seed": 3}
    assert (config["optim/lr"], config["encoder/hidden_size"]) == (0.001, 8)


def test_bleu_by_length_has_an_axis_of_its_own_so_that_runs_overlay(written):
    log = written[0]
    assert log.metrics["length/test/bleu"].step_metric == "length/source"
    curve = [(r["length/source"], r["length/test/bleu"]) for r in log.history if "length/test/bleu" in r]
    assert curve == [(5.0, 40.0), (25.0, 20.0)]  # bucket centres; the empty bucket has no point


def test_the_curves_are_drawn_against_updates(written):
    log = written[0]
    rows = [r for r in log.history if "train/loss" in r or "val/bleu" in r]
    assert [(r["trainer/step"], r.get("train/loss"), r.get("val/bleu")) for r in rows] == [
        (10, 2.5, None),
        (20, None, 12.0),
    ]
    assert {log.metrics[name].step_metric for name in ("train/*", "val/*")} == {"trainer/step"}


def test_tables_are_kept_and_the_sentences_of_the_heat_maps_are_chosen_by_their_source_alone(written):
    log = written[0]
    assert [r["length/test/by_source/nrows"] for r in log.history if "length/test/by_source/nrows" in r] == [
        3
    ]
    # The second source has 70 tokens; the third hypothesis has 80, and another model's may have two.
    assert [name.partition("_")[0] for name in log.media if name.endswith(".png")] == ["0", "2"]
    assert sum(name.endswith(".table.json") for name in log.media) == 2


def test_the_final_scores_are_in_the_summary(written):
    summary = written[0].summary
    assert summary["test/test/bleu"] == 31.5
    assert summary["test/test/alignment/predicted/aer"] == 0.25


def test_a_failed_run_is_closed_as_failed(offline, tmp_path):
    logger = WandbLogger(tmp_path, FACTS)
    logger.log_metrics({"train/loss": 1.0}, step=1)
    logger.close(1)
    assert Offline(tmp_path).exit == 1


def test_two_runs_of_a_process_stay_two(offline, tmp_path):
    loggers = [WandbLogger(tmp_path / name, FACTS) for name in ("a", "b")]
    for value, logger in enumerate(loggers):
        logger.log_metrics({"train/loss": float(value)}, step=1)
    for logger in loggers:
        logger.close(0)
    seen = [[r["train/loss"] for r in Offline(tmp_path / name).history] for name in ("a", "b")]
    assert seen == [[0.0], [1.0]]


def test_an_attempt_that_goes_on_replaces_the_offline_run_of_the_last_one_under_its_id(offline, tmp_path):
    for rows in ([1, 2, 3], [1, 2], [1, 2, 3, 4]):  # the second goes on from 2, and is killed at once
        logger = WandbLogger(tmp_path, FACTS)
        for step in rows:
            logger.log_metrics({"train/loss": float(step)}, step=step)
        logger.close(1 if len(rows) < 4 else 0)
    log = Offline(tmp_path)  # unpacks the one folder there is
    assert [row["trainer/step"] for row in log.history] == [1, 2, 3, 4]
    assert log.exit == 0
    assert log.run.run_id == (tmp_path / "wandb" / "id").read_text().strip()


def test_online_the_rows_that_the_server_has_are_not_sent_again(offline, tmp_path, monkeypatch):
    server = Server()
    monkeypatch.setattr("wandb.init", server.init)
    told = [(20, "train/loss"), (20, "val/loss"), (40, "train/loss"), (40, "val/loss"), (60, "train/loss")]
    for attempt in (told[:3], told[:2], told):  # of the second, all has been sent by the first
        logger = WandbLogger(tmp_path, FACTS, mode="online")
        for step, key in attempt:
            logger.log_metrics({key: float(step)}, step=step)
    assert [(row["trainer/step"], *(key for key in row if "/loss" in key)) for row in server.rows] == told
    assert len({name for name, _ in server.asked}) == 1
    assert {resume for _, resume in server.asked} == {"allow"}


def test_the_id_is_of_the_cell_the_seed_and_the_folder_and_a_rerun_has_another(
    offline, tmp_path, monkeypatch
):
    server = Server()
    monkeypatch.setattr("wandb.init", server.init)
    again = replace(FACTS, config={**FACTS.config, "rerun": True})
    cases = [("a", FACTS), ("a", replace(FACTS, seed=4)), ("a", replace(FACTS, study="b")), ("b", FACTS)]
    for name, facts in [*cases, cases[0], ("a", again), ("a", again)]:
        shutil.rmtree(tmp_path / name, ignore_errors=True)  # nothing is left of the last attempt
        WandbLogger(tmp_path / name, facts, mode="online").begin()
    ids = [name for name, _ in server.asked]
    assert len(set(ids[:4])) == 4 and ids[4] == ids[0]
    assert len(set(ids)) == 6


def test_an_unknown_mode_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"logger\.wandb\.mode=on: must be one of online, offline, disabled"):
        WandbLogger(tmp_path, FACTS, mode="on")


def test_only_rank_zero_starts_a_run(offline, tmp_path, monkeypatch):
    from pytorch_lightning.utilities.rank_zero import rank_zero_only

    monkeypatch.setattr(rank_zero_only, "rank", 1)
    logger = WandbLogger(tmp_path / "w", SHOWN)
    jsonl = MetricsFile(tmp_path / "metrics.jsonl")
    logger.begin()
    logger.log_samples([Sample(0, "source", "hypothesis", "reference")], step=1)
    for one in (logger, jsonl):
        one.log_metrics({"train/loss": 1.0, "val/loss": 1.0}, step=1)
    logger.log_evaluation("test", RESULT)
    logger.log_translations("test", ["source"], ["hypothesis"], ["reference"])
    logger.close(0)
    assert list(tmp_path.iterdir()) == []


def test_settings_are_flattened_without_dots_and_lists_stay():
    assert flat({"a": {"b": 1, "c": {"d": [1, 2]}}, "e": None}) == {"a/b": 1, "a/c/d": [1, 2], "e": None}


def test_scores_are_named_by_set_and_settings_are_no_scores():
    assert scalars("test", RESULT) == {
        "test/test/bleu": 31.5,
        "test/test/ter": 50.0,
        "test/test/perplexity": 7.25,
        "test/test/n": 30.0,
        "test/test/alignment/predicted/aer": 0.25,
        "test/test/alignment/input/aer": 0.5,
        "test/test/alignment/search/predicted/aer": 0.125,
        "test/test/alignment/search/predicted/n": 3.0,
    }
