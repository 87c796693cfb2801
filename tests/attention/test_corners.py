"""The corners that always hold, whatever is trained."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.attention import Attention, Global, LocalM, LocalP, Scorer

from .grid import REACH, SCORERS, WINDOWS, D, ask, make, normal

SIZE = 4


class Given(Scorer):
    """Scores that a test names: e_j is the first number of h_j, whatever asks."""

    def forward(self, query, keys):
        return keys[..., 0].unsqueeze(-2) + 0 * query.sum(-1, keepdim=True)


def given_scores(scores: torch.Tensor, window, steps: int = 1):
    """Weights [T,S] and context [T,K] of one sentence whose states are [e_j, j, 1]."""
    length = len(scores)
    states = torch.stack((scores, torch.arange(length).to(scores), torch.ones_like(scores)), dim=-1)
    query = torch.ones(1, steps, 3).to(scores)
    context, weights = ask(
        Attention(Given(3, 3), window), query, states.unsqueeze(0), torch.tensor([length]), False
    )
    return weights[0], context[0]


@pytest.mark.parametrize("scorer", SCORERS)
def test_one_token_has_weight_1_and_the_context_is_its_state(scorer):
    query, states = normal(1, 3, SIZE, seed=1), normal(1, 1, SIZE, seed=2)
    context, weights = ask(make(scorer, "global", SIZE), query, states, torch.tensor([1]), False)
    assert torch.equal(weights, torch.ones_like(weights))
    torch.testing.assert_close(context, states.expand_as(context), rtol=0, atol=0)


@given(st.integers(1, 40), st.floats(-100, 100))
def test_equal_scores_give_equal_weights_and_the_mean_state(length, score):
    weights, context = given_scores(torch.full((length,), score, dtype=torch.float64), Global(3))
    torch.testing.assert_close(weights, torch.full_like(weights, 1 / length))
    assert context[0, 1].item() == pytest.approx((length - 1) / 2)


@given(st.integers(1, 12), st.integers(1, 5))
def test_equal_scores_in_a_monotonic_window_give_one_over_its_size(length, half_width):
    weights, _ = given_scores(torch.zeros(length, dtype=torch.float64), LocalM(3, half_width), steps=15)
    for t in range(1, 16):
        middle = min(t, length)
        window = [j for j in range(1, length + 1) if abs(j - middle) <= half_width]
        expected = [1 / len(window) if j in window else 0.0 for j in range(1, length + 1)]
        assert weights[t - 1].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("half_width", [1, 2, 3])
def test_beyond_the_end_of_the_source_the_monotonic_window_stays_at_the_last_token(half_width):
    scores = torch.tensor([0.3, -1.0, 0.7, 0.1], dtype=torch.float64)
    weights, _ = given_scores(scores, LocalM(3, half_width), steps=12)
    assert torch.isfinite(weights).all()
    for t in range(4, 12):
        assert torch.equal(weights[t], weights[3])
    assert weights[7].ne(0).sum() == min(half_width, 3) + 1


def test_a_monotonic_window_wider_than_the_source_is_global():
    scores = torch.tensor([0.3, -1.0, 0.7, 0.1, 2.0], dtype=torch.float64)
    wide, _ = given_scores(scores, LocalM(3, half_width=50), steps=9)
    everywhere, _ = given_scores(scores, Global(3), steps=9)
    torch.testing.assert_close(wide, everywhere)


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("pattern", ["one_high", "one_low", "all_high", "all_low", "opposite"])
def test_scores_at_the_largest_finite_value_give_no_nan(window, precision, pattern):
    top = torch.finfo(precision).max
    scores = {
        "one_high": [0.0, top, 0.0, 0.0],
        "one_low": [0.0, -top, 0.0, 0.0],
        "all_high": [top] * 4,
        "all_low": [-top] * 4,
        "opposite": [-top, top, -top, -top],
    }[pattern]
    states = torch.zeros(1, 6, 3, dtype=precision)
    states[0, :4, 0] = torch.tensor(scores, dtype=precision)
    states[0, 4:, 0] = top  # the padding screams too
    states.requires_grad_()
    window_of_three = WINDOWS[window][0](3).to(precision)
    query = torch.ones(1, 4, 3, dtype=precision, requires_grad=True)

    attention = Attention(Given(3, 3), window_of_three)
    _, weights = ask(attention, query, states, torch.tensor([4]), False)
    weights.float().square().sum().backward()

    assert torch.isfinite(weights).all() and (weights[..., 4:] == 0).all()
    assert not any(x.grad.isnan().any() for x in (states, query))
    assert not any(p.grad.isnan().any() for p in window_of_three.parameters())
    if pattern in ("one_high", "opposite") and window in ("global", "local_m"):
        assert (weights[0, :, 1] == 1).all()
    if pattern.startswith("all") and window == "global":
        assert (weights[0, :, :4] == 0.25).all()


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=8), st.data())
def test_a_score_growing_without_bound_takes_all_the_weight(scores, data):
    place = data.draw(st.integers(0, len(scores) - 1))
    shares = []
    for growth in [0, 10, 100, 1000]:
        grown = torch.tensor(scores, dtype=torch.float64)
        grown[place] += growth
        weights, context = given_scores(grown, Global(3))
        shares.append(weights[0, place].item())
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert context[0, 1].item() == pytest.approx(place)


@given(
    st.sampled_from(sorted(SCORERS)),
    st.sampled_from(["global", "local_m"]),
    st.integers(1, 9),
    st.integers(0, 10**6),
    st.floats(0.1, 5),
)
def test_the_context_stays_in_the_convex_hull_of_the_states(scorer, window, length, seed, spread):
    attention = make(scorer, window, SIZE, seed=seed, spread=spread)
    query, states = normal(1, 11, SIZE, seed=seed + 1), normal(1, length, SIZE, seed=seed + 2)
    context, _ = ask(attention, query, states, torch.tensor([length]), False)
    # A point is in the hull if no direction tells it from all the corners.
    directions = torch.cat(
        (torch.eye(SIZE), torch.randn(64, SIZE, generator=torch.Generator().manual_seed(seed)))
    )
    along = directions.double() @ states[0].T
    point = directions.double() @ context[0].T
    slack = 1e-9
    assert (point >= along.min(-1, keepdim=True).values - slack).all()
    assert (point <= along.max(-1, keepdim=True).values + slack).all()


def test_and_leaves_it_under_local_p():
    # All states are 1: the hull is that point, and weights with a sum below 1 shorten it.
    attention = make("additive", "local_p", SIZE)
    context, weights = ask(
        attention, normal(1, 3, SIZE), torch.ones(1, 6, SIZE).double(), torch.tensor([6]), False
    )
    assert (weights.sum(-1) < 0.99).all()
    assert (context < 0.99).all()


@pytest.mark.parametrize("window", WINDOWS)
def test_places_beyond_the_reach_of_location_have_weight_0(window):
    attention = make("location", window, SIZE)
    length = REACH + 5
    query, states = normal(1, length + 5, SIZE, seed=1), normal(1, length, SIZE, seed=2)
    context, weights = ask(attention, query, states, torch.tensor([length]), False)
    assert (weights[..., REACH:] == 0).all()
    assert weights[..., REACH - 1].ne(0).any()
    if window == "local_m":  # step 23 and later look at 21..25 and beyond only
        assert (weights[0, REACH + D :] == 0).all() and (context[0, REACH + D :] == 0).all()


def test_the_predicted_centre_spans_the_sentence_and_uses_its_own_length():
    window = LocalP(2, half_width=1).double()
    with torch.no_grad():
        window.W_p.weight.copy_(torch.eye(2) * 100)
        window.v_p.copy_(torch.tensor([40.0, 0.0]))
    query = torch.tensor([[[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]]).double().expand(3, 3, 2)
    where = window.positions(query, torch.tensor([1, 10, 0]), torch.tensor([1, 2, 3]))
    assert where.centre.flatten().tolist() == pytest.approx([0, 0.5, 1, 0, 5, 10, 0, 0, 0], abs=1e-9)
    assert (where.first + 2).tolist() == [[1, 1, 1], [1, 5, 10], [0, 0, 0]]  # m, from the index of m - D
    assert where.inside.sum(-1).tolist() == [[1, 1, 1], [2, 3, 2], [0, 0, 0]]


def test_the_monotonic_centre_is_exact_in_half_precision():
    query = torch.zeros(1, 1, 2, dtype=torch.bfloat16)
    where = LocalM(2, half_width=1).positions(query, torch.tensor([400]), torch.tensor([301]))
    assert where.centre.item() == where.places[0, 0, 1].item() == 301


@pytest.mark.parametrize("window", [name for name in WINDOWS if name != "global"])
@pytest.mark.parametrize("half_width", [0, -1])
def test_a_half_width_below_1_is_refused(window, half_width):
    with pytest.raises(ValueError, match=rf"window\.half_width={half_width}.*at least 1"):
        WINDOWS[window][0](SIZE, half_width=half_width)
