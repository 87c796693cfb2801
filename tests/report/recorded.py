"""Records as a run would write them, made in memory, and the statistics of their sentences."""

from __future__ import annotations

import numpy as np

from attnlab import results
from attnlab.metrics.scoring import score_of
from attnlab.segments import Segments

CHRF = "nrefs:1|case:mixed|eff:yes|nc:1|nw:0|space:no|version:2.6.0"
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


def with_sentences(quality, draw, *, n=462, longest=50, drop=0.0, **cell):
    """A record and the statistics of its n sentences.

    Args:
        quality: share of the words that are matched; of n-grams its powers.
        draw: the seed of the sentences' own luck.
        n: sentences; their lengths are the same for all runs.
        longest: words of the longest sentence.
        drop: how much of the quality a sentence of the longest length loses.
        cell: as `make` takes it.
    """
    words = np.random.default_rng(1).integers(1, longest + 1, n)
    own = np.random.default_rng(draw)
    share = quality - drop * words / longest
    totals = np.maximum(words[:, None] - np.arange(4), 0)
    matches = own.binomial(totals, share[:, None] ** np.arange(1, 5))
    bleu = np.column_stack([words, words, matches, totals])
    chrf = np.column_stack([5 * words, 5 * words, own.binomial(5 * words, share)])
    record = make(counts=[n, 0, 0, 0, 0], bleu=float(score_of(SIGNATURE)(bleu.sum(0))), **cell)
    (test,) = record["test"].values()
    test["chrf"] = {"score": float(score_of(CHRF)(chrf.sum(0))), "signature": CHRF}
    pieces = words + words // 3
    return record, Segments(bleu, chrf, words, words + 1, pieces, pieces, None, None, None, SIGNATURE, CHRF)
