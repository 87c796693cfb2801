"""The long lists behind the table, as CSV with all digits: every test, every length bucket, every effect."""

from __future__ import annotations

from typing import Any

from attnlab.report.evidence import Evidence
from attnlab.report.rows import Comparison, Row
from attnlab.report.table import csv_text, test_fields
from attnlab.segments import LENGTHS

_TESTS = (
    *("metric", "first", "second", "first_name", "second_name", "delta", "delta_low", "delta_high"),
    *("p_bootstrap", "p_randomisation", "p_holm", "p_holm_bootstrap", "significant", "mark"),
    *("seeds_first", "seeds_second", "factors", "level", "samples", "trials", "seed", "signature"),
)
_LENGTHS = (
    *("metric", "key", "name", "kind", "lo", "hi", "label", "n", "score", "low", "high", "delta"),
    *("delta_low", "delta_high", "mark", "slope", "slope_low", "slope_high", "baseline", "level", "samples"),
    *("seed", "signature"),
)
_EFFECTS = ("what", "factors", "options", "df", "sum_sq", "F", "p", "share", "effect", "low", "high")


def tests_csv(comparison: Comparison, evidence: Evidence) -> str:
    """Every test of every metric: difference, interval, both p, Holm's correction, seeds, how it was drawn.

    `factors` are those in which the two rows differ; `mark` is withheld where a side has one seed.
    """
    rows = {row.key: row for row in comparison.rows}
    lines: list[dict[str, Any]] = []
    for name, measure in evidence.measures.items():
        for test in measure.tests:
            first, second = rows[test.first], rows[test.second]
            lines.append(
                {
                    "metric": name,
                    "first": test.first,
                    "second": test.second,
                    "first_name": first.name(comparison.varying),
                    "second_name": second.name(comparison.varying),
                    "delta": test.delta,
                    **test_fields(test),
                    "seeds_first": test.seeds[0],
                    "seeds_second": test.seeds[1],
                    "factors": " ".join(
                        factor.replace(" ", "_") for factor in evidence.factors[test.first, test.second]
                    ),
                    **_drawn(evidence),
                    "trials": evidence.trials,
                    "signature": measure.signature,
                }
            )
    return csv_text(lines, _TESTS)


def lengths_csv(comparison: Comparison, evidence: Evidence) -> str:
    """Every bucket of every row, by every kind of length; each line has the slope of its curve too."""
    lines: list[dict[str, Any]] = []
    for name, measure in evidence.measures.items():
        for row in comparison.rows:
            for kind in LENGTHS:
                if kind in measure.lengths.get(row.key, {}):
                    lines += _curve(name, row, kind, comparison, evidence)
    return csv_text(lines, _LENGTHS)


def _curve(
    name: str, row: Row, kind: str, comparison: Comparison, evidence: Evidence
) -> list[dict[str, Any]]:
    measure = evidence.measures[name]
    curve = measure.lengths[row.key][kind]
    slope = curve.slope
    return [
        {
            "metric": name,
            "key": row.key,
            "name": row.name(comparison.varying),
            "kind": kind,
            **{field: getattr(bucket, field) for field in ("lo", "hi", "label", "n", "score", "low", "high")},
            **{field: getattr(bucket, field) for field in ("delta", "delta_low", "delta_high", "mark")},
            "slope": None if slope is None else slope.value,
            "slope_low": None if slope is None else slope.low,
            "slope_high": None if slope is None else slope.high,
            "baseline": evidence.baseline.key if evidence.baseline is not None else None,
            **_drawn(evidence),
            "signature": measure.signature,
        }
        for bucket in curve.buckets
    ]


def effects_csv(evidence: Evidence) -> str:
    """The terms of the linear model, then the effect of each option; only the header where there is none."""
    found = evidence.effects
    lines: list[dict[str, Any]] = []
    if found is not None:
        for term in found.terms:
            lines.append({"what": "term", **term._asdict(), "factors": " x ".join(term.factors)})
        for level in found.levels:
            names = {"factors": " x ".join(level.factors), "options": ", ".join(level.options)}
            lines.append({"what": "level", **level._asdict(), **names})
        lines += [{"what": "dropped", "factors": text} for text in found.dropped]
    return csv_text(lines, _EFFECTS)


def _drawn(evidence: Evidence) -> dict[str, Any]:
    return {"level": evidence.level, "samples": evidence.samples, "seed": evidence.seed}
