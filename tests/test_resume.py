"""Runs that are stopped and go on: the end is that of a run that nothing happened to."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hydra import compose as hydra_compose
from safetensors.torch import load_file

from attnlab import checkpoints, resume, run
from attnlab.errors import UserError
from attnlab.sweep import compose
from attnlab.training import TranslationModule

from .wandb_files import Offline

TINY = [
    *("data.train_pairs=60", "data.val_pairs=6", "data.test_pairs=4", "data.max_words=8"),
    *("data.vocabulary=20", "data.batch_tokens=120", "tokenizer.min_frequency=1", "search.beam_size=2"),
    *("encoder.hidden_size=8", "decoder.hidden_size=8", "scorer.units=4", "model.embedding_size=8"),
    *("model.dropout=0.3", "optim.lr=0.02", "trainer.max_epochs=2", "trainer.accelerator=cpu"),
    *("trainer.log_every_n_steps=3", "trainer.enable_progress_bar=false", "callbacks.save_every=1"),
    *("metrics.bootstrap.samples=0", "logger=none", "metrics.length_edges=[4,6]"),
]
COSTS = ("wall_s", "device_s", "tokens_per_s", "peak_memory", "resumed_at")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr("attnlab.results.versions", dict)  # takes longer than the training
        patch.setattr("attnlab.results.code_state", lambda: {"commit": None, "dirty": None})
        yield


def settings(*overrides):
    """Plain settings of a cell, as `run_cell` takes them."""
    with compose.composing():
        config = hydra_compose("config", overrides=[*TINY, *overrides], return_hydra_config=True)
        return compose.cell_dict(config)


class Killed(BaseException):
    """Ends a run in this process as nothing of its own would."""


def stopped(config, folder, monkeypatch, update):
    """Trains until so many updates are done, with nothing said to anybody."""
    step = TranslationModule.training_step

    def cut(self, batch, batch_idx):
        if self.global_step == update:
            raise Killed
        return step(self, batch, batch_idx)

    with monkeypatch.context() as patch:
        patch.setattr(TranslationModule, "training_step", cut)
        with pytest.raises(Killed):
            run.run_cell(config, folder)


def comparable(folder):
    """What must be equal: the record less time and cost, the log, the weights, the translations."""
    record = json.loads((folder / "result.json").read_text())
    assert record["train"].pop("wall_s") > 0
    for name in ("ended", "versions", "code"):
        record.pop(name)
    for name in COSTS:
        record["train"].pop(name, None)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        row.pop("train/tokens_per_s", None)
    kept = {
        name: torch.load(folder / "checkpoints" / f"{name}.ckpt", weights_only=True)
        for name in ("last", "best")
    }
    weights = {name: one["state_dict"] for name, one in kept.items()}
    moments = kept["last"]["optimizer_states"]
    texts = {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("test/*/*.txt")}
    texts |= {str(p.relative_to(folder)): load_file(p) for p in folder.glob("test/*/*.safetensors")}
    assert len(texts) == 3
    return record, rows, weights, moments, texts, kept["last"]["attnlab"]["validations"]


def equal(one, other, where="."):
    """Bit for bit, at any depth."""
    assert type(one) is type(other), where
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other), where
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            equal(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            equal(a, b, f"{where}/{place}")
    else:
        assert one == other, where


# --- at any update ----------------------------------------------------------------------------------------

CELLS = {
    "adam, a window of the log across checkpoints": [],
    "bf16, several validations an epoch, halving by validation": [
        *("trainer.precision=bf16-mixed", "trainer.val_check_interval=2"),
        *("optim=sgd_halving", "optim.schedule.every=validation", "optim.schedule.after=2", "optim.lr=0.5"),
    ],
    "adadelta, a limit of updates within the second epoch": [
        *("optim=adadelta", "decoder=input_feeding", "trainer.max_steps=7", "trainer.max_epochs=9"),
    ],
    "stopped early by a plateau": [
        # so slow that no validation translates better than the first: ends after 2 more, whatever the rounding
        *("optim=adam_plateau", "callbacks.monitor=val/bleu", "callbacks.patience=2", "optim.lr=1e-6"),
        *("trainer.max_epochs=9", "trainer.val_check_interval=2"),
    ],
}


@pytest.fixture(scope="module", params=CELLS)
def undisturbed(request, cache, tmp_path_factory):
    config = settings(*CELLS[request.param])
    folder = tmp_path_factory.mktemp("undisturbed")
    record = run.run_cell(config, folder)
    return config, folder, record


@pytest.mark.slow
def test_stopped_behind_any_update_it_ends_as_if_nothing_had_happened(undisturbed, tmp_path, monkeypatch):
    config, folder, record = undisturbed
    updates = record["train"]["updates"]
    assert 6 <= updates < 20 and record["train"]["resumed_at"] == []
    for update in range(updates):
        again = tmp_path / str(update)
        stopped(config, again, monkeypatch, update)
        found = run.run_cell(config, again)
        assert found["train"]["resumed_at"] == ([update] if update else [])
        equal(comparable(again), comparable(folder))


# --- one cell, stopped in every other way -----------------------------------------------------------------


@pytest.fixture(scope="module")
def cell(cache, tmp_path_factory):
    """Settings of a cell with validations within its epochs, and the folder of its undisturbed run."""
    config = settings("trainer.val_check_interval=2", "logger=[csv,tensorboard]")
    folder = tmp_path_factory.mktemp("cell")
    run.run_cell(config, folder)
    return config, folder


def steps(folder):
    """The updates of the checkpoints by name."""
    place = folder / "checkpoints"
    return {p.name: torch.load(p, weights_only=True)["global_step"] for p in sorted(place.glob("*.ckpt"))}


def patched(monkeypatch, target, replacement, config, folder):
    """Runs the cell until `replacement` ends it."""
    with monkeypatch.context() as patch:
        patch.setattr(target, replacement)
        with pytest.raises(Killed):
            run.run_cell(config, folder)


def end(*args, **options):
    raise Killed


def test_stopped_three_times_it_is_still_the_same_run(cell, tmp_path, monkeypatch):
    config, folder = cell
    for update in (2, 5, 5):
        stopped(config, tmp_path, monkeypatch, update)
    assert run.run_cell(config, tmp_path)["train"]["resumed_at"] == [2, 5, 5]
    equal(comparable(tmp_path), comparable(folder))


def test_without_checkpoints_between_validations_it_goes_on_from_the_last_one(cell, tmp_path, monkeypatch):
    config, folder = cell
    rare = {**config, "callbacks": {**config["callbacks"], "save_every": None}}
    stopped(rare, tmp_path, monkeypatch, 5)
    assert steps(tmp_path)["last.ckpt"] == 4
    assert run.run_cell(rare, tmp_path)["train"]["resumed_at"] == [4]
    one, other = comparable(tmp_path), comparable(folder)
    one[0]["config"]["callbacks"]["save_every"] = 1
    equal(one, other)


def test_workers_that_fetch_ahead_fetch_the_batches_that_are_left(cell, tmp_path, monkeypatch):
    config, folder = cell
    busy = {**config, "data": {**config["data"], "workers": 2}}
    stopped(busy, tmp_path, monkeypatch, 6)  # in the second epoch: its order is not that of the first
    assert run.run_cell(busy, tmp_path)["train"]["resumed_at"] == [6]
    one, other = comparable(tmp_path), comparable(folder)
    one[0]["config"]["data"]["workers"] = 0
    equal(one, other)


def test_stopped_within_a_validation_it_validates_again(cell, tmp_path, monkeypatch):
    config, folder = cell
    patched(monkeypatch, "attnlab.training.Validation.finish", end, config, tmp_path)
    assert steps(tmp_path) == {"last.ckpt": 1}
    run.run_cell(config, tmp_path)
    equal(comparable(tmp_path), comparable(folder))


def test_stopped_within_the_test_it_trains_nothing_again(cell, tmp_path, monkeypatch):
    config, folder = cell
    patched(monkeypatch, "attnlab.evaluation.decode", end, config, tmp_path)
    updates = steps(tmp_path)["last.ckpt"]
    with monkeypatch.context() as patch:
        patch.setattr(TranslationModule, "training_step", end)
        assert run.run_cell(config, tmp_path)["train"]["resumed_at"] == [updates]
    equal(comparable(tmp_path), comparable(folder))


def test_stopped_after_the_rows_of_the_test_it_has_each_of_them_once(cell, tmp_path, monkeypatch):
    config, folder = cell
    patched(monkeypatch, "attnlab.results.build", end, config, tmp_path)
    assert "test/test/bleu" in (tmp_path / "metrics.jsonl").read_text()
    run.run_cell(config, tmp_path)
    equal(comparable(tmp_path), comparable(folder))


def test_a_checkpoint_cut_short_while_it_was_written_is_no_checkpoint(cell, tmp_path, monkeypatch):
    config, folder = cell
    save, calls = torch.save, []

    def half(content, file):
        calls.append(1)
        if len(calls) == 6:
            file.write(b"PK half of it")
            raise Killed
        save(content, file)

    patched(monkeypatch, "attnlab.checkpoints.torch.save", half, config, tmp_path)
    assert [p.name for p in (tmp_path / "checkpoints").glob(".*")]
    run.run_cell(config, tmp_path)
    assert not list((tmp_path / "checkpoints").glob(".*"))
    equal(comparable(tmp_path), comparable(folder))


def test_where_there_is_no_room_for_a_checkpoint_nothing_of_it_is_left(tmp_path, monkeypatch):
    checkpoints.write({"a": torch.ones(3)}, tmp_path / "last.ckpt")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checkpoints, "os", SimpleNamespace(fsync=full))
    with pytest.raises(UserError, match=r"last\.ckpt: cannot be written \(No space left on device\)"):
        checkpoints.write({"a": torch.zeros(3)}, tmp_path / "last.ckpt")
    assert [path.name for path in tmp_path.iterdir()] == ["last.ckpt"]
    assert torch.load(tmp_path / "last.ckpt", weights_only=True)["a"].sum() == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_told_in_the_systems_words(tmp_path):
    (tmp_path / ".partial-last.ckpt").symlink_to("/dev/full")
    with pytest.raises(UserError, match="No space left on device"):
        checkpoints.write({"a": torch.zeros(100_000)}, tmp_path / "last.ckpt")


def test_a_best_checkpoint_of_updates_that_were_lost_is_put_back(cell, tmp_path, monkeypatch):
    config, folder = cell
    stopped(config, tmp_path, monkeypatch, 3)
    best, place = steps(tmp_path)["best.ckpt"], tmp_path / "checkpoints"
    shutil.copy(folder / "checkpoints" / "best.ckpt", place / "best.ckpt")  # of a later update
    patched(monkeypatch, "attnlab.training.TranslationModule.training_step", end, config, tmp_path)
    assert best == steps(tmp_path)["best.ckpt"] == 2
    run.run_cell(config, tmp_path)
    equal(comparable(tmp_path), comparable(folder))


def test_a_truncated_checkpoint_is_passed_over_with_a_warning(cell, tmp_path, monkeypatch, caplog):
    config, folder = cell
    stopped(config, tmp_path, monkeypatch, 5)
    path = tmp_path / "checkpoints" / "last.ckpt"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert run.run_cell(config, tmp_path)["train"]["resumed_at"] == [4]
    assert any("last.ckpt" in line and "passed over" in line for line in caplog.messages)
    equal(comparable(tmp_path), comparable(folder))


def test_with_no_checkpoint_that_can_be_read_it_starts_over(cell, tmp_path, monkeypatch):
    config, folder = cell
    stopped(config, tmp_path, monkeypatch, 5)
    for path in (tmp_path / "checkpoints").glob("*.ckpt"):
        path.write_bytes(b"no checkpoint")
    assert run.run_cell(config, tmp_path)["train"]["resumed_at"] == []
    equal(comparable(tmp_path), comparable(folder))


def test_the_last_checkpoint_is_the_newest_whatever_its_suffix(cell, tmp_path, monkeypatch):
    config, folder = cell
    stopped(config, tmp_path, monkeypatch, 5)
    place = tmp_path / "checkpoints"
    (place / "last.ckpt").rename(place / "last-v1.ckpt")
    (place / "previous.ckpt").rename(place / "last.ckpt")
    assert run.run_cell(config, tmp_path)["train"]["resumed_at"] == [5]
    assert sorted(p.name for p in place.iterdir()) == ["best.ckpt", "last.ckpt"]
    equal(comparable(tmp_path), comparable(folder))


def test_a_checkpoint_of_other_settings_is_said_to_be_and_not_used(cell, tmp_path, monkeypatch, caplog):
    config, folder = cell
    other = {**config, "seed": 9, "seed_order": 9, "optim": {**config["optim"], "lr": 0.5}}
    stopped(other, tmp_path, monkeypatch, 5)
    assert run.run_cell(config, tmp_path)["train"]["resumed_at"] == []
    assert any("of other settings and seeds" in line for line in caplog.messages)
    equal(comparable(tmp_path), comparable(folder))


def test_a_rerun_starts_anew(cell, tmp_path, monkeypatch):
    config, _ = cell
    stopped(config, tmp_path, monkeypatch, 5)
    assert run.run_cell({**config, "rerun": True}, tmp_path)["train"]["resumed_at"] == []


def test_the_time_limit_counts_over_attempts(cell, tmp_path, monkeypatch):
    limited = {**cell[0], "trainer": {**cell[0]["trainer"], "max_time": "00:01:00:00"}}
    stopped(limited, tmp_path, monkeypatch, 5)
    path = tmp_path / "checkpoints" / "last.ckpt"
    kept = torch.load(path, weights_only=True)
    (timer,) = [state for state in kept["callbacks"].values() if "time_elapsed" in state]
    assert timer["time_elapsed"]["train"] > 0
    timer["time_elapsed"]["train"] += 3600
    torch.save(kept, path)
    assert run.run_cell(limited, tmp_path)["train"]["updates"] == 5


def test_what_it_cost_is_counted_over_the_attempts(cell, tmp_path, monkeypatch):
    config, _ = cell
    stopped(config, tmp_path, monkeypatch, 3)
    path = tmp_path / "progress.json"
    before = json.loads(path.read_text())
    assert (before["phase"], before["update"]) == ("training", 3)
    assert before["seconds"] >= before["training_s"] > 0
    path.write_text(json.dumps({**before, "training_s": 1000.0, "seconds": 2000.0}))
    stopped(config, tmp_path, monkeypatch, 5)
    assert json.loads(path.read_text())["seconds"] > 2000
    assert 1000 < run.run_cell(config, tmp_path)["train"]["wall_s"] < 1500
    assert not path.exists()


def test_tables_and_events_have_each_point_once(cell, tmp_path, monkeypatch):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config, folder = cell
    stopped(config, tmp_path, monkeypatch, 5)
    run.run_cell(config, tmp_path)
    tables = [(f / "csv" / "metrics.csv").read_text().splitlines() for f in (tmp_path, folder)]
    assert len(tables[0]) == len(tables[1]) > 4
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    expected = [(row["step"], row["val/loss"]) for row in rows if "val/loss" in row]
    assert [(e.step, pytest.approx(e.value)) for e in events.Scalars("val/loss")] == expected


def test_the_wandb_run_is_one_with_each_point_once(cell, tmp_path, monkeypatch):
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NETRC", "WANDB_CONFIG_DIR", "WANDB_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    config, folder = cell[0], tmp_path / "run"
    node = {"_target_": "attnlab.loggers.WandbLogger", "_partial_": True, "mode": "offline", "heatmaps": 1}
    logged = {**config, "logger": {"wandb": node}}
    ids = set()
    for update in (3, 5):
        stopped(logged, folder, monkeypatch, update)
        failed = Offline(folder)
        assert failed.exit == 1
        ids.add(failed.run.run_id)
    run.run_cell(logged, folder)
    done = Offline(folder)  # unpacks the one run there is
    assert done.exit == 0 and {*ids, done.run.run_id} == ids and len(ids) == 1
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    names = ("train/loss", "val/loss", "test/test/bleu")
    points = [
        [(row[step], name, row[name]) for row in table for name in names if name in row]
        for table, step in ((rows, "step"), (done.history, "trainer/step"))
    ]
    assert points[0] == points[1] and len(points[0]) >= 7
    assert sum(name.endswith(".png") for name in done.media) == 1
    # The translations of validations, those of earlier attempts too, and of the test set.
    validated = [row["step"] for row in rows if "val/loss" in row]
    shown = [[line[0] for line in table] for table in done.tables("samples/validation")]
    assert shown == [[step] * len(shown[0]) for step in validated] and len(shown[0]) >= 4
    (everything,) = done.tables("samples/validation/all")
    assert everything == [line for table in done.tables("samples/validation") for line in table]
    (translated,) = done.tables("translations/test")
    hypotheses = (folder / "test" / "test" / "hyp.txt").read_text().splitlines()
    assert [line[3] for line in translated] == hypotheses and len(hypotheses) == 4


# --- what it is set back to -------------------------------------------------------------------------------


def test_the_log_is_set_back_to_the_checkpoint(tmp_path):
    lines = [
        '{"step": 1, "train/loss": 0.1}',
        '{"step": 2, "train/loss": 0.30000000000000004}',
        '{"step": 2, "val/loss": null}',
        '{"step": 2, "test/test/bleu": 1.0}',
        '{"step": 3, "train/loss": 1.0}',
        '{"step": 4, "tra',
    ]
    path = tmp_path / "metrics.jsonl"
    for update, left in ((2, 3), (1, 1), (-1, 0)):
        path.write_text("\n".join(lines))
        rows = resume.rewind(path, update)
        assert path.read_text() == "".join(f"{line}\n" for line in lines[:left])
        assert rows == [json.loads(line) for line in lines[:left]]
    path.write_text("\n".join([*lines[:2], lines[-1]]))
    assert len(resume.rewind(path, 9)) == 2


@pytest.mark.parametrize("damaged", [b"\0" * 40, b"\xff\xfe", b"5", b'{"train/loss": 1.0}', b'{"step": "1"}'])
def test_a_damaged_line_of_the_log_takes_no_other_with_it(tmp_path, damaged, caplog):
    lines = [b'{"step": 1, "train/loss": 0.1}', damaged, b'{"step": 2, "train/loss": 0.3}']
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"\n".join(lines))
    assert [row["step"] for row in resume.rewind(path, 2)] == [1, 2]
    assert path.read_bytes() == b"".join(line + b"\n" for line in (lines[0], lines[2]))
    assert f"{path}, line 2: no row of a log" in caplog.text


# --- processes --------------------------------------------------------------------------------------------


def kill_when(process, ready):
    """SIGKILL to a process and those it has started, as soon as `ready()`."""
    deadline = time.monotonic() + 600
    while not ready():
        assert process.poll() is None, process.communicate()[0][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def start(out, *overrides):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "WANDB"))}
    paths = [str(Path(run.__file__).parents[1]), environment.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-m", "attnlab.train", *TINY, f"out={out}", *overrides],
        env={**environment, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(process):
    try:
        output, _ = process.communicate(timeout=900)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail(process.communicate()[0][-3000:])
    assert process.returncode == 0, output[-3000:]


def folder_of(out):
    (folder,) = Path(out).glob("runs/*/seed1") or [None]
    return folder


def seen(out, pattern):
    return lambda: any(Path(out).glob(f"runs/*/seed1/{pattern}"))


@pytest.mark.slow
def test_killed_by_the_system_it_goes_on_by_the_same_command(tmp_path):
    long = ["trainer.max_epochs=6"]
    folder = tmp_path / "undisturbed"
    run.run_cell(settings(*long, f"out={tmp_path}/out"), folder)
    out = tmp_path / "out"
    kill_when(start(out, *long), seen(out, "checkpoints/previous.ckpt"))
    assert not (folder_of(out) / "result.json").exists()
    finish(start(out, *long))
    one, other = comparable(folder_of(out)), comparable(folder)
    for record in (one[0], other[0]):
        record.pop("command"), record.pop("overrides"), record.pop("machine")
    assert json.loads((folder_of(out) / "result.json").read_text())["train"]["resumed_at"][0] >= 1
    equal(one, other)


@pytest.mark.slow
@pytest.mark.ddp
def test_two_processes_go_on_with_equal_losses(tmp_path):
    two = ["trainer.devices=2", "trainer.strategy=ddp", "trainer.max_epochs=4", "data.workers=0"]
    finish(start(tmp_path / "a", *two))
    out = tmp_path / "b"
    kill_when(start(out, *two), seen(out, "checkpoints/previous.ckpt"))
    assert not (folder_of(out) / "result.json").exists()
    finish(start(out, *two))
    found = [comparable(folder_of(tmp_path / name)) for name in ("a", "b")]
    assert json.loads((folder_of(out) / "result.json").read_text())["train"]["resumed_at"]
    assert found[0][1] == found[1][1]
    assert found[0][0]["test"] == found[1][0]["test"]
