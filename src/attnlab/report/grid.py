"""Main effects and interactions of a comparison's axes, where its runs form a grid with seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlab.report.rows import CELL, Comparison

if TYPE_CHECKING:
    from attnlab.metrics.effects import Effects


def effects_of(comparison: Comparison, level: float) -> tuple[Effects | None, str]:
    """Effects of the axes on BLEU over the single runs; or None, and in a line why there are none.

    Args:
        comparison: its cells, each with its runs; systems from outside have no axes.
        level: of the intervals.
    """
    cells = [row for row in comparison.scored if row.kind == CELL]
    # A decoder without attention has no scorer and no window: it crosses with neither.
    rows = [row for row in cells if all(row.cell[axis] is not None for axis in comparison.varying)]
    apart = [row.name(comparison.varying) for row in cells if row not in rows]
    without = f"without {', '.join(apart)}, to which some axes do not apply" if apart else ""
    axes = [axis for axis in comparison.varying if len({row.cell[axis] for row in rows}) > 1]
    if len(axes) < 2:
        which = f"only {axes[0]} varies" if axes else "no axis varies"
        which = f"{without}, {which}" if without else which
        return None, f"no main effects and interactions: {which}; at least two axes are needed"
    if max((len(row.runs) for row in rows), default=0) < 2:
        return None, "no main effects and interactions: no cell has two seeds, so nothing says what is chance"
    origins = {row.origin for row in rows}
    if len(origins) > 1:
        return None, "no main effects and interactions: the rows are of several versions"
    if any(row.settings for row in rows):
        return None, (
            "no main effects and interactions: the rows differ in settings beside the axes, which would be "
            "mixed into them; report cells with the same settings"
        )
    from attnlab.metrics.effects import effects

    runs = [
        ({axis: row.cell[axis] for axis in axes}, float(run.test["bleu"]["score"]))
        for row in rows
        for run in row.runs
    ]
    found = effects(runs, level=level)
    if not found.residual_df:
        return None, "no main effects and interactions: there are as many terms as runs; train more seeds"
    return found._replace(dropped=[*([without] if without else []), *found.dropped]), ""
