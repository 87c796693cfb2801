"""Payloads for the page, made in memory: any number of cells and seeds, and text that tries to be markup."""

from __future__ import annotations

import itertools
import random
from typing import Any

from attnlab.report.figures import styles

AXES = {  # the last one changes fastest
    "encoder": ["bilstm", "bigru", "lstm"],
    "window": ["global", "local_p", "local_m"],
    "decoder": ["post_combine", "input_feeding", "post_combine_feeding"],
    "scorer": ["additive", "general", "dot", "location"],
}
FACTORS = {
    "post_combine": {"asks": "current", "context_goes_to": "readout", "fed_back": "nothing"},
    "input_feeding": {"asks": "previous", "context_goes_to": "both", "fed_back": "context"},
    "post_combine_feeding": {"asks": "current", "context_goes_to": "readout", "fed_back": "readout"},
    "fixed_vector": {"asks": None, "context_goes_to": "readout", "fed_back": "nothing"},
}
HOSTILE = [
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "<!-- <script> -->",
    "line\u2028separator\u2029 & 'quotes' \"double\"",
]
SENTENCES = [
    ("ein mann geht am fluss entlang .", "a man walks along the river ."),
    ("השמש זורחת מעל ההרים הגבוהים", "the sun shines over the high mountains"),
    ("春天 的 花园 里 有 很多 花", "there are many flowers in the spring garden"),
    (
        "der Donaudampfschifffahrtsgesellschaftskapitän schläft",
        "the captain of the steamship company sleeps 😴",
    ),
]
COUNTS = [412, 930, 610, 204, 61, 12]
LENGTHS = [(0, 10), (11, 20), (21, 30), (31, 40), (41, 50), (51, None)]


def payload(cells: int = 8, seeds: int = 2, *, hostile: bool = False, pairs: bool = False) -> dict[str, Any]:
    """A report of one comparison: `cells` own cells of `seeds` seeds, one system, one cell without numbers."""
    draw = random.Random(cells * 1000 + seeds)
    rows = [_cell(k, options, seeds, draw) for k, options in enumerate(itertools.islice(_grid(), cells))]
    baseline = rows[0]
    for row in rows[1:]:
        _compare(row, baseline, draw)
    rows += [_system(draw), _missing(seeds)]
    for number, row in enumerate(rows):
        row["look"] = _look(row, number)
    if hostile:
        rows[1]["name"], rows[1]["settings"] = HOSTILE[0], HOSTILE[1]
        rows[2]["config"] |= {HOSTILE[0]: HOSTILE[2]}
        rows[2]["runs"][0]["record"] = "javascript:document.title='owned'"
    comparison = _comparison(rows, hostile)
    if pairs:
        own = rows[:cells]
        comparison["tests"] = [_test(a, b, draw) for a, b in itertools.combinations(own, 2)]
    return {
        "title": HOSTILE[1] if hostile else "Which attention for which decoder?",
        "question": HOSTILE[0] if hostile else "What does each mechanism lose as sentences get longer?",
        "version": "0.1.0",
        "axes": ["encoder", "scorer", "decoder", "window"],
        "palette": {
            "series": list(styles.COLOURS),
            "baseline": styles.BASELINE,
            "outside": styles.OUTSIDE,
        },
        "notes": [HOSTILE[2]] if hostile else [],
        "unscored": [],
        "anonymous": False,
        "anchors": _anchors(hostile),
        "comparisons": [comparison],
    }


def _grid():
    for number, options in enumerate(itertools.product(*AXES.values())):
        if number == 1:
            yield {"scorer": None, "window": None, "decoder": "fixed_vector", "encoder": "bilstm"}
        yield dict(zip(AXES, options, strict=True))
    for number in itertools.count():  # more cells than the grid has: other settings
        for options in itertools.product(*AXES.values()):
            yield dict(zip(AXES, options, strict=True)) | {"settings": f"optim.lr={number + 1}e-4"}


def _cell(number: int, options: dict[str, Any], seeds: int, draw: random.Random) -> dict[str, Any]:
    settings = options.get("settings", "")
    axes = {axis: options[axis] for axis in ("encoder", "scorer", "decoder", "window")}
    named = [value for axis, value in axes.items() if value and axis != "encoder"]
    name = ", ".join(
        [
            *named,
            *([axes["encoder"]] if axes["encoder"] != "bilstm" else []),
            *([settings] if settings else []),
        ]
    )
    mean = 30 + draw.uniform(-3, 3) - (6 if axes["scorer"] is None else 0)
    fall = draw.uniform(0.3, 1.6) + (3 if axes["scorer"] is None else 0)
    key = f"cell{number}"
    runs = [
        {
            "seed": str(seed), "bleu": _r(mean + draw.gauss(0, 0.3)), "chrf": _r(mean + 22), "updates": 12000 + seed,
            "record": f"../runs/{key}/seed{seed}/result.json", "wall_s": 754.2, "commit": "c0ffee1234", "dirty": seed == 1,
        }
        for seed in range(1, seeds + 1)
    ]  # fmt: skip
    attends = axes["scorer"] is not None
    return {
        "key": key, "kind": "cell", "controlled": True, "name": name, "axes": axes,
        "factors": FACTORS[axes["decoder"]], "settings": settings, "runs": runs,
        "failed": ["9"] if number == 2 else [], "interrupted": [], "missing": [],
        "bleu": _spread(mean, seeds), "chrf": _spread(mean + 22, seeds), "metrics": {}, "origin": None, "ter": _r(60 - mean / 2),
        "perplexity": _r(9 - mean / 8), "length_ratio": 0.981,
        "aer": {"predicted": _r(0.7 - mean / 80), "input": _r(0.8 - mean / 80)} if attends else None,
        "entropy": _r(draw.uniform(0.2, 0.7)) if attends else None,
        "overrides": {name: {"bleu": _r(mean - loss), "delta": -loss} for name, loss in (("uniform", 21.5), ("only_max", 1.25))} if attends else {},
        "cost": {
            "parameters": 12_345_678 + 40_000 * number, "attention": 262_144 * (1 + number % 3),
            "tokens_per_s": _r(9000 + 2500 * draw.random()), "wall_s": _r(600 + 40 * draw.random()),
            "updates": 12001, "peak_memory": 1_400_000_000 + 10_000_000 * number,
        },
        "test": None, "differs": [], "confounded": False,
        "lengths": {kind: _curve(mean, fall) for kind in ("source_words", "reference_words", "source_pieces")},
        "curve": [[step, _r(mean * (1 - 2.7 ** (-step / 3000))), _r(2 + 5 * 2.7 ** (-step / 3000))] for step in range(0, 12001, 600)],
        "config": {"scorer._target_": f"attnlab.attention.{axes['scorer']}", "decoder.hidden_size": 256},
    }  # fmt: skip


def _look(row: dict[str, Any], number: int) -> dict[str, Any]:
    marker = styles.MARKERS[number % len(styles.MARKERS)]
    if row["kind"] == "system":
        look = styles.Look(styles.OUTSIDE, marker, (1.0, 1.0))
    elif row["axes"]["scorer"] is None:
        look = styles.Look(styles.BASELINE, marker, (4.0, 2.0), heavy=True)
    else:
        colour = styles.COLOURS[number % len(styles.COLOURS)]
        look = styles.Look(colour, marker, styles.DASHES[number % len(styles.DASHES)])
    return look._asdict() | {"dash": list(look.dash)}


def _differing(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    axes = [axis for axis in ("encoder", "scorer", "window") if a["axes"][axis] != b["axes"][axis]]
    return axes + [factor for factor, value in a["factors"].items() if value != b["factors"][factor]]


def _compare(row: dict[str, Any], baseline: dict[str, Any], draw: random.Random) -> None:
    row["test"] = {
        key: value
        for key, value in _test(row, baseline, draw).items()
        if key not in ("metric", "first", "second", "differs")
    }
    row["differs"] = _differing(row, baseline)
    row["confounded"] = len(row["differs"]) > 1
    for kind, table in row["lengths"].items():
        for bucket, base in zip(table["buckets"], baseline["lengths"][kind]["buckets"], strict=True):
            delta = bucket["bleu"] - base["bleu"]
            bucket["delta"], bucket["delta_ci"] = _r(delta), [_r(delta - 1), _r(delta + 1)]


def _test(a: dict[str, Any], b: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    delta = a["bleu"]["mean"] - b["bleu"]["mean"]
    p = _r(min(1.0, max(0.0001, 2.7 ** (-abs(delta) * 3))))
    return {
        "metric": "bleu", "first": a["key"], "second": b["key"], "differs": _differing(a, b), "delta": _r(delta), "ci": [_r(delta - 0.9), _r(delta + 0.9)],
        "p_bootstrap": p, "p_randomisation": p, "p_holm": _r(min(1, p * 4)), "significant": p * 4 < 0.05, "one_seed": False, "seeds": [2, 2],
    }  # fmt: skip


def _curve(mean: float, fall: float) -> dict[str, Any]:
    buckets = []
    for k, ((low, high), n) in enumerate(zip(LENGTHS, COUNTS, strict=True)):
        bleu = mean + 2 - fall * k + (0.4 if k % 2 else 0)
        buckets.append(
            {
                "label": f">{low - 1}" if high is None else f"≤{high}" if not low else f"{low}-{high}",
                "lo": low, "hi": high, "centre": 5.5 + 10 * k, "n": n, "bleu": _r(bleu),
                "ci": [_r(bleu - 20 / n**0.5), _r(bleu + 20 / n**0.5)], "delta": None, "delta_ci": None,
                "mark": "few" if n < 30 else None,
            }
        )  # fmt: skip
    return {"buckets": buckets, "slope": {"value": _r(-fall), "ci": [_r(-fall - 0.3), _r(-fall + 0.3)]}}


def _system(draw: random.Random) -> dict[str, Any]:
    return {
        "key": "system", "kind": "system", "controlled": False, "name": "marian-base", "settings": "",
        "axes": dict.fromkeys(("encoder", "scorer", "decoder", "window")), "factors": {}, "runs": [],
        "failed": [], "interrupted": [], "missing": [], "bleu": _spread(33.1, 1), "chrf": _spread(58.0, 1),
        "ter": None, "perplexity": None, "length_ratio": 1.01, "aer": None, "entropy": None, "overrides": {},
        "cost": {}, "test": None, "differs": [], "confounded": False,
        "lengths": {"source_words": _curve(33.1, 0.8)}, "curve": [], "config": {},
    }  # fmt: skip


def _missing(seeds: int) -> dict[str, Any]:
    return {
        "key": "missing", "kind": "missing", "controlled": True, "name": "scaled_dot, post_combine, global",
        "axes": {"encoder": "bilstm", "scorer": "scaled_dot", "decoder": "post_combine", "window": "global"},
        "factors": {}, "settings": "", "runs": [], "failed": [], "interrupted": [],
        "missing": [str(seed) for seed in range(1, seeds + 1)], "bleu": None, "chrf": None, "ter": None,
        "perplexity": None, "length_ratio": None, "aer": None, "entropy": None, "overrides": {}, "cost": {},
        "test": None, "differs": [], "confounded": False, "lengths": {}, "curve": [], "config": {},
    }  # fmt: skip


def _comparison(rows: list[dict[str, Any]], hostile: bool) -> dict[str, Any]:
    return {
        "id": "main", "label": "test_2016", "languages": "de → en", "n": sum(COUNTS),
        "origin": "generated", "fingerprint": "f00dfeed", "signature": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
        "chrf_signature": "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0", "baseline": rows[0]["key"], "notes": [], "files": "table", "effects_note": "",
        "level": 0.95, "resamples": 1000, "trials": 10000, "seed": 12345,
        "varying": ["scorer", "decoder", "window"], "constant": {"encoder": "bilstm"}, "note_on_tests": "", "rows": rows,
        "tests": [], "effects": _effects(), "samples": _samples(rows, hostile),
        "config_common": {"optim.lr": 0.001, "model.embedding_size": 256, "trainer.max_epochs": 10, "data.licence": None},
    }  # fmt: skip


def _effects() -> dict[str, Any]:
    def level(factors: list[str], options: list[str], effect: float) -> dict[str, Any]:
        return {
            "factors": factors,
            "options": options,
            "effect": effect,
            "low": _r(effect - 0.4),
            "high": _r(effect + 0.4),
        }

    return {
        "terms": [
            {"factors": ["scorer"], "df": 3, "sum_sq": 31.2, "F": 14.3, "p": 0.0002, "share": 0.61},
            {"factors": ["decoder"], "df": 2, "sum_sq": 6.1, "F": 3.1, "p": 0.064, "share": 0.12},
            {"factors": ["scorer", "decoder"], "df": 6, "sum_sq": 5.0, "F": 0.9, "p": 0.41, "share": 0.09},
        ],
        "levels": [
            *(level(["scorer"], [name], effect) for name, effect in (("additive", 1.2), ("general", 0.3), ("dot", -0.2), ("location", -1.3))),
            *(level(["decoder"], [name], effect) for name, effect in (("input_feeding", 0.4), ("post_combine", -0.4))),
        ],
        "dropped": ["encoder:window"], "n": 24, "residual_df": 12,
    }  # fmt: skip


def _samples(rows: list[dict[str, Any]], hostile: bool) -> list[dict[str, Any]]:
    pairs = [*SENTENCES, (HOSTILE[0], HOSTILE[1])] if hostile else SENTENCES
    found = []
    for index, (source, reference) in enumerate(pairs):
        cells = {
            row["key"]: _attended(source, reference, k) for k, row in enumerate(rows) if row["kind"] == "cell"
        }
        n = min(len(source.split()), len(reference.split()))
        found.append(
            {
                "index": 17 * index, "source": source, "reference": reference, "rows": cells,
                "gold": " ".join(f"{i}-{i}" for i in range(n)) if index == 0 else None,
            }
        )  # fmt: skip
    return found


def _attended(source: str, reference: str, number: int) -> dict[str, Any]:
    hypothesis = reference if number % 2 == 0 else " ".join(reference.split()[::-1])
    source_pieces = [f"▁{word}" for word in source.split()]
    pieces = [*(f"▁{word}" for word in hypothesis.split()), "</s>"]
    weights = []
    for t in range(len(pieces)):
        line = [
            2.7 ** (-abs(t * len(source_pieces) / len(pieces) - s) * (1 + number % 4))
            for s in range(len(source_pieces))
        ]
        weights.append([round(weight / sum(line), 3) for weight in line])
    none = number == 1
    return {
        "seed": "1", "hypothesis": hypothesis, "source_pieces": source_pieces, "pieces": pieces,
        "weights": None if none else weights,
    }  # fmt: skip


def _anchors(hostile: bool) -> list[dict[str, Any]]:
    def anchor(system: str, value: float, verified: str, url: str | None) -> dict[str, Any]:
        return {
            "paper": "Luong et al. 2015", "table": "Table 1", "system": system, "task": "WMT14 English to German",
            "test_set": "newstest2014", "metric": "BLEU (tokenised)", "value": value, "sd": None, "verified": verified,
            "note": "With unknown-word replacement, which this comparison does not use.", "url": url,
        }  # fmt: skip

    return [
        anchor("local-p, general, feed", 20.9, "verified", "https://aclanthology.org/D15-1166"),
        anchor(
            "global, location", 18.1, "second hand", "javascript:document.title='owned'" if hostile else None
        ),
        anchor("base + reverse", 14.0, "from memory", None),
    ]


def _spread(mean: float, n: int) -> dict[str, Any]:
    return {"mean": _r(mean), "sd": 0.31 if n > 1 else None, "n": n, "ci": [_r(mean - 0.8), _r(mean + 0.8)]}


def _r(value: float) -> float:
    return round(value, 4)
