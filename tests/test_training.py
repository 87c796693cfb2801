"""The objective, the validation metrics and what a fit leaves, on hand-made batches."""

import json
import logging
import math
import warnings
from functools import partial
from types import SimpleNamespace

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Checkpoint
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

from attnlab.attention import Additive, Global
from attnlab.callbacks import Bar, Lines, standard
from attnlab.data.batches import Batch
from attnlab.errors import UserError
from attnlab.loggers import MetricsFile
from attnlab.metrics import Bleu
from attnlab.model import Combine, Encoder, PostCombine, Seq2Seq
from attnlab.optim import Halving, Plateau, Recipe
from attnlab.search import Search
from attnlab.surroundings import QUIET
from attnlab.training import TranslationModule, Validation, objective, summed_loss

PAD, UNK, START, END = range(4)


def model(seed=0, dropout=0.0):
    torch.manual_seed(seed)
    return Seq2Seq(
        11,
        9,
        encoder=partial(Encoder, hidden_size=6, cell="lstm"),
        decoder=partial(PostCombine, hidden_size=6, cell="lstm"),
        readout=Combine,
        scorer=partial(Additive, units=5),
        window=Global,
        hidden_size=6,
        embedding_size=4,
        dropout=dropout,
        target_pad=PAD,
        start=START,
    )


def batch(targets, first=0):
    """A batch with these target rows (the end mark is put behind) and sources of the same lengths."""
    rows = [[*row, END] for row in targets]
    sources = [[4 + (t % 5) for t in row] or [4] for row in targets]

    def padded(lists):
        width = max(map(len, lists))
        return torch.tensor([row + [PAD] * (width - len(row)) for row in lists]), torch.tensor(
            [len(r) for r in lists]
        )

    return Batch(torch.arange(first, first + len(rows)), *padded(sources), *padded(rows))


def loader(batches):
    return DataLoader(batches, batch_size=None, shuffle=False)


class Words:
    """Ids as text."""

    pad, unk, start, end = PAD, UNK, START, END

    def decode(self, ids):
        return " ".join(f"w{i}" for i in ids)


def recipe(lr=0.05, schedule=None, label_smoothing=0.0):
    return Recipe(lr, torch.optim.Adam, schedule, label_smoothing)


def trainer(folder, loggers=(), callbacks=(), **options):
    defaults = {
        "max_epochs": 1,
        "num_sanity_val_steps": 0,
        "log_every_n_steps": 1,
        "enable_progress_bar": False,
    }
    return pl.Trainer(
        default_root_dir=folder,
        accelerator="cpu",
        devices=1,
        enable_model_summary=False,
        enable_checkpointing=any(isinstance(callback, Checkpoint) for callback in callbacks),
        logger=list(loggers),
        callbacks=list(callbacks),
        **{**defaults, **options},
    )


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        for message in QUIET:
            warnings.filterwarnings("ignore", message)
        yield


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


# --- objective --------------------------------------------------------------------------------------------


def test_the_loss_is_summed_over_real_positions_token_by_token():
    net, pair = model().double(), batch([[5, 6, 7], [4]])
    expected = 0.0
    for row in range(2):  # one sentence at a time, no padding, one position at a time
        s, t = int(pair.source_lengths[row]), int(pair.target_lengths[row])
        decoded = net(
            pair.source[row : row + 1, :s], pair.source_lengths[row : row + 1], pair.target[row : row + 1, :t]
        )
        log_p = net.logits(decoded.readouts)[0].log_softmax(-1)
        for step in range(t):
            expected -= float(log_p[step, pair.target[row, step]].detach())
    assert float(summed_loss(net, pair).detach()) == pytest.approx(expected, rel=1e-12)  # float64 is kept


def test_padding_enters_neither_loss_nor_smoothing_nor_gradient():
    net = model()
    narrow = batch([[5, 6]])
    wide = Batch(
        narrow.index,
        nn.functional.pad(narrow.source, (0, 3), value=PAD),
        narrow.source_lengths,
        nn.functional.pad(narrow.target, (0, 4), value=PAD),
        narrow.target_lengths,
    )
    results = []
    for pair in (narrow, wide):
        net.zero_grad()
        loss = summed_loss(net, pair, label_smoothing=0.2)
        loss.backward()
        results.append([loss.detach(), *(p.grad.clone() for p in net.parameters())])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_label_smoothing_mixes_in_the_mean_over_the_vocabulary():
    net, pair, a = model().double(), batch([[5, 6, 7]]), 0.3
    log_p = net.logits(net(pair.source, pair.source_lengths, pair.target).readouts)[0].log_softmax(-1)
    nll = -log_p[torch.arange(4), pair.target[0]]
    expected = ((1 - a) * nll + a * -log_p.mean(-1)).sum()
    torch.testing.assert_close(summed_loss(net, pair, a), expected, rtol=1e-12, atol=0)


def test_the_objective_is_the_loss_per_target_token_whatever_the_padding():
    loss = torch.tensor(13.0)
    assert float(objective(loss, torch.tensor([13.0, 10.0], dtype=torch.float64))) == pytest.approx(1.3)


# --- validation -------------------------------------------------------------------------------------------


class Fixed(nn.Module):
    """A model whose sentences, in the order they come, have these summed losses."""

    def __init__(self, losses):
        super().__init__()
        self.losses, self.weight = list(losses), nn.Parameter(torch.zeros(()))

    def forward(self, source, lengths, target):
        per_token = torch.tensor([self.losses.pop(0) / int(n) for n in lengths])
        return SimpleNamespace(readouts=per_token[:, None, None].expand(*target.shape, 1))

    def logits(self, readouts):
        p = torch.exp(-readouts)  # of token 0, which is every target here; the rest is shared by the others
        return torch.log(torch.cat([p, (1 - p).expand(-1, 8) / 8], -1))

    def cross_entropy(self, readouts, target, label_smoothing=0.0):
        return F.cross_entropy(self.logits(readouts), target, reduction="sum")


@pytest.mark.parametrize("split", [[2], [1, 1]])
def test_validation_loss_is_exact_over_uneven_batches_and_its_exp_is_the_perplexity(tmp_path, split):
    # two sentences of 3 and 5 tokens with summed losses 0.4 and 1.5: exp(1.9 / 8) = 1.268
    n, batches = torch.tensor([3, 5]), []
    for part, index in zip(n.split(split), torch.arange(2).split(split), strict=True):
        target = torch.zeros(len(part), int(part.max()), dtype=torch.long)
        batches.append(Batch(index, target, part, target, part))
    module = TranslationModule(Fixed([0.4, 1.5]), recipe())
    trainer(tmp_path).validate(module, loader(batches), verbose=False)
    assert math.exp(module.last["val/loss"]) == pytest.approx(1.268, abs=5e-4)
    assert module.last["val/loss"] == pytest.approx(1.9 / 8, rel=1e-6)


def test_validation_is_never_smoothed(tmp_path):
    net, pair = model(), batch([[5, 6, 7], [4]])
    expected = float(summed_loss(net, pair).detach()) / int(pair.target_lengths.sum())
    module = TranslationModule(net, recipe(label_smoothing=0.4))
    trainer(tmp_path).validate(module, loader([pair]), verbose=False)
    assert module.last["val/loss"] == pytest.approx(expected, rel=1e-6)


class Echo:
    """A search that gives back the target ids it was told for each source length."""

    def __init__(self):
        self.calls = []

    def __call__(self, net, source, lengths, end):
        self.calls += lengths.tolist()
        return [[SimpleNamespace(tokens=[5] * n)] for n in lengths.tolist()]


def sentence_bleu(hypotheses, references):
    scorer = Bleu()
    return scorer.from_statistics(scorer.statistics(hypotheses, references).sum(0))


def test_a_sample_of_the_set_is_decoded_in_order_and_each_sentence_once():
    seen = {}

    def bleu(hypotheses, references):
        seen.update(h=hypotheses, r=references)
        return 1.0

    echo = Echo()
    references = [f"r{i}" for i in range(10)]
    validation = Validation(echo, Words(), references, bleu, sentences=4)
    assert sorted(validation.sample) == [0, 2, 5, 7]  # spread over the set, not its head
    validation.start()
    for order in ([9, 8, 7, 6, 5], [4, 3, 2, 1, 0]):  # batches come sorted by length, not in the set's order
        n = torch.tensor([i + 1 for i in order])
        source = torch.full((5, int(n.max())), 4)
        validation.add(None, Batch(torch.tensor(order), source, n, source, n))
    assert validation.finish() == 1.0
    assert seen["r"] == ["r0", "r2", "r5", "r7"]
    assert [len(h.split()) for h in seen["h"]] == [1, 3, 6, 8]
    assert sorted(echo.calls) == [1, 3, 6, 8]  # nothing outside the sample was searched


def test_translations_to_be_shown_are_chosen_by_their_sources_out_of_those_decoded():
    lengths = [3, 9, 1, 4, 60, 6, 2, 7, 5, 8]  # of the sources, in words; the decoded ones are 0, 2, 5, 7
    sources = [" ".join(["w"] * n) for n in lengths]
    references = [f"r{i}" for i in range(10)]
    echo = Echo()
    validation = Validation(echo, Words(), references, lambda h, r: 0.0, sentences=4, sources=sources)
    for longer in (0, 1):  # two validations, in which the model says something else
        validation.start()
        n = torch.tensor(lengths) + longer
        source = torch.full((10, int(n.max())), 4)
        validation.add(None, Batch(torch.arange(10), source, n, source, n))
        validation.finish()
        shown = validation.shown(2)
        assert [(s.sentence, s.source, s.reference) for s in shown] == [
            *((0, sources[0], "r0"), (7, sources[7], "r7")),
        ]
        assert [len(s.hypothesis.split()) for s in shown] == [3 + longer, 7 + longer]
    assert len(validation.shown(99)) == 4 and len(echo.calls) == 8  # nothing is decoded for it


def test_where_sentences_may_not_be_shown_there_are_none():
    validation = Validation(Echo(), Words(), ["r"], lambda h, r: 0.0)
    n = torch.ones(1, dtype=torch.long)
    validation.add(None, Batch(torch.arange(1), torch.full((1, 1), 4), n, torch.full((1, 1), 4), n))
    validation.finish()
    assert validation.shown(5) == []


def test_validation_bleu_is_the_final_scorers_bleu_on_its_scale():
    hypotheses = ["We are in 2023.", "Wait until I count to 10, then move."]

    class Text(Words):
        def decode(self, ids):
            return hypotheses[len(ids) - 1]

    validation = Validation(Echo(), Text(), hypotheses, sentence_bleu)
    n = torch.tensor([1, 2])
    validation.add(None, Batch(torch.arange(2), torch.full((2, 2), 4), n, torch.full((2, 2), 4), n))
    assert validation.finish() == pytest.approx(100.0)


# --- fit --------------------------------------------------------------------------------------------------

TARGETS = [[5, 6, 7, 8], [6, 7], [8, 5, 6], [7]]


def run(folder, module, epochs=1, callbacks=(), **options):
    log = MetricsFile(folder / "metrics.jsonl")
    fitted = trainer(folder, [log], callbacks, max_epochs=epochs, **options)
    train = [batch(TARGETS[:2]), batch(TARGETS[2:])]
    fitted.fit(module, loader(train), loader([batch(TARGETS)]))
    return fitted, rows(folder / "metrics.jsonl")


def greedy_validation(bleu=sentence_bleu, **options):
    references = [Words().decode(t) for t in TARGETS]
    return Validation(Search(beam_size=1), Words(), references, bleu, **options)


def checkpoints(folder, monitor="val/bleu", patience=None, **options):
    chosen = {"mode": None, "min_delta": 0.0, "save_every": None, "progress": False, **options}
    return standard(folder, monitor=monitor, patience=patience, **chosen)


def test_a_fit_logs_loss_rate_and_speed_by_update_and_both_validation_metrics(tmp_path):
    module = TranslationModule(model(), recipe(), greedy_validation())
    fitted, log = run(tmp_path, module, epochs=2)
    training = [row for row in log if "train/loss" in row]
    assert [row["step"] for row in training] == [1, 2, 3, 4]
    assert all(row["train/tokens_per_s"] > 0 and row["train/lr"] == 0.05 for row in training)
    assert [(row["step"], row["epoch"]) for row in log if "val/bleu" in row] == [(2, 0), (4, 1)]
    assert module.trained_tokens == 2 * sum(len(t) + 1 for t in TARGETS)  # end marks count, padding does not
    assert fitted.callback_metrics["val/loss"] == pytest.approx(module.last["val/loss"])


def test_the_logged_loss_of_several_updates_is_the_mean_over_their_tokens(tmp_path):
    module = TranslationModule(model(), recipe(lr=1e-12))
    net = model()
    losses = [float(summed_loss(net, batch(part)).detach()) for part in (TARGETS[:2], TARGETS[2:])]
    _, log = run(tmp_path, module, log_every_n_steps=2)
    (row,) = [row for row in log if "train/loss" in row]
    assert row["train/loss"] == pytest.approx(sum(losses) / sum(len(t) + 1 for t in TARGETS), rel=1e-5)


def test_a_logger_that_asks_is_shown_translations_just_before_the_row_of_their_validation(tmp_path):
    class Asking(MetricsFile):
        samples, told = 2, []

        def log_samples(self, samples, step):
            self.told.append((step, len(samples)))

        def log_metrics(self, metrics, step=None):
            self.told += [step] if "val/loss" in metrics else []

    validation = greedy_validation(sources=["a", "b c", "d e f", "g"])
    log = Asking(tmp_path / "m.jsonl")
    fitted = trainer(tmp_path, [log], (), max_epochs=2, num_sanity_val_steps=1)
    train = [batch(TARGETS[:2]), batch(TARGETS[2:])]
    module = TranslationModule(model(), recipe(), validation)
    fitted.fit(module, loader(train), loader([batch(TARGETS)]))
    assert log.told == [(2, 2), 2, (4, 2), 4]


@pytest.mark.parametrize("clip", [None, 0.01, 1e6])
def test_the_norm_of_the_whole_gradient_is_clipped(tmp_path, clip):
    module = TranslationModule(model(), Recipe(1.0, torch.optim.SGD))
    before = [p.detach().clone() for p in module.parameters()]
    run(tmp_path, module, max_steps=1, gradient_clip_val=clip)
    moved = zip(module.parameters(), before, strict=True)
    norm = math.sqrt(sum(float((p.detach() - b).square().sum()) for p, b in moved))  # SGD, rate 1
    assert norm == pytest.approx(clip, rel=1e-3) if clip == 0.01 else norm > 0.02


def test_training_learns_to_translate_the_four_sentences(tmp_path):
    module = TranslationModule(model(), recipe(lr=0.03), greedy_validation())
    _, log = run(tmp_path, module, epochs=60, check_val_every_n_epoch=60)
    losses = [row["train/loss"] for row in log if "train/loss" in row]
    assert losses[-1] < 0.3 * losses[0]


def test_the_sanity_pass_leaves_no_row_no_hypothesis_and_no_checkpoint(tmp_path):
    scored = []

    def bleu(hypotheses, references):
        scored.append(len(hypotheses))
        return float(len(scored))

    module = TranslationModule(model(), recipe(), greedy_validation(bleu))
    _, log = run(tmp_path, module, callbacks=checkpoints(tmp_path), num_sanity_val_steps=2)
    assert min(row["step"] for row in log) >= 1
    assert scored == [4] and module.validations == 1 and module.bleus == [1.0]
    best = torch.load(tmp_path / "checkpoints" / "best.ckpt", weights_only=True)
    assert best["global_step"] == 2 and best["attnlab"]["val"]["val/bleu"] == 1.0


@pytest.mark.parametrize(
    ("monitor", "best_step"),
    [("val/bleu", 4), ("val/loss", 6)],
)
def test_the_best_checkpoint_is_the_largest_bleu_or_the_smallest_loss(tmp_path, monitor, best_step):
    series = iter([1.0, 3.0, 2.0])
    module = TranslationModule(model(), recipe(lr=0.005), greedy_validation(lambda h, r: next(series)))
    run(tmp_path, module, epochs=3, callbacks=checkpoints(tmp_path, monitor))
    kept = {
        name: torch.load(tmp_path / "checkpoints" / f"{name}.ckpt", weights_only=True)
        for name in ("best", "last")
    }
    assert (kept["best"]["global_step"], kept["last"]["global_step"]) == (best_step, 6)
    assert sorted(p.name for p in (tmp_path / "checkpoints").iterdir()) == [
        *("best.ckpt", "last.ckpt", "previous.ckpt")
    ]
    assert "optimizer_states" not in kept["best"]  # what is translated with needs a third of the room


def test_early_stopping_waits_for_patience_validations_without_a_better_bleu(tmp_path):
    series = iter([1.0, 3.0, 2.0, 2.5, 9.0])
    module = TranslationModule(model(), recipe(), greedy_validation(lambda h, r: next(series)))
    fitted, _ = run(tmp_path, module, epochs=5, callbacks=checkpoints(tmp_path, patience=2))
    assert fitted.global_step == 8  # stopped after the fourth validation


def test_bleu_that_is_always_zero_is_warned_about_and_one_success_ends_that(tmp_path, caplog):
    for series, warned in (([0.0, 0.0], 1), ([0.0, 0.5], 0)):
        caplog.clear()
        values = iter(series)
        module = TranslationModule(model(), recipe(), greedy_validation(lambda h, r, v=values: next(v)))
        run(tmp_path, module, epochs=2)
        assert sum("val/bleu was 0" in message for message in caplog.messages) == warned


def test_max_steps_within_an_epoch_is_followed_by_a_validation(tmp_path):
    module = TranslationModule(model(), recipe(), greedy_validation())
    run(tmp_path, module, epochs=5, max_steps=3, callbacks=checkpoints(tmp_path))
    assert module.validations == 2
    assert torch.load(tmp_path / "checkpoints" / "last.ckpt", weights_only=True)["global_step"] == 3


def test_the_rate_follows_the_schedule_by_epoch_and_by_validation(tmp_path):
    module = TranslationModule(model(), recipe(lr=1.0, schedule=Halving(after=1)))
    _, log = run(tmp_path, module, epochs=3)
    assert [row["train/lr"] for row in log if "train/lr" in row] == [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    module = TranslationModule(model(), recipe(lr=1.0, schedule=Halving(after=1, every="validation")))
    fitted, log = run(tmp_path, module, epochs=2, val_check_interval=1)
    assert [row["train/lr"] for row in log if "train/lr" in row] == [1.0, 0.5, 0.25, 0.125]
    assert fitted.optimizers[0].param_groups[0]["lr"] == 0.0625  # the optimiser has it, not only the log


def test_a_checkpoint_is_plain_and_a_run_goes_on_from_it(tmp_path):
    config = {"optim": {"lr": 0.05}, "data": {"test": ["a"]}}
    schedule = Plateau("val/loss", patience=1)
    module = TranslationModule(model(), recipe(schedule=schedule), greedy_validation(), config)
    run(tmp_path, module, callbacks=checkpoints(tmp_path))
    path = tmp_path / "checkpoints" / "last.ckpt"
    kept = torch.load(path, weights_only=True)
    assert kept["attnlab"]["config"] == config

    schedule = Plateau("val/loss", patience=1)
    again = TranslationModule(model(seed=5), recipe(schedule=schedule), greedy_validation())
    fitted = trainer(tmp_path, max_epochs=2, callbacks=checkpoints(tmp_path))
    train = [batch(TARGETS[:2]), batch(TARGETS[2:])]
    fitted.fit(again, loader(train), loader([batch(TARGETS)]), ckpt_path=path)
    assert fitted.global_step == 4 and again.validations == 2
    assert schedule.best > -math.inf
    fitted.validate(again, loader([batch(TARGETS)]), ckpt_path="best", verbose=False)


def test_a_loss_that_is_not_finite_ends_the_run_with_the_remedy(tmp_path):
    net = model()
    with torch.no_grad():
        net.output.weight.fill_(float("nan"))
    with pytest.raises(UserError, match=r"diverged.*optim\.lr"):
        run(tmp_path, TranslationModule(net, recipe()))


def test_a_line_a_validation_is_logged(tmp_path, caplog):
    caplog.set_level(logging.INFO, "attnlab")
    run(tmp_path, TranslationModule(model(), recipe(), greedy_validation()), epochs=2, callbacks=[Lines()])
    lines = [m for m in caplog.messages if m.startswith("epoch")]
    assert len(lines) == 2 and all(word in lines[0] for word in ("update 2", "val/loss", "val/bleu", "tok/s"))


def test_a_patience_of_nothing_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"callbacks\.patience=0"):
        checkpoints(tmp_path, patience=0)


def test_the_progress_bar_shows_tokens_a_second_and_the_last_scores(tmp_path, monkeypatch):
    module = TranslationModule(model(), recipe(), greedy_validation())
    fitted, log = run(tmp_path, module)
    shown = Bar().get_metrics(fitted, module)
    assert shown["tok/s"] == f"{log[1]['train/tokens_per_s']:,.0f}"
    assert list(shown) == ["loss", "val/loss", "val/bleu", "tok/s"]
    for terminal in (True, False):
        monkeypatch.setattr("sys.stderr.isatty", lambda there=terminal: there, raising=False)
        assert any(isinstance(one, Bar) for one in checkpoints(tmp_path, progress=True)) is terminal
