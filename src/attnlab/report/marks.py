"""The marks of a table, and the lines above and below it that say what it is and what they mean."""

from __future__ import annotations

from attnlab.report.evidence import Evidence
from attnlab.report.picks import AER, ATTENTION
from attnlab.report.rows import MISSING, Comparison, Row

SIGNIFICANT, CONFOUNDED, UNCONTROLLED, FEW = "*", "†", "‡", "°"
_LISTED = 12  # rows named behind a list of factors


def heading(comparison: Comparison, evidence: Evidence) -> list[str]:
    """What holds for every row: test set, origin, languages, size, signature, axes, baseline, files."""
    about = [comparison.origin] if comparison.origin else []
    about += [f"fingerprint {comparison.content}"] if comparison.content else []
    lines = [f"{comparison.label}: {comparison.n} sentences" + (f" ({'; '.join(about)})" if about else "")]
    lines.append(f"BLEU {comparison.signature}")
    if comparison.constant and len(comparison.rows) > 1:
        same = ", ".join(f"{axis} {option}" for axis, option in comparison.constant.items())
        lines.append(f"all rows: {same}")
    if evidence.baseline is not None:
        lines.append(f"baseline: {evidence.baseline.name(comparison.varying)}")
    if comparison.several:
        lines.append(f"files: {comparison.file('table')}.{{csv,md,tex}}, {comparison.file('tests')}.csv, ...")
    return lines


def legend(
    comparison: Comparison,
    evidence: Evidence,
    *,
    wide: bool = True,
    tampered: bool = True,
    paper: bool = False,
) -> list[str]:
    """What the columns and marks of the table mean, where they are used.

    Args:
        comparison: the rows.
        evidence: of the comparison.
        wide: the table has the columns beside the main ones too.
        tampered: the table has the columns of tampered weights.
        paper: the table is read alone: no file is named, and it has no column of attention's parameters.
    """
    rows, lines = comparison.rows, []
    if any(found.deviation is not None for found in evidence.bleu.rows.values()):
        several = any(len(row.runs) > 1 and not row.controlled for row in rows)
        outputs = " (of a system from outside: over its outputs)" if several else ""
        lines.append(f"mean ± sample standard deviation over the seeds{outputs}")
    if any(found.low is not None for found in evidence.bleu.rows.values()):
        lines.append(
            f"[low, high]: {100 * evidence.level:g} % bootstrap interval over sentences, and over seeds "
            f"where there are several; {evidence.samples} samples, seed {evidence.seed}"
        )
    if evidence.note_on_tests:
        lines.append(evidence.note_on_tests)
    lines += confounded(comparison, evidence)
    if any(not row.controlled for row in rows):
        lines.append(
            f"{UNCONTROLLED} a system from outside: not controlled, for nothing is known of its training"
        )
    if any(row.kind == MISSING for row in rows):
        lines.append("rows without numbers: cells that the study asks for and that have no finished run")
    if any(row.spread(AER.pick).n for row in rows):
        text = (
            "AER: alignment error rate (0 to 1, lower is better) of the attention weights against the gold "
            "links, the weights of a step credited to the token that it emits"
        )
        if not paper:
            text += " (`predicted`); credited to the token that it reads (`input`): "
            text += f"{comparison.file('table')}.csv"
        lines.append(text)
    curves = [evidence.of(row).lengths.get("source_words") for row in rows]
    if any(
        curve is not None and curve.slope is not None and curve.slope.value is not None for curve in curves
    ):
        lines.append("slope: points of BLEU for 10 more words of the source, with its interval")
    if not paper and any(row.spread(ATTENTION.pick).n for row in rows):
        lines.append("of them attention: parameters of the scorer and the window")
    if tampered and any(row.overrides for row in rows):
        lines.append(
            "BLEU, uniform and so on: with attention weights tampered with at test time, and in brackets the "
            "difference from the same runs' BLEU"
        )
    return [*lines, *(_wide(comparison, evidence) if wide else [])]


def confounded(comparison: Comparison, evidence: Evidence) -> list[str]:
    """The rows that differ from the baseline in more than one factor, with every factor."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in comparison.rows:
        known = evidence.of(row)
        if known.confounded and known.bleu is not None and row.controlled:
            groups.setdefault(tuple(known.differs), []).append(row)
    if not groups:
        return []
    if evidence.baseline is not None and not evidence.baseline.controlled:
        return [
            f"{CONFOUNDED} the baseline is a system from outside: a difference from it cannot be put down to "
            "any one factor"
        ]
    lines = [
        f"{CONFOUNDED} differs from the baseline in more than one factor, so that its difference cannot be "
        "put down to one:"
    ]
    for factors, rows in groups.items():
        names = [row.name(comparison.varying) for row in rows]
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        lines.append(f"{CONFOUNDED} {', '.join(factors)}: {'; '.join(names[:_LISTED])}{more}")
    return lines


def _wide(comparison: Comparison, evidence: Evidence) -> list[str]:
    lines = ["length columns: BLEU by white-space words of the source, n sentences in each"]
    marks = {
        bucket.mark
        for row in comparison.rows
        for curve in evidence.of(row).lengths.values()
        for bucket in curve.buckets
    }
    if "few" in marks:
        lines.append(f"{FEW} few sentences in the bucket: the score is not to be relied on")
    if "too_short" in marks:
        lines.append("short: no reference in the bucket has a 4-gram, BLEU is not defined")
    return lines
