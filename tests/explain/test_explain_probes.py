"""What a run is asked besides its sentence: summands of a score, corners, entropy by length, places of labels."""

# ruff: noqa: RUF001 (mathematical signs)

import math

import numpy as np
import pytest
import torch

from attnlab.attention import (
    Additive,
    Attention,
    Concat,
    Dot,
    General,
    Global,
    LocalM,
    LocalP,
    LocalPOnScores,
    LocalPRenorm,
    Location,
    ScaledDot,
)
from attnlab.explain import plane, probes
from attnlab.explain.drawing import WIDTH
from attnlab.explain.leading import lanes_of, leaders, opening
from attnlab.explain.units import POINTS, ROWS, columns, units

H, S, D = 16, 9, 2
SCORERS = {
    "dot": lambda: Dot(H, H),
    "scaled": lambda: ScaledDot(H, H),
    "general": lambda: General(H, H),
    "additive": lambda: Additive(H, H, 14),
    "bias": lambda: Additive(H, H, 14, bias=True),
    "concat": lambda: Concat(H, H),
    "location": lambda: Location(H, H, 20),
}
WINDOWS = {
    "global": lambda: Global(H),
    "local_m": lambda: LocalM(H, D),
    "local_p": lambda: LocalP(H, D),
    "renorm": lambda: LocalPRenorm(H, D),
    "on_scores": lambda: LocalPOnScores(H, D),
}


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


@pytest.fixture
def asked():
    torch.manual_seed(3)
    return torch.randn(1, 1, H), torch.randn(1, S, H)


def rows_of(scorer, query, states, place):
    key = scorer.prepare(states)[0, place]
    score = float(scorer(query, scorer.prepare(states))[0, 0, place])
    return units(scorer, query.flatten(), key, score), score


@pytest.mark.parametrize("name", SCORERS)
def test_the_summands_of_a_score_add_up_to_it_and_follow_from_their_cells(asked, name):
    query, states = asked
    scorer = SCORERS[name]()
    found, score = rows_of(scorer, query, states, 4)
    rows, rest = found["rows"], found["rest"]
    assert sum(row["value"] for row in rows) + rest["value"] == pytest.approx(score, abs=1e-5)
    assert rest["gain"] + rest["loss"] == pytest.approx(rest["value"], abs=1e-9)
    assert rest["up"] + rest["down"] == rest["count"]
    sizes = [abs(row["value"]) for row in rows]
    assert sizes == sorted(sizes, reverse=True) and len(rows) == ROWS
    assert all(len(row["cells"]) == len(columns(scorer)) for row in rows)
    for row in rows:
        if len(row["cells"]) == 5:
            asks, told, inside, squashed, v = row["cells"]
            assert inside == pytest.approx(asks + told) and squashed == pytest.approx(math.tanh(inside))
            assert row["value"] == pytest.approx(v * squashed)
        else:
            s, h = row["cells"]
            assert row["value"] == pytest.approx(s * h / (H**0.5 if name == "scaled" else 1))


def test_a_cell_is_the_product_of_its_matrix_and_its_vector(asked):
    query, states = asked
    scorer = Additive(H, H, 14)
    found, _ = rows_of(scorer, query, states, 2)
    unit = int(found["rows"][0]["name"].removeprefix("unit ")) - 1
    Ws = sum(float(w) * float(x) for w, x in zip(scorer.W.weight[unit], query.flatten(), strict=True))
    Uh = sum(float(w) * float(x) for w, x in zip(scorer.U.weight[unit], states[0, 2], strict=True))
    assert found["rows"][0]["cells"][:2] == pytest.approx([Ws, Uh], abs=1e-5)


def test_the_curve_of_all_summands_falls_from_the_highest_to_the_lowest(asked):
    query, states = asked
    scorer = Additive(H, H, 3 * POINTS)
    found, _ = rows_of(scorer, query, states, 0)
    values = (scorer.v * torch.tanh(scorer.W(query.flatten()) + scorer.prepare(states)[0, 0])).tolist()
    curve = found["curve"]
    assert len(curve) == POINTS and curve == sorted(curve, reverse=True)
    assert (curve[0], curve[-1]) == pytest.approx((max(values), min(values)), abs=1e-4)


class Halved(Dot):
    """A score below ours that is another one."""

    def forward(self, query, keys):
        return super().forward(query, keys) / 2


def test_a_class_below_ours_has_no_summands_nor_has_a_score_that_they_miss(asked):
    query, states = asked
    assert rows_of(Halved(H, H), query, states, 0)[0] is None and columns(Halved(H, H)) == []
    scorer = Dot(H, H)
    key = scorer.prepare(states)[0, 0]
    score = float(scorer(query, states)[0, 0, 0])
    assert units(scorer, query.flatten(), key, score) is not None
    assert units(scorer, query.flatten(), key, score + 0.5) is None


def corners_of(window, scorer, query, states, t=5):
    attention = Attention(scorer, window)
    memory = attention.prepare(states, torch.tensor([S]))
    scores = scorer(query, memory.keys)[0, 0].tolist()
    best = max(range(S), key=scores.__getitem__)
    return attention, scores, probes.corners(attention, query, memory, torch.tensor([t]), best)


def expected(window, scores, query, t=5):
    """Weights by the formulas of the windows' module, over all positions."""
    places, g, inside = np.arange(1, S + 1), np.ones(S), np.ones(S, bool)
    if window.local:
        middle = p = min(t, S)
        if isinstance(window, LocalP):
            p = S / (1 + math.exp(-float(torch.tanh(window.W_p(query.flatten())) @ window.v_p)))
            middle = min(max(math.floor(p), 1), S)
            g = np.exp(-((places - p) ** 2) / (2 * (D / 2) ** 2))
        inside = np.abs(places - middle) <= D
    if isinstance(window, LocalPOnScores):
        scores, g = scores * g, np.ones(S)
    e = np.where(inside, np.exp(scores - scores[inside].max()), 0)
    weights = e / e.sum() * g
    return weights / weights.sum() if isinstance(window, LocalPRenorm) else weights


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("scorer", ["dot", "additive", "location"])
def test_corners_are_what_the_window_makes_of_level_and_of_stretched_scores(asked, name, scorer):
    query, states = asked
    window = WINDOWS[name]()
    _, scores, found = corners_of(window, SCORERS[scorer](), query, states)
    level = np.mean(scores)
    assert found["uniform"] == pytest.approx(expected(window, np.full(S, level), query), abs=1e-5)
    stretched = level + found["times"] * (np.array(scores) - level)
    assert found["peaked"] == pytest.approx(expected(window, stretched, query), abs=1e-4)
    for key in ("uniform", "peaked"):
        assert found[f"{key}_sum"] == pytest.approx(sum(found[key]), abs=1e-6)
    assert found["peaked"][found["peak_at"]] == found["peak"] == max(found["peaked"])
    assert found["peak"] >= probes.SURE * found["peaked_sum"] or found["times"] == 1000


def test_one_word_alone_has_the_weight_one_but_for_a_gaussian_that_is_not_divided_again(asked):
    query, states = asked
    for name, make in WINDOWS.items():
        window = make()
        _, _, found = corners_of(window, Dot(H, H), query, states)
        if name == "local_p":
            p = 1 / (1 + math.exp(-float(torch.tanh(window.W_p(query.flatten())) @ window.v_p)))
            assert found["single"] == pytest.approx(math.exp(-((1 - p) ** 2) / (2 * (D / 2) ** 2)), abs=1e-5)
            assert "not divided again" in found["alone"] and "not divided again" in found["level"]
        else:
            assert found["single"] == pytest.approx(1) and "whatever its score" in found["alone"]
        if name in ("global", "local_m"):
            count = sum(value > 0 for value in found["uniform"])
            assert found["level"] == f"equal shares; c is the mean of {count} states"
            assert found["sharp"] == "c is all but the state of that word"


def test_where_no_word_has_a_score_no_corner_tells_of_one(asked):
    query, states = asked
    _, _, found = corners_of(LocalM(H, 1), Location(H, H, 3), query, states, t=9)
    assert found["uniform_sum"] == found["peak"] == 0
    assert found["level"] == found["sharp"] == "no word has a weight here"
    assert found["single"] == pytest.approx(1) and "whatever its score" in found["alone"]


def test_scores_that_do_not_differ_have_no_peak_and_it_is_told(asked):
    query, states = asked
    _, _, found = corners_of(Global(H), Dot(H, H), 0 * query, states)
    assert (
        found["peaked"] == pytest.approx([1 / S] * S)
        and found["sharp"] == "two scores are too close for a peak"
    )


def test_the_entropy_of_equal_scores_is_the_logarithm_of_how_many_are_scored(asked):
    query, _ = asked
    lengths = range(1, probes.LONGEST + 1)
    assert probes.growth(Attention(Dot(H, H), Global(H)), query) == pytest.approx(
        [math.log(n) for n in lengths]
    )
    inside = [sum(abs(j - (n + 1) // 2) <= D for j in range(1, n + 1)) for n in lengths]
    found = probes.growth(Attention(Location(H, H, 5), LocalM(H, D)), query)
    assert found == pytest.approx([math.log(n) for n in inside], abs=1e-5)


@pytest.mark.parametrize("name", WINDOWS)
def test_no_entropy_of_equal_scores_is_above_the_ceiling(asked, name):
    window = WINDOWS[name]()
    found = probes.growth(Attention(General(H, H), window), asked[0])
    width = D if window.local else None
    limits = [probes.ceiling(width, n) for n in range(1, probes.LONGEST + 1)]
    assert limits[-1] == pytest.approx(math.log(5) if window.local else math.log(60))
    assert all(value <= limit + 1e-6 for value, limit in zip(found, limits, strict=True))


def test_sizes_that_differ_are_refused_in_the_frameworks_own_words_and_the_ways_out_are_counted():
    for query, key, own in ((4, 6, True), (4, 4, False)):
        found = probes.sizes(General(query, key))
        other = 6 if own else 2
        assert (found["H"], found["K"], found["own"]) == (4, other, own)
        with pytest.raises(ValueError) as told:
            Dot(4, other)
        assert found["refusal"] == str(told.value)
        assert (found["general"], found["additive"]) == (4 * other, 4 * 4 + 4 * other + 4)


def test_leaders_are_the_best_scores_and_a_word_without_one_is_outside():
    found = leaders([None, 1.5, -2.0, 3.25, None])
    assert [(one["place"], one["score"]) for one in found["leaders"]] == [
        (3, "3.25"),
        (1, "1.50"),
        (2, "−2.00"),
    ]
    assert found["outside"] == [1, 0, 0, 0, 1]
    assert [one["score"] for one in leaders([None, 0.5])["leaders"]] == ["0.50", "", ""]


def test_the_lanes_of_the_pipeline_share_out_all_of_the_weight():
    found = lanes_of([0.1, 0.5, 0.0, 0.3, 0.1], [1, 2, None, 3, 4], ["a", "b", "c", "d", "e"])
    assert [(one["word"], one["place"], one["a"]) for one in found["top"]] == [
        ("b", "2", 0.5),
        ("d", "4", 0.3),
        ("a", "1", 0.1),
    ]
    assert found["others"] == {"count": 2, "a": pytest.approx(0.1)}
    assert [one["word"] for one in lanes_of([1.0], [0.0], ["a"])["top"]] == ["a", "", ""]
    twice = lanes_of([0.4, 0.6], [0.0, 1.0], ["a (1)", "a (2)"])["top"]
    assert [(one["word"], one["place"]) for one in twice[:2]] == [("a", "2"), ("a", "1")]


def test_the_page_opens_where_the_runs_look_most_widely_but_not_at_a_last_step():
    assert opening([[0.1, 0.5, 0.2, 3.0]]) == 2
    assert opening([[0.1, 0.5, 0.2, 3.0], [0.1, 0.1, 0.9, 0.0, 9.0, 9.0]]) == 3
    assert opening([[0.3, 0.3, 0.3]]) == 1  # the first of equals
    assert opening([]) == opening([[2.0]]) == opening([[2.0], [0.0, 1.0, 0.5]]) == 1


def test_the_plane_is_the_one_in_which_the_states_are_longest(asked):
    states = asked[1][0].double()
    found = plane.plane(states)
    values = np.linalg.svd(states.numpy(), compute_uv=False) ** 2
    assert found["shares"] == pytest.approx((values / values.sum())[:2])
    flat = np.array(found["states"])
    assert (flat**2).sum(0) / (states.numpy() ** 2).sum() == pytest.approx(found["shares"])
    assert np.array(plane.plane(states[:1])["states"]).shape == (1, 2)


def placed(states, weights):
    found, words = plane.plane(states), [f"word{j}" for j in range(len(states))]
    steps = [{"a": row} for row in weights]
    plane.placed(found, steps, words)
    return found, steps


def test_the_chain_ends_at_the_mixture_and_the_hard_choice_is_the_heaviest_state(asked):
    states, a = asked[1][0].double(), torch.full((S,), 0.05).double()
    a[6] = 0.6
    found, (step,) = placed(states, [a.tolist()])
    assert step["chain"][-1] == pytest.approx((a.numpy() @ np.array(found["states"])).tolist())
    assert step["hard"] == found["states"][6]


def test_only_states_that_weigh_are_named_and_no_two_names_meet(asked):
    states = asked[1][0].double()
    steep = [0.5, 0.3, 0.1, 0.08, 0.019, 0.001, 0, 0, 0]
    found, steps = placed(states, [steep, [1 / S] * S, [0.0] * S])
    words = [[mark["word"] for mark in step["marks"] if mark["word"]] for step in steps]
    assert words[0] == ["word0", "word1", "word2", "word3"]
    assert len(words[1]) == plane.LABELS and len(words[2]) == 1
    for step in steps:
        boxes = [
            plane.Box(mark["x"], mark["y"] - 11, mark["x"] + 6.4 * len(mark["word"]), mark["y"] + 2)
            for mark in step["marks"]
            if mark["word"]
        ]
        assert not any(one.meets(other) for i, one in enumerate(boxes) for other in boxes[:i])
        for box in boxes:
            assert box.left >= 0 and box.right <= WIDTH and box.top >= 0 and box.bottom <= plane.HEIGHT
        for mark in step["marks"]:
            if mark["word"]:
                x, y = found["states"][int(mark["word"].removeprefix("word"))]
                at = found["left"] + found["unit"] * x, found["top"] - found["unit"] * y
                assert (mark["px"], mark["py"]) == pytest.approx(at, abs=0.06)
