"""Two gloo processes on the CPU against one. Every process has a deadline and is killed at it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import attnlab
from attnlab import build

HERE = Path(__file__).parent
DEADLINE = 240
TINY = [
    *(
        "data.train_pairs=60",
        "data.val_pairs=7",
        "data.test_pairs=5",
        "data.max_words=8",
        "data.vocabulary=20",
    ),
    *("data.batch_tokens=200", "tokenizer.min_frequency=1", "encoder.hidden_size=8", "decoder.hidden_size=8"),
    *("scorer.units=4", "model.embedding_size=8", "model.dropout=0.0", "optim.lr=0.02", "search.beam_size=2"),
    *("trainer.max_epochs=2", "trainer.accelerator=cpu", "metrics.bootstrap.samples=0"),
]

pytestmark = pytest.mark.ddp


def start(*arguments, cwd, **more):
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("WANDB", "SLURM"))}
    paths = os.pathsep.join([str(HERE.parents[1] / "src"), inherited.get("PYTHONPATH", "")])
    environment = {**inherited, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **more}
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def finish(process):
    """Its output; a group of processes that hangs is killed, children too."""
    try:
        output, _ = process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        pytest.fail(f"no end after {DEADLINE} s:\n{output[-3000:]}")
    assert process.returncode == 0, output[-3000:]
    return output


def test_the_objective_is_the_loss_over_the_tokens_of_both_ranks(tmp_path):
    store = tmp_path / "store"
    processes = [start(HERE / "objective.py", rank, store, cwd=tmp_path) for rank in range(2)]
    lines = [finish(process).strip().splitlines()[-1] for process in processes]
    mine = [float(line.split()[0]) for line in lines]
    assert sum(mine) / 2 == pytest.approx(1.3, abs=1e-6)  # 13 nats over 10 tokens; a mean of means is 2.5
    assert [line.split(" ", 1)[1] for line in lines] == ["[0, 1] [0, 1]", "[0, 1] None"]


def test_a_batch_split_over_two_processes_gives_the_same_step(tmp_path):
    weights = []
    for devices in (1, 2):
        out = tmp_path / f"{devices}.pt"
        finish(start(HERE / "step.py", devices, out, cwd=tmp_path))
        weights.append(torch.load(out, weights_only=True))
    one, two = weights
    assert one.keys() == two.keys() and len(one) > 10
    for name in one:
        torch.testing.assert_close(two[name], one[name], rtol=0, atol=1e-6, msg=name)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A cell trained on two processes, and its log."""
    top = tmp_path_factory.mktemp("two")
    output = finish(
        start(
            "-m",
            "attnlab.train",
            *TINY,
            "trainer.devices=2",
            "logger=[csv,wandb]",
            f"out={top}/out",
            cwd=top,
            ATTNLAB_CACHE=f"{top}/cache",
            NETRC=f"{top}/none",
            WANDB_CONFIG_DIR=f"{top}/w",
            WANDB_CACHE_DIR=f"{top}/w",
        )
    )
    (folder,) = (top / "out").glob("runs/*/seed1")
    return folder, output


def test_a_run_on_two_processes_leaves_one_record_one_log_and_one_wandb_run(two):
    folder, _ = two
    assert [p.parent for p in folder.parents[2].rglob("result.json")] == [folder]
    assert len(list(folder.rglob("*.wandb"))) == 1
    record = json.loads((folder / "result.json").read_text())
    assert record["machine"]["count"] == 2
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    steps = [row["step"] for row in rows if "val/bleu" in row]
    assert len(steps) == len(set(steps)) == 2
    assert sum("test/test/bleu" in row for row in rows) == 1
    # The attention of the four first test sentences, drawn on the generated language without being asked.
    assert len(list(folder.glob("wandb/offline-run-*/files/media/images/attention/test/*.png"))) == 4


def test_two_processes_say_nothing_that_is_no_news(two):
    _, output = two
    assert "val/bleu" in output
    assert [line for line in output.splitlines() if "Warning" in line or "sync_dist" in line] == []


def test_the_bleu_that_two_processes_choose_by_is_that_of_one_process(two, monkeypatch):
    folder, _ = two
    monkeypatch.setenv("ATTNLAB_CACHE", f"{folder.parents[3]}/cache")
    record = json.loads((folder / "result.json").read_text())
    rows = build.build_data(record["config"]).rows("val")
    loaded = attnlab.load(folder, device="cpu")
    hypotheses = loaded.translate(rows["source"][:], beam_size=1)
    score = build.build_metrics(record["config"]).corpus_bleu(hypotheses, rows["target"][:])["score"]
    assert record["val"]["sentences"] == len(rows) == 7
    assert record["val"]["bleu"] == pytest.approx(score)


def test_five_sentences_are_scored_as_five_and_as_one_process_scores_them(two):
    folder, _ = two
    together = json.loads((folder / "result.json").read_text())["test"]["test"]
    finish(
        start(
            "-m",
            "attnlab.evaluate",
            folder,
            "--name",
            "alone",
            cwd=folder,
            ATTNLAB_CACHE=f"{folder.parents[3]}/cache",
        )
    )
    alone = json.loads((folder / "evaluations" / "alone.json").read_text())["test"]["test"]
    assert together["n"] == alone["n"] == 5
    assert together["perplexity"] == pytest.approx(alone["perplexity"], rel=1e-6)
    for score in ("bleu", "chrf", "ter"):
        assert together[score] == alone[score]
    texts = [(folder / part / "test" / "hyp.txt").read_text() for part in ("test", "evaluations/alone")]
    assert texts[0] == texts[1] and texts[0].count("\n") == 5
    assert together["alignment"] == alone["alignment"]
