"""Gathers the evidence of a comparison: what `evidence.evidence` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from attnlab.metrics.scoring import Score, score_of
from attnlab.metrics.seeds import spread
from attnlab.report import measure as measuring
from attnlab.report.evidence import BLEU, CHRF, Bucket, Estimate, Evidence, Lengths, Measure
from attnlab.report.fairness import differing
from attnlab.report.grid import effects_of
from attnlab.report.measure import Draw, Tick
from attnlab.report.rows import CELL, Comparison, Row, Run
from attnlab.segments import LENGTHS

_RECORDED = {"source_words": "by_source_length", "reference_words": "by_reference_length"}
_FEW = 30  # where a record does not say
_SAME = 1e-6  # points between a record's score and that of its sentences' statistics


def gather(
    comparison: Comparison, baseline: Row | None, draw: Draw, pairs: bool, tick: Tick = lambda: None
) -> Evidence:
    """Everything but random numbers comes from the records and what lies beside them.

    Args:
        comparison: the rows.
        baseline: one of them.
        draw: how random numbers are drawn.
        pairs: test all pairs.
        tick: called now and then, `steps` times in all or less, for a progress bar.
    """
    made = Evidence(baseline, draw.samples, draw.trials, draw.level, draw.seed)
    key = baseline.key if baseline is not None else None
    statistics = _bleu(comparison, made.notes)
    made.measures[BLEU] = _measure("BLEU", comparison.signature, comparison.scored, _score)
    _test(made.measures[BLEU], comparison.signature, statistics, draw, key, pairs, tick)
    _lengths(made.measures[BLEU], comparison, statistics, draw, key, tick)
    if comparison.chrf_signature is not None:
        signature = comparison.chrf_signature
        chrf = _chrf(comparison, signature, made.notes)

        def pick(run: Run) -> float | None:
            found = run.test["chrf"]
            return found["score"] if found and found["signature"] == signature else None

        made.measures[CHRF] = _measure("chrF", signature, comparison.scored, pick)
        _test(made.measures[CHRF], signature, chrf, draw, key, pairs, tick)
    if any(row.scores for row in comparison.rows):
        from attnlab.report.scores import score_evidence

        made.measures |= score_evidence(comparison, baseline=baseline, pairs=pairs, **draw._asdict())
    if baseline is not None:
        made.differs = {row.key: differing(row, baseline) for row in comparison.rows if row is not baseline}
    made.factors = _factors(comparison, made)
    made.effects, made.effects_note = effects_of(comparison, draw.level)
    made.note_on_tests = _note(comparison, made, pairs)
    return made


def _factors(comparison: Comparison, made: Evidence) -> dict[tuple[str, str], list[str]]:
    """What the rows of each test differ in; metrics share their pairs."""
    rows = {row.key: row for row in comparison.rows}
    tests = [test for measure in made.measures.values() for test in measure.tests]
    pairs = dict.fromkeys((test.first, test.second) for test in tests)
    return {(first, second): differing(rows[first], rows[second]) for first, second in pairs}


def steps(comparison: Comparison) -> int:
    """How often `gather` ticks, at most."""
    chunks = -(-len(comparison.scored) // 20)
    return 2 * chunks + len(LENGTHS)


def _score(run: Run) -> float | None:
    value = run.test["bleu"]["score"]
    return None if value is None else float(value)


def _bleu(comparison: Comparison, notes: list[str]) -> dict[str, np.ndarray]:
    """The statistics [runs, n, k] of the rows of which every run has them; a note on the others."""
    found, lacking = {}, []
    for row in comparison.scored:
        stats = {seed: own.bleu for seed, own in row.segments.items()}
        if any(run.seed not in stats for run in row.runs):
            if row.kind == CELL:
                lacking.append(row)
            continue
        score = score_of(comparison.signature)
        for run in row.runs:
            if _stale(score, stats[run.seed], run, run.test["bleu"]["score"], notes):
                lacking.append(row)
                break
        else:
            found[row.key] = np.stack([stats[run.seed] for run in row.runs])
    if lacking:
        names = "; ".join(row.name(comparison.varying) for row in lacking[:3])
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        cells = "1 row" if len(lacking) == 1 else f"{len(lacking)} rows"
        notes.append(
            f"no interval and no test for {cells} without sentence statistics ({names}{more}): the runs are "
            "of an earlier version; attnlab evaluate RUN makes them, for every seed"
        )
    return found


def _stale(
    score: Score, statistics: np.ndarray, run: Run, recorded: float | None, notes: list[str], name: str = ""
) -> bool:
    """Whether a run's statistics [n, k] give another score than its record has; a note where they do."""
    if recorded is None:
        return True
    if abs(float(score(statistics.sum(0))) - recorded) <= _SAME:
        return False
    notes.append(
        f"{run.place}: {name}sentence statistics of another decoding than the record's, left out; "
        "attnlab evaluate RUN makes new ones"
    )
    return True


def _chrf(comparison: Comparison, signature: str, notes: list[str]) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    other = 0
    for row in comparison.scored:
        other += any((run.test["chrf"] or {}).get("signature", signature) != signature for run in row.runs)
        arrays = []
        for run in row.runs:
            own = row.segments.get(run.seed)
            if own is None or own.chrf is None or own.chrf_signature != signature:
                break
            recorded = (run.test["chrf"] or {}).get("score")
            if _stale(score_of(signature), own.chrf, run, recorded, notes, "chrF's "):
                break
            arrays.append(own.chrf)
        if arrays and len(arrays) == len(row.runs):
            found[row.key] = np.stack(arrays)
    if other:
        notes.append(f"chrF of {other} rows left out: its signature is not {signature}, as most have it")
    return found


def _measure(
    name: str,
    signature: str,
    rows: Sequence[Row],
    pick: Callable[[Run], float | None],
) -> Measure:
    made = Measure(name, signature)
    for row in rows:
        mean, deviation, n = spread([pick(run) for run in row.runs])
        if mean is not None:
            made.rows[row.key] = Estimate(mean, deviation, n)
    return made


def _test(
    made: Measure,
    signature: str,
    statistics: Mapping[str, np.ndarray],
    draw: Draw,
    baseline: str | None,
    pairs: bool,
    tick: Tick,
) -> None:
    if not statistics:
        return
    score = score_of(signature)
    for key, (low, high) in measuring.intervals(statistics, score, draw, measuring.RANGE).items():
        if key in made.rows:
            made.rows[key] = made.rows[key]._replace(low=low, high=high)
    made.tests = measuring.tests(statistics, score, draw, baseline, pairs, tick)
    made.against = {test.first: test for test in made.tests if test.second == baseline}


def _lengths(
    made: Measure,
    comparison: Comparison,
    statistics: Mapping[str, np.ndarray],
    draw: Draw,
    baseline: str | None,
    tick: Tick,
) -> None:
    """Curves from the sentences' statistics; where a row has none, what its records say of the words."""
    edges = [one["hi"] for one in comparison.first.test["by_source_length"] if one["hi"] is not None]
    options = (comparison.first.record.get("config") or {}).get("metrics") or {}
    few = int(options.get("min_bucket") or _FEW)
    rows = {row.key: row for row in comparison.scored}
    known: dict[bytes, dict[str, Lengths]] = {}  # where every word is a piece, two kinds are one
    for kind in LENGTHS:
        lengths, stats = {}, {}
        for key, own in statistics.items():
            each = [found.lengths(kind) for found in rows[key].segments.values()]
            if edges and all(np.array_equal(each[0], other) for other in each[1:]):
                lengths[key], stats[key] = each[0], own
        if stats:
            same = np.stack([lengths[key] for key in stats]).tobytes() + repr(list(stats)).encode()
            if same not in known:
                score = score_of(comparison.signature)
                known[same] = measuring.curves(
                    stats, lengths, edges, few, score, draw, baseline, measuring.RANGE
                )
            for key, curve in known[same].items():
                made.lengths.setdefault(key, {})[kind] = curve
        tick()
    for kind, name in _RECORDED.items():
        for key, row in rows.items():
            if kind not in made.lengths.get(key, {}) and (curve := _recorded(row, name)).buckets:
                made.lengths.setdefault(key, {})[kind] = curve


def _recorded(row: Row, name: str) -> Lengths:
    """The buckets of the records, with their interval where there is one seed."""
    table = []
    for number, (bucket, found) in enumerate(row.buckets(name)):
        limits = row.runs[0].test[name][number].get("ci") if len(row.runs) == 1 else None
        low, high = limits or (None, None)
        table.append(
            Bucket(bucket["lo"], bucket["hi"], bucket["n"], found.mean, low, high, mark=bucket["mark"])
        )
    return Lengths(table)


def _note(comparison: Comparison, made: Evidence, pairs: bool) -> str:
    """Which tests these are, how many, how corrected, and what they do not say."""
    tests = made.bleu.tests
    if not tests or made.baseline is None:
        return ""
    against = "all pairs of rows" if pairs else f"each row against {made.baseline.name(comparison.varying)}"
    count = "1 comparison" if len(tests) == 1 else f"{len(tests)} comparisons"
    text = (
        f"tests: {against}; approximate randomisation ({made.trials} trials) and paired bootstrap "
        f"({made.samples} samples) over sentences, seeds as a random factor; two-sided, seed {made.seed}; "
        f"* p of the randomisation below {1 - made.level:.3g} after Holm's correction for {count}"
    )
    single = sum(min(test.seeds) < 2 for test in tests)
    if single:
        which = "every test has" if single == len(tests) else f"{single} of them with"
        text += (
            f"; {which} one seed on a side: that speaks of these runs only, not of the cells, "
            "and carries no mark"
        )
    return text
