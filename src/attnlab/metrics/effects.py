"""Main effects and interactions of a grid's axes: a linear model over its runs (statsmodels' least squares).

Every axis is coded by its deviations from the mean of its options (sum coding), so a main effect is what an
option adds to the average cell. Terms are tested by type II F tests (Fox 2016, Applied Regression Analysis,
section 8.2): what a term explains beyond all terms that don't contain it, over the residual of the whole
model, that is, over the variation of seeds within cells (and of the orders left out). In a grid without
gaps this is the usual analysis of variance.

Grids have gaps. An option of None says that an axis does not apply (a decoder without attention has no
scorer): such runs count as average on that axis, so that the scorers are compared among those that have
one. Where cells are missing, some degrees of freedom of a term cannot be told from other terms. They are
taken off it and it is named in `dropped`; a term with none left is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from attnlab.errors import UserError
from attnlab.metrics.seeds import ATOL

Option = str | None
Row = tuple[Mapping[str, Option], float]


class Term(NamedTuple):
    """A test of one axis or interaction; `F` and `p` are None without residual degrees of freedom.

    `share` is partial eta squared: the term's sum of squares over that and the residual's.
    """

    factors: tuple[str, ...]
    df: int
    sum_sq: float
    F: float | None
    p: float | None
    share: float | None


class Level(NamedTuple):
    """What options add, in points of score, with a 95 % (`level`) interval; None without residual df.

    For one axis: above the average option, with every option of the other axes counted alike, from the model
    of the terms that the cells determine wholly (of main effects alone where they do not determine all of
    these). For several: what the combination adds beyond its parts, from the whole model.
    """

    factors: tuple[str, ...]
    options: tuple[str, ...]
    effect: float
    low: float | None
    high: float | None


class Effects(NamedTuple):
    """Tests and effects over n runs; `dropped` tells in words what the grid cannot tell apart."""

    terms: list[Term]
    levels: list[Level]
    n: int
    residual_df: int
    dropped: list[str]


def effects(rows: Sequence[Row], max_order: int = 2, *, level: float = 0.95) -> Effects:
    """Effects of the axes on the score of single runs.

    Args:
        rows: for each run its option of every axis (None: the axis does not apply) and its score. Seeds of a
            cell are rows with the same options. Axes with one option are left out.
        max_order: most axes in one interaction; 1 gives main effects alone.
        level: of the intervals.

    Raises:
        UserError: the runs name different axes, or a score is no number.
    """
    axes = _axes(rows)
    y = np.array([score for _, score in rows], dtype=np.float64)
    if not np.isfinite(y).all():
        raise UserError("a score is no number; leave its run out")
    codes = {axis: _codes([options[axis] for options, _ in rows]) for axis in axes}
    blocks: dict[tuple[str, ...], np.ndarray] = {
        factors: _product([codes[axis][0] for axis in factors])
        for order in range(1, min(max_order, len(axes)) + 1)
        for factors in combinations(axes, order)
    }
    if not blocks or len(y) < 2:
        return Effects([], [], len(y), max(len(y) - 1, 0), [])
    whole = _fit(y, list(blocks.values()))
    residual_df, error = int(whole.df_resid), float(whole.ssr)
    nothing = len(y) * ATOL**2 + 1e-12 * float(((y - y.mean()) ** 2).sum())  # rounding, as a sum of squares
    error = error if error > nothing else 0.0
    terms, kept, dropped = [], [], []
    solid: dict[tuple[str, ...], np.ndarray] = {}  # of which the cells tell every degree of freedom apart
    for factors, block in blocks.items():
        others = [each for names, each in blocks.items() if not set(factors) <= set(names)]
        below = _fit(y, others)
        above = _fit(y, [*others, block])
        df = round(below.df_resid - above.df_resid)
        name = ":".join(factors)
        if df < block.shape[1]:
            left = f"{df} of {block.shape[1]} degrees of freedom left" if df else "left out"
            dropped.append(f"{name}: not told apart from other terms by the cells there are ({left})")
        else:
            solid[factors] = block
        if df:
            squares = float(below.ssr - above.ssr)
            squares = squares if squares > nothing else 0.0
            terms.append(_term(factors, df, squares, error, residual_df))
            kept.append(factors)
    main: dict[tuple[str, ...], np.ndarray] = {(axis,): blocks[(axis,)] for axis in axes}
    spread = error / residual_df if residual_df else None
    levels = []
    for factors in kept:
        chosen = blocks if len(factors) > 1 else solid if set(main) <= set(solid) else main
        levels += _levels(factors, y, chosen, codes, spread, residual_df, level)
    return Effects(terms, levels, len(y), residual_df, dropped)


def _axes(rows: Sequence[Row]) -> list[str]:
    """The axes with at least two options, in the order of the first run."""
    if not rows:
        return []
    names = list(rows[0][0])
    for options, _ in rows:
        if set(options) != set(names):
            raise UserError(f"runs name different axes: {', '.join(names)} and {', '.join(options)}")
    return [name for name in names if len({options[name] for options, _ in rows}) > 1]


def _codes(options: Sequence[Option]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Sum coding [runs, columns] of an axis, and each option's row; None is a row of zeros."""
    there = sorted({option for option in options if option is not None})
    if None in options and len(there) == 1:  # it applies or it does not
        coded: dict[Option, np.ndarray] = {there[0]: np.ones(1), None: -np.ones(1)}
    else:
        eye = np.vstack([np.eye(len(there) - 1), -np.ones(len(there) - 1)])
        coded = {**dict(zip(there, eye, strict=True)), None: np.zeros(len(there) - 1)}
    return np.array([coded[option] for option in options]), {name: coded[name] for name in there}


def _product(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Products [runs, columns] of every column of one part with every column of the others."""
    block = parts[0]
    for part in parts[1:]:
        block = (block[:, :, None] * part[:, None, :]).reshape(len(block), -1)
    return block


def _fit(y: np.ndarray, blocks: Sequence[np.ndarray]) -> Any:
    from statsmodels.regression.linear_model import OLS  # slow to import, and needed here alone

    left, sizes, _ = np.linalg.svd(_design(len(y), blocks), full_matrices=False)
    return OLS(y, left[:, sizes > 1e-9 * sizes[0]]).fit()  # as many columns as can be told apart


def _design(n: int, blocks: Sequence[np.ndarray]) -> np.ndarray:
    return np.hstack([np.ones((n, 1)), *blocks])


def _term(factors: tuple[str, ...], df: int, squares: float, error: float, residual_df: int) -> Term:
    from scipy.special import fdtrc

    if not residual_df:
        return Term(factors, df, squares, None, None, None)
    share = squares / (squares + error) if squares + error else None
    if not error:  # every cell's runs agree: F is infinite, or there is nothing to test
        return Term(factors, df, squares, None, None, share)
    ratio = (squares / df) / (error / residual_df)
    return Term(factors, df, squares, ratio, float(fdtrc(df, residual_df, ratio)), share)


def _levels(
    factors: tuple[str, ...],
    y: np.ndarray,
    blocks: Mapping[tuple[str, ...], np.ndarray],
    codes: Mapping[str, tuple[np.ndarray, dict[str, np.ndarray]]],
    spread: float | None,
    residual_df: int,
    level: float,
) -> list[Level]:
    """Effects of a term's options; those that the cells there are do not determine are left out."""
    from scipy.special import stdtrit

    design = _design(len(y), list(blocks.values()))
    inverse = np.linalg.pinv(design.T @ design)
    onto = inverse @ (design.T @ design)  # a contrast is determined where this leaves it as it is
    beta = inverse @ (design.T @ y)
    start = 1
    for names, block in blocks.items():
        if names == factors:
            break
        start += block.shape[1]
    found = []
    for options in product(*(codes[axis][1] for axis in factors)):
        contrast = np.zeros(design.shape[1])
        row = _product([codes[axis][1][option][None] for axis, option in zip(factors, options, strict=True)])
        contrast[start : start + row.shape[1]] = row[0]
        if not np.allclose(contrast @ onto, contrast, atol=1e-8):
            continue
        effect = float(contrast @ beta)
        if spread is None:
            found.append(Level(factors, options, effect, None, None))
            continue
        deviation = float(np.sqrt(max(0.0, float(contrast @ inverse @ contrast)) * spread))
        reach = float(stdtrit(residual_df, (1 + level) / 2)) * deviation
        found.append(Level(factors, options, effect, effect - reach, effect + reach))
    return found
