"""All that the page shows, as JSON: the one thing that `page.render` is given.

The same records, options and folder give the same bytes. Floats have 6 digits after the point,
p values 8: the page rounds once more, to what it shows, and must come to what the tables have.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attnlab
from attnlab import results
from attnlab.report import beside
from attnlab.report.columns import for_people
from attnlab.report.evidence import BLEU, CHRF, Estimate, Evidence, Lengths, claimed
from attnlab.report.examples import examples
from attnlab.report.figures import styles
from attnlab.report.picks import EVERY
from attnlab.report.rows import Comparison, Report, Row, Run
from attnlab.report.settings import shared
from attnlab.sweep.identity import AXES

if TYPE_CHECKING:
    from attnlab.metrics.significance import Test
    from attnlab.report.anchors import Anchor

_DIGITS, _DIGITS_P, _DIGITS_SAMPLES = 6, 8, 4


def payload(
    report: Report,
    evidences: Sequence[Evidence],
    out: Path,
    *,
    anchors: Sequence[Anchor] = (),
    captions: Sequence[Mapping[str, str]] = (),
    anonymous: bool = False,
) -> dict[str, Any]:
    """The report as plain containers.

    Args:
        report: its comparisons.
        evidences: one for each comparison.
        out: the folder of the page, from which the records are linked.
        anchors: published results to show beside.
        captions: of the figures beside the page, by the stem of their files; for each comparison.
        anonymous: told to the page; what names people is taken off by `anonymous.scrub`, and links to
            records that would name a folder above both are left out here.
    """
    told = captions or [{} for _ in evidences]
    each = zip(report.comparisons, evidences, told, strict=True)
    found = {
        "title": report.title or "attention compared",
        "question": report.question,
        "version": attnlab.__version__,
        "axes": list(AXES),
        "palette": {
            "series": list(styles.COLOURS),
            "baseline": styles.BASELINE,
            "outside": styles.OUTSIDE,
        },
        "notes": list(report.notes),
        "unscored": list(report.unscored),
        "anonymous": anonymous,
        "anchors": [anchor.plain() for anchor in anchors],
        "comparisons": [
            _comparison(one, evidence, Path(out), anonymous) | {"figures": dict(figures)}
            for one, evidence, figures in each
        ],
    }
    made: dict[str, Any] = results.plain(_rounded(found))
    return made


def _comparison(comparison: Comparison, evidence: Evidence, out: Path, anonymous: bool) -> dict[str, Any]:
    common, own = shared(comparison.rows)
    effects = evidence.effects
    broken: list[str] = []
    sentences = examples(comparison.rows, notes=broken)
    evidence.notes += [note for note in broken if note not in evidence.notes]
    return {
        "id": comparison.slug or "main",
        "label": comparison.label,
        "languages": comparison.languages,
        "n": comparison.n,
        "origin": comparison.origin,
        "fingerprint": comparison.fingerprint,
        "signature": comparison.signature,
        "chrf_signature": comparison.chrf_signature,
        "baseline": evidence.baseline.key if evidence.baseline is not None else None,
        "level": evidence.level,
        "resamples": evidence.samples,
        "trials": evidence.trials,
        "seed": evidence.seed,
        "varying": comparison.varying,
        "constant": comparison.constant,
        "note_on_tests": evidence.note_on_tests,
        "notes": list(evidence.notes),
        "files": comparison.file("table"),
        "rows": [
            _row(row, comparison, evidence, own[row.key], out, anonymous) | {"look": look._asdict()}
            for row, look in zip(comparison.rows, styles.looks(comparison.rows), strict=True)
        ],
        "tests": [
            {
                "metric": name,
                **_tested(test),
                "first": test.first,
                "second": test.second,
                "differs": evidence.factors[test.first, test.second],
            }
            for name, measure in evidence.measures.items()
            for test in measure.tests
        ],
        "effects": None
        if effects is None
        else {
            "terms": [term._asdict() for term in effects.terms],
            "levels": [level._asdict() for level in effects.levels],
            "dropped": effects.dropped,
            "n": effects.n,
            "residual_df": effects.residual_df,
        },
        "effects_note": evidence.effects_note,
        "samples": sentences,
        "config_common": common,
    }


def _row(
    row: Row,
    comparison: Comparison,
    evidence: Evidence,
    config: Mapping[str, Any],
    out: Path,
    anonymous: bool,
) -> dict[str, Any]:
    known = evidence.of(row)
    scores = {number.name: row.spread(number.pick).mean for number in EVERY}
    aer = {credit: scores[f"aer_{credit}"] for credit in ("predicted", "input")}
    return {
        "key": row.key,
        "kind": row.kind,
        "controlled": row.controlled,
        "name": row.name(comparison.varying),
        "axes": {axis: row.cell[axis] for axis in AXES},
        "origin": row.origin or None,
        "factors": dict(row.factors),
        "settings": row.settings,
        "runs": [_run(run, row, out, anonymous) for run in row.runs],
        "failed": row.failed,
        "interrupted": row.interrupted,
        "missing": row.missing,
        "bleu": _estimate(known.bleu),
        "chrf": _estimate(known.chrf),
        "metrics": {
            name: {**(_estimate(found.rows.get(row.key)) or {}), "test": _test(found.against.get(row.key))}
            for name, found in evidence.measures.items()
            if name not in (BLEU, CHRF) and row.key in found.rows
        },
        "ter": scores["ter"],
        "perplexity": scores["perplexity"],
        "length_ratio": scores["length_ratio"],
        "aer": aer if any(value is not None for value in aer.values()) else None,
        "entropy": scores["entropy"],
        "overrides": {
            name: {"bleu": found.bleu.mean, "delta": found.delta.mean, "n": found.bleu.n}
            for name, found in row.overrides.items()
        },
        "cost": {
            "parameters": scores["parameters"],
            "attention": scores["parameters_attention"],
            **{name: scores[name] for name in ("tokens_per_s", "wall_s", "updates", "peak_memory")},
        },
        "test": _test(known.test),
        "differs": known.differs,
        "confounded": known.confounded,
        "lengths": {kind: _lengths(found) for kind, found in known.lengths.items()},
        "curve": [list(point) for point in beside.curve(row.runs[0])] if row.controlled and row.runs else [],
        "config": dict(config),
    }


def _run(run: Run, row: Row, out: Path, anonymous: bool) -> dict[str, Any]:
    chrf = run.test["chrf"]
    code = run.record.get("code") or {}
    return {
        "seed": run.seed,
        "bleu": run.test["bleu"]["score"],
        "chrf": chrf["score"] if chrf else None,
        "record": link(run.folder / results.FILES[results.DONE], out, anonymous) if row.controlled else None,
        "updates": (run.record.get("train") or {}).get("updates"),
        "wall_s": (run.record.get("train") or {}).get("wall_s"),
        "commit": code.get("commit"),
        "dirty": code.get("dirty"),
    }


def link(path: Path, out: Path, anonymous: bool = False) -> str | None:
    """The way from the folder of the page to a file; None where it would tell of folders above both."""
    path, out = path.resolve(), out.resolve()
    try:
        way = Path(os.path.relpath(path, out)).as_posix()
    except ValueError:  # another drive
        return None
    shared = Path(os.path.commonpath([path, out]))
    if anonymous and (shared == Path(shared.anchor) or shared in Path.home().parents):
        return None
    return way


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    limits = None if found.low is None else [found.low, found.high]
    return {"mean": found.mean, "sd": found.deviation, "n": found.n, "ci": limits}


def _test(test: Test | None) -> dict[str, Any] | None:
    return None if test is None else _tested(test)


def _tested(test: Test) -> dict[str, Any]:
    """A test; `significant` only where it may be claimed, `one_seed` where it may not for want of seeds."""
    return {
        "delta": test.delta,
        "ci": [test.low, test.high],
        "p_bootstrap": test.p_bootstrap,
        "p_randomisation": test.p_randomisation,
        "p_holm": test.p_holm,
        "p_holm_bootstrap": test.p_holm_bootstrap,
        "significant": claimed(test),
        "one_seed": min(test.seeds) < 2,
        "seeds": list(test.seeds),
    }


def _lengths(found: Lengths) -> dict[str, Any]:
    closed = [bucket for bucket in found.buckets if bucket.hi is not None]
    width = float(closed[-1].hi - max(closed[-1].lo - 1, 0)) if closed and closed[-1].hi else 10.0
    slope = found.slope
    return {
        "buckets": [
            {
                "label": for_people(bucket.label),
                "lo": bucket.lo,
                "hi": bucket.hi,
                "centre": bucket.centre(width),
                "n": bucket.n,
                "bleu": bucket.score,
                "ci": None if bucket.low is None else [bucket.low, bucket.high],
                "delta": bucket.delta,
                "delta_ci": None if bucket.delta_low is None else [bucket.delta_low, bucket.delta_high],
                "mark": bucket.mark,
            }
            for bucket in found.buckets
        ],
        "slope": None
        if slope is None or slope.value is None
        else {"value": slope.value, "ci": None if slope.low is None else [slope.low, slope.high]},
    }


def _rounded(value: Any, digits: int = _DIGITS) -> Any:
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, Mapping):
        return {
            key: item if key in ("config", "config_common") else _rounded(item, _digits(key, digits))
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_rounded(item, digits) for item in value]
    return value


def _digits(key: str, digits: int) -> int:
    if key == "samples":  # weights of attention: shades, and most of the page
        return _DIGITS_SAMPLES
    return _DIGITS_P if key == "p" or key.startswith("p_") else digits
