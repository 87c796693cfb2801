"""Main effects and interactions of a grid: planted ones are found, gaps are named and make no rubbish."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from attnlab.errors import UserError
from attnlab.metrics import effects

ENCODERS, SCORERS = ["uni", "bi"], ["dot", "general", "concat"]


def grid(score, *, seeds=3, noise=0.0, leave=(), draw=1, **axes):
    """One row a seed of every cell that is not left out; `score` of the options, and noise."""
    rng = np.random.default_rng(draw)
    rows = []
    for options in product(*axes.values()):
        if options not in leave:
            cell = dict(zip(axes, options, strict=True))
            rows += [(cell, float(score(*options) + rng.normal(0, noise))) for _ in range(seeds)]
    return rows


def effect(found, *options):
    (level,) = [each for each in found.levels if each.options == options]
    return level


def planted(encoder, scorer):
    """`bi` is 2 points above `uni`, `concat` 3 below the others, and `bi` with `general` has 6 of its own."""
    return (
        20 + 2 * (encoder == "bi") - 3 * (scorer == "concat") + 6 * (encoder == "bi" and scorer == "general")
    )


def test_effects_worked_by_hand():
    found = effects(grid(planted, encoder=ENCODERS, scorer=SCORERS))
    # Cells: uni 20 20 17, bi 22 28 19; mean 21; encoders 19 and 23; scorers 21, 24, 18.
    assert effect(found, "bi").effect == pytest.approx(2.0)
    assert effect(found, "uni").effect == pytest.approx(-2.0)
    assert [effect(found, name).effect for name in SCORERS] == pytest.approx([0.0, 3.0, -3.0])
    assert effect(found, "bi", "general").effect == pytest.approx(28 - 21 - 2 - 3)
    assert effect(found, "uni", "dot").effect == pytest.approx(20 - 21 + 2 - 0)
    assert (found.n, found.residual_df, found.dropped) == (18, 12, [])
    assert [(term.factors, term.df) for term in found.terms] == [
        (("encoder",), 1),
        (("scorer",), 2),
        (("encoder", "scorer"), 2),
    ]
    assert [term.sum_sq for term in found.terms] == pytest.approx([18 * 4, 6 * 18, 3 * (4 * 1 + 2 * 4)])
    # Seeds of a cell agree: there is nothing that a test could set the effects against.
    assert all(term.p is None and term.F is None for term in found.terms)


def test_a_planted_interaction_is_found_in_noise_and_no_other():
    def score(encoder, scorer, window):
        return planted(encoder, scorer)

    planted_terms = [("encoder",), ("scorer",), ("encoder", "scorer")]
    chance = []
    for draw in range(60):
        axes = {"encoder": ENCODERS, "scorer": SCORERS, "window": ["none", "local"]}
        found = effects(grid(score, noise=1.0, draw=draw, **axes))
        p = {term.factors: term.p for term in found.terms}
        assert max(p.pop(term) for term in planted_terms) < 1e-3
        assert set(p) == {("window",), ("encoder", "window"), ("scorer", "window")}
        chance += p.values()
    assert 0 < sum(each < 0.05 for each in chance) <= 18  # of 180; 9 are expected
    level = effect(found, "bi", "general")
    assert level.low < 2.0 < level.high
    assert level.effect == pytest.approx(2.0, abs=0.7)


@pytest.mark.parametrize("lost", [0, 5])
def test_tests_are_those_of_statsmodels_type_ii(lost):
    rows = grid(planted, noise=1.0, encoder=ENCODERS, scorer=SCORERS)
    rows = rows[lost:] if lost < 3 else [row for at, row in enumerate(rows) if at % lost or not at]
    found = effects(rows)
    table = pd.DataFrame([{**options, "score": score} for options, score in rows])
    expected = anova_lm(ols("score ~ C(encoder, Sum) * C(scorer, Sum)", table).fit(), typ=2)
    names = ["C(encoder, Sum)", "C(scorer, Sum)", "C(encoder, Sum):C(scorer, Sum)"]
    for term, name in zip(found.terms, names, strict=True):
        row = expected.loc[name]
        assert (term.df, term.sum_sq) == pytest.approx((row["df"], row["sum_sq"]))
        assert (term.F, term.p) == pytest.approx((row["F"], row["PR(>F)"]))
        residual = expected.loc["Residual", "sum_sq"]
        assert term.share == pytest.approx(row["sum_sq"] / (row["sum_sq"] + residual))
    assert found.residual_df == expected.loc["Residual", "df"]


def test_intervals_are_those_of_the_linear_model():
    rows = grid(planted, noise=1.0, encoder=ENCODERS, scorer=SCORERS)
    found = effects(rows, max_order=1)
    table = pd.DataFrame([{**options, "score": score} for options, score in rows])
    limits = ols("score ~ C(encoder, Sum) + C(scorer, Sum)", table).fit().conf_int().to_numpy()
    # patsy leaves the last option in alphabetical order out, as the coding here does.
    for row, options in zip(limits[1:], [("bi",), ("concat",), ("dot",)], strict=True):
        level = effect(found, *options)
        assert (level.low, level.high) == pytest.approx(tuple(row))


def test_a_decoder_without_attention_has_no_scorer():
    def score(decoder, scorer):
        return {"fixed": 10, "plain": 20, "feed": 22}[decoder] + {None: 0, "dot": -1, "general": 1}[scorer]

    cells = [("fixed", "dot"), ("fixed", "general"), ("plain", None), ("feed", None)]
    rows = grid(
        score, noise=0.1, leave=cells, decoder=["fixed", "plain", "feed"], scorer=["dot", "general", None]
    )
    found = effects(rows)
    assert [(term.factors, term.df) for term in found.terms] == [
        *[(("decoder",), 2), (("scorer",), 1), (("decoder", "scorer"), 1)]
    ]
    assert len(found.dropped) == 1
    assert "decoder:scorer" in found.dropped[0]
    assert "1 of 2" in found.dropped[0]
    # The scorers are compared among the decoders that have one; the decoders at the average scorer.
    assert effect(found, "general").effect == pytest.approx(1.0, abs=0.1)
    assert effect(found, "fixed").effect == pytest.approx(10 - 52 / 3, abs=0.1)
    p = {term.factors: term.p for term in found.terms}
    assert p["decoder",] < 1e-6
    assert p["scorer",] < 1e-6
    assert p["decoder", "scorer"] > 0.05
    assert found.residual_df == 15 - 5


def test_an_axis_that_applies_or_not_is_compared_as_such():
    found = effects(
        grid(lambda window, encoder: 3.0 * (window is None), window=["local", None], encoder=["a", "b"])
    )
    assert effect(found, "local").effect == pytest.approx(-1.5)


def test_axes_that_always_change_together_are_named_and_have_no_numbers():
    rows = [
        ({"encoder": name, "window": name * 2, "scorer": scorer}, score + at)
        for name, score in (("a", 1.0), ("b", 5.0))
        for scorer in ("dot", "general")
        for at in (0.0, 0.5)
    ]
    found = effects(rows)
    named = {line.partition(":  ")[0].split(": ")[0] for line in found.dropped}
    assert {"encoder", "window"} <= named
    assert {term.factors for term in found.terms} == {("scorer",)}
    assert {level.factors for level in found.levels} == {("scorer",)}


def test_one_seed_a_cell_leaves_nothing_to_test_the_whole_model_against():
    found = effects(grid(planted, seeds=1, encoder=ENCODERS, scorer=SCORERS))
    assert found.residual_df == 0
    assert all((term.F, term.p, term.share) == (None, None, None) for term in found.terms)
    assert all(level.low is None and level.high is None for level in found.levels)
    main = effects(grid(planted, seeds=1, encoder=ENCODERS, scorer=SCORERS), max_order=1)
    assert main.residual_df == 2
    assert all(term.p is not None for term in main.terms)


def test_axes_of_one_option_are_left_out():
    found = effects(grid(lambda *_: 1.0, encoder=["bi"], scorer=["dot"]))
    assert (found.terms, found.levels, found.n) == ([], [], 3)
    assert effects([]) == ([], [], 0, 0, [])


def test_equal_scores_have_no_effects():
    found = effects(grid(lambda *_: 12.3, encoder=ENCODERS, scorer=SCORERS))
    assert all(term.p is None and term.sum_sq == pytest.approx(0, abs=1e-9) for term in found.terms)
    assert all(level.effect == pytest.approx(0, abs=1e-9) for level in found.levels)


def test_rows_that_do_not_fit_together_are_refused():
    with pytest.raises(UserError, match="different axes"):
        effects([({"encoder": "a"}, 1.0), ({"scorer": "b"}, 2.0)])
    with pytest.raises(UserError, match="no number"):
        effects([({"encoder": "a"}, 1.0), ({"encoder": "b"}, float("nan"))])


def test_an_option_of_one_cell_differs_from_its_own_neighbour_by_what_the_cells_differ():
    # `narrow` stands in one cell of a crossed grid with an interaction: 7 below the same cell with `wide`.
    def score(encoder, scorer, window):
        return planted(encoder, scorer) - 7 * (window == "narrow")

    lone = [each for each in product(ENCODERS, SCORERS, ["narrow"]) if each[:2] != ("bi", "general")]
    axes = {"encoder": ENCODERS, "scorer": SCORERS, "window": ["wide", "narrow"]}
    found = effects(grid(score, noise=0.01, leave=lone, **axes))
    assert effect(found, "wide").effect - effect(found, "narrow").effect == pytest.approx(7, abs=0.05)
