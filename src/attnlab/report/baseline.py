"""The row that all others are compared with."""

from __future__ import annotations

from attnlab.errors import UserError
from attnlab.report.rows import Comparison, Row

_SHOWN = 6  # names in a message


def find(comparison: Comparison, wanted: str | None = None) -> Row | None:
    """The baseline: the row that is called so, else the cell without attention, else the first row.

    Args:
        comparison: rows; only those with a run can be a baseline.
        wanted: a row's key, cell or readable name, or a part of one that only one row has.

    Returns:
        None where there is only one row with a run.

    Raises:
        UserError: no row, or several, are called so.
    """
    rows = comparison.scored
    if wanted is not None:
        return _named(comparison, rows, wanted)
    if len(rows) < 2:
        return None
    return next((row for row in rows if row.controlled and not row.attends), rows[0])


def is_there(comparison: Comparison, wanted: str) -> bool:
    """Whether any row of the comparison that has a run may be meant."""
    return any(
        wanted.casefold() in name.casefold() for row in comparison.scored for name in _names(comparison, row)
    )


def _named(comparison: Comparison, rows: list[Row], wanted: str) -> Row:
    exact = [row for row in rows if wanted in _names(comparison, row)]
    part = [row for row in rows if any(wanted.casefold() in n.casefold() for n in _names(comparison, row))]
    found = exact or part
    if len(found) == 1:
        return found[0]
    told = [row.name(comparison.varying) for row in (found or rows)]
    if len(set(told)) < len(told):
        told = [row.key for row in (found or rows)]
    more = f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    listed = "; ".join(told[:_SHOWN]) + more
    if found:
        raise UserError(
            f"--baseline {wanted}: {len(found)} rows are called so: {listed}; write more of the name"
        )
    raise UserError(f"--baseline {wanted}: no row of {comparison.label} is called so; there are: {listed}")


def _names(comparison: Comparison, row: Row) -> list[str]:
    return [row.key, row.cell_id, row.name(comparison.varying), row.name()]
