"""What the peers' logs say, in their own words, and what follows from a run's lines."""

import json
import sys
from pathlib import Path

import pytest
from peers import KINDS, Setting, Text, find, named
from peers.base import Peer
from peers.ours import Ours
from peers.running import Run, run

REPORTS = {
    "opennmt": (
        "[2026-01-01 10:00:00,001 INFO] Step 64/  128; acc: 6.9; ppl: 2276.6; xent: 7.7; lr: 0.00100; "
        "sents:    4096; bsz:  802/ 887/64; 7711/8526 tok/s;      7 sec;",
        (64, 8526.0),
    ),
    "eole": (
        "[2026-01-01 10:00:00,001 INFO] Step 64/  128; acc: 9.7; ppl: 1839.97; xent: 7.52; aux: 0.000; mtp: "
        "0.000; attn_ent: 2.154; lr: 1.00e-03; sents:    4096; bsz:  802/ 887/64; 8415/9304 tok/s;      6 sec;",
        (64, 9304.0),
    ),
    "joeynmt": (
        "2026-01-01 10:00:00,001 - INFO - joeynmt.training - Epoch   1, Step:       10, Batch Loss:     "
        "8.605174, Batch Acc: 0.015630, Tokens per Sec:     3135, Lr: 0.001000",
        (10, 3135.0),
    ),
    "fairseq": (
        '2026-01-01 10:00:00 | INFO | train_inner | {"epoch": 1, "loss": "12.5", "wps": "7049.2", '
        '"ups": "7.77", "wpb": "895.7", "num_updates": "10", "lr": "0.001"}',
        (10, 7049.2),
    ),
}
SEARCHES = {
    "opennmt": ("[2026-01-01 10:00:00,001 INFO] Tokens per second: 1280.0", 2.0),
    "joeynmt": ("2026-01-01 10:00:00,001 - INFO - joeynmt.prediction - Generation took 2.0000[sec].", 2.0),
    "eole": (
        "[2026-01-01 10:00:00,001 INFO] Step 0 time (s): 0.05\n[2026-01-01 10:00:00,001 INFO] Enc/Step 0 tokens "
        "/ sec: 32736.1\n[2026-01-01 10:00:00,001 INFO] Subsequent prediction time including all (s): 1.95",
        2.0,
    ),
    "fairseq": (
        "2026-01-01 10:00:00 | INFO | fairseq_cli.generate | Translated 128 sentences (2,560 tokens) "
        "in 2.0s (64.00 sentences/s, 1280.00 tokens/s)",
        2.0,
    ),
}


def peer(kind: str) -> Peer:
    return next(each for each in KINDS if each.kind == kind)(Path("nowhere"))


@pytest.fixture
def text(tmp_path: Path) -> Text:
    folder = tmp_path / "text"
    folder.mkdir()
    for language in ("de", "en"):
        for split in ("train", "val", "test"):
            (folder / f"{split}.{language}").write_text("a b\nb\n")
        (folder / f"vocabulary.{language}").write_text("b\na\n")
    return Text(folder, "de", "en", "none", {"de": 2, "en": 2})


@pytest.mark.parametrize("kind", REPORTS)
def test_update_and_target_tokens_a_second_are_read(kind: str) -> None:
    line, told = REPORTS[kind]
    assert peer(kind).report(line) == told
    assert peer(kind).report("loading 5/ 128 things") is None


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_search_is_timed_by_the_toolkit(kind: str) -> None:
    line, seconds = SEARCHES[kind]
    assert peer(kind).seconds(["before", line, "after"], 2560) == pytest.approx(seconds)


def test_fairseq_without_a_speed_in_its_first_window_reports_none_of_it() -> None:
    assert peer("fairseq").report('x | train_inner | {"num_updates": "5", "wps": "n/a"}') == (5, 0.0)


def test_a_window_lasts_from_report_to_report_and_the_warm_up_is_left_out() -> None:
    lines = [(10.0, "speed 5 100"), (12.0, "noise"), (14.0, "speed 10 200"), (15.0, "speed 15 400")]
    found = Run(0.0, lines, samples=[(0.0, 0.0), (14.0, 0.0), (15.0, 0.5)], peak_mb=7.0)
    trained = Ours().trained(found, warm=5)
    assert [(w.seconds, w.rate, w.others, w.update) for w in trained.windows] == [
        (4.0, 200.0, 0.0, 10),
        (1.0, 400.0, 0.5, 15),
    ]
    # Most of the time was quiet: only that counts. Both windows would give (4 * 200 + 400) / 5.
    assert trained.tokens_per_s == 200.0
    assert trained.start_s == 10.0
    with pytest.raises(RuntimeError, match="no speed in its log after 20 updates"):
        Ours().trained(found, warm=20)


def test_a_loud_turn_counts_whole() -> None:
    lines = [(0.0, "speed 5 1"), (1.0, "speed 10 100"), (4.0, "speed 15 200")]
    found = Run(0.0, lines, samples=[(0.0, 0.0), (1.0, 0.0), (4.0, 3.0)])
    trained = Ours().trained(found, warm=5)
    assert trained.tokens_per_s == (100 + 3 * 200) / 4
    assert trained.others == 0.75


@pytest.mark.parametrize("kind", [kind.kind for kind in KINDS if kind.kind != "fairseq"])
@pytest.mark.parametrize("order", ["post_combine", "post_combine_feeding"])
def test_a_configuration_says_what_the_setting_says(
    kind: str, order: str, text: Text, tmp_path: Path
) -> None:
    setting = Setting(order, "general", hidden=32, embedding=16)
    arguments = peer(kind).training(setting, text, tmp_path, updates=7, seed=3, keep=False)
    path = next(Path(word) for word in arguments if word.endswith(".yaml"))
    written = json.loads(path.read_text())

    def leaves(node: object) -> dict[str, list[object]]:
        found: dict[str, list[object]] = {}
        if isinstance(node, dict):
            for key, value in node.items():
                found.setdefault(key, []).append(value)
                for inner, values in leaves(value).items():
                    found.setdefault(inner, []).extend(values)
        return found

    told = leaves(written)
    assert bool((told.get("input_feed") or told["input_feeding"])[0]) is setting.feeds
    assert (told.get("train_steps") or told["updates"]) == [7]
    assert 32 in told["hidden_size"]
    assert (told.get("seed") or told["random_seed"]) == [3]
    assert 64 in told["batch_size"]


def test_fairseq_has_general_with_feeding_alone() -> None:
    taken = [
        (order, scorer)
        for order in ("post_combine", "post_combine_feeding")
        for scorer in ("additive", "general")
        if peer("fairseq").takes(Setting(order, scorer))
    ]
    assert taken == [("post_combine_feeding", "general")]


def test_peers_are_found_by_the_names_of_their_environments(tmp_path: Path) -> None:
    (tmp_path / "eole" / "bin").mkdir(parents=True)
    (tmp_path / "eole" / "bin" / "python").symlink_to(sys.executable)
    assert find(tmp_path) == []  # there is an interpreter, but no Eole
    assert named(f"eole-old={tmp_path / 'eole'}").name == "eole-old"
    with pytest.raises(ValueError, match="must begin with one of"):
        named(f"other={tmp_path / 'eole'}")
    with pytest.raises(ValueError, match="no bin/python"):
        named(f"eole={tmp_path}")


def test_a_run_is_ended_when_enough_was_seen_and_a_failure_is_told(tmp_path: Path) -> None:
    endless = "import time; print('go', flush=True); time.sleep(600)"
    options = {"cwd": tmp_path, "log": tmp_path / "log", "threads": 1}
    found = run([sys.executable, "-c", endless], until=lambda _, line: "go" in line, **options)
    assert (found.code, [line for _, line in found.lines]) == (None, ["go"])
    assert found.peak_mb > 0
    with pytest.raises(RuntimeError, match="ended with 3:\nwhy"):
        run([sys.executable, "-c", "print('why'); raise SystemExit(3)"], **options)
    assert (tmp_path / "log").read_text() == "why\n"
