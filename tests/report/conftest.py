"""Records as a run would write them, made in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnlab import results

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
EDGES = [10, 20, 30, 40]
COUNTS = [120, 200, 90, 40, 12]


def curve(scores, counts=COUNTS, edges=EDGES):
    lows, highs = [0, *(edge + 1 for edge in edges)], [*edges, None]
    table = []
    for low, high, count, score in zip(lows, highs, counts, scores, strict=True):
        mark = "empty" if not count else "few" if count < 30 else None
        interval = None if score is None else [score - 1, score + 1]
        table.append({"lo": low, "hi": high, "n": count, "bleu": score, "ci": interval, "mark": mark})
    return table


def make(
    *,
    scorer="dot",
    decoder="post_combine",
    window="global",
    encoder="bilstm",
    seed=1,
    bleu=30.0,
    scores=(34.0, 32.0, 30.0, 28.0, 26.0),
    counts=COUNTS,
    signature=SIGNATURE,
    languages=("de", "en"),
    test_set="flickr",
    fingerprint="f00d",
    settings=None,
    cell_id=None,
    error=None,
    ended="2026-01-01T00:00:00+00:00",
    overrides=(),
    **config,
):
    cell = {"encoder": encoder, "scorer": scorer, "decoder": decoder, "window": window}
    fields = {
        "cell": cell,
        "factors": {"asks": "current"},
        "cell_id": cell_id or "-".join(str(option or "none") for option in cell.values()),
        "seed": seed,
        "overrides": list(overrides),
        "command": "attnlab train",
        "config": {"seed": seed, "optim": {"lr": 0.001, **(settings or {})}, **config},
        "ended": ended,
        "code": {"commit": "c0ffee", "dirty": False},
        "versions": {"python": "3.11"},
        "machine": {"cpu": "a", "memory": 1, "device": "cpu", "count": 1},
        "train": {"wall_s": 754.0},
    }
    if error is not None:
        return results.build(**fields, error=error)
    table = curve(scores, counts)
    fields["train"] |= {
        "updates": 3000, "best_step": 2500, "tokens_per_s": 12345.0, "device_s": 750.0, "peak_memory": 1
    }  # fmt: skip
    test = {
        "search": {"beam_size": 5},
        "bleu": {"score": bleu, "signature": signature},
        "chrf": {"score": 55.0, "signature": "c"},
        "ter": {"score": 44.0, "signature": "t"},
        "perplexity": 6.5,
        "length_ratio": 0.98,
        "n": sum(counts),
        "empty": {"source": 0, "hypothesis": 0, "reference": 0},
        "truncated": 0,
        "by_source_length": table,
        "by_reference_length": table,
        "alignment": None,
        "attention": None,
    }
    return results.build(
        **fields,
        data={
            "languages": {"source": languages[0], "target": languages[1]},
            "licence": "CC0", "source": "files in corpus", "revision": None,
            "fingerprints": {test_set: fingerprint}, "splits": {}, "overlap": {},
        },
        parameters={"total": 12_345_678, "attention": 262_144},
        val={"bleu": 31.0, "loss": 1.9, "signature": signature, "step": 2500},
        test={test_set: test},
    )  # fmt: skip


@pytest.fixture(name="make")
def _make():
    return make


@pytest.fixture
def save(tmp_path):
    """Writes records below a folder, one run folder each, and gives that folder back."""

    def _save(*records, under="runs") -> Path:
        top = tmp_path / under
        for number, record in enumerate(records):
            results.write(record, top / record["cell_id"] / str(number) / f"seed{record['seed']}")
        return top

    return _save


@pytest.fixture
def grid(make):
    records = [
        make(scorer=scorer, decoder=decoder, seed=seed, bleu=bleu + seed)
        for bleu, scorer in enumerate(("dot", "general", "additive"), 30)
        for decoder in ("input_feeding", "post_combine")
        for seed in (1, 2)
    ]
    return [
        *records,
        make(scorer=None, window=None, decoder="fixed_vector", scores=(30.0, 25.0, 20.0, 12.0, 5.0)),
    ]
