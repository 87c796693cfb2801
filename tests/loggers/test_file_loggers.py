"""The loggers that write files of the run folder."""

import csv as csv_module
import json

from attnlab.loggers import MetricsFile, csv, tensorboard

from .runs import FACTS


def test_metrics_jsonl_has_a_line_a_row_and_null_for_what_json_cannot_say(tmp_path):
    log = MetricsFile(tmp_path / "metrics.jsonl")
    log.log_metrics({"train/loss": 1.5}, step=1)
    log.log_metrics({"val/loss": float("nan")}, step=2)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines == [{"step": 1, "train/loss": 1.5}, {"step": 2, "val/loss": None}]


def test_metrics_jsonl_goes_on_where_it_is_not_fresh(tmp_path):
    for step in (1, 2):
        MetricsFile(tmp_path / "m.jsonl", fresh=False).log_metrics({"train/loss": 1.5}, step=step)
    assert [json.loads(line)["step"] for line in (tmp_path / "m.jsonl").read_text().splitlines()] == [1, 2]


def test_the_csv_table_has_a_column_a_metric_and_starts_afresh(tmp_path):
    for attempt in (1.0, 2.0):
        log = csv(tmp_path, FACTS)
        log.log_metrics({"train/loss": attempt}, step=1)
        log.log_metrics({"val/bleu": 3.0}, step=2)
    with (tmp_path / "csv" / "metrics.csv").open() as file:
        rows = list(csv_module.DictReader(file))
    assert [(r["step"], r["train/loss"], r["val/bleu"]) for r in rows] == [("1", "2.0", ""), ("2", "", "3.0")]


def test_tensorboard_events_can_be_read_back(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = tensorboard(tmp_path, FACTS)
    log.log_metrics({"val/bleu": 3.0}, step=7)
    log.finalize("success")
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(e.step, e.value) for e in events.Scalars("val/bleu")] == [(7, 3.0)]
