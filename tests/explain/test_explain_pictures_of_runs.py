"""The pictures of a run: what is drawn is where its numbers say, at every step."""

import dataclasses
import math
import re
from xml.etree import ElementTree

import pytest

import attnlab
from attnlab.explain.drawing import WIDTH, Picture
from attnlab.explain.palette import light
from attnlab.explain.pictures.runs.context import plane
from attnlab.explain.pictures.runs.corners import corners
from attnlab.explain.pictures.runs.question import beams
from attnlab.explain.pictures.runs.score import score
from attnlab.explain.pictures.runs.whole import pipeline
from attnlab.explain.pictures.runs.window import entropy, over_steps, window
from attnlab.explain.reading import opens_at, read
from attnlab.explain.sentence import Sentence
from attnlab.explain.trained import Trained

ALL = (beams, score, plane, corners, entropy, pipeline)
ORDERS = ("input_feeding", "post_combine", "post_combine_feeding", "post_combine_previous")


@pytest.fixture(scope="module")
def readings(runs, sentence):
    made = {}

    def _readings(options):
        if options not in made:
            run = attnlab.load(runs(options), device="cpu")
            made[options] = read(run, "it", sentence.source, sentence.target)
        return made[options]

    return _readings


def drawn(picture, tree):
    """The elements of the picture as a file."""
    root = ElementTree.fromstring(picture.svg(tree, light()))
    return [
        element for element in root.iter() if element.tag.endswith(("rect", "line", "path", "polyline"))
    ], root


def texts(root):
    """Every line of text."""
    lines = ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("}text")]
    return [
        re.sub("[\u200b\N{MINUS SIGN}]", lambda sign: "" if sign[0] == "\u200b" else "-", one)
        for one in lines
    ]


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("window", ["global", "local_m", "local_p", "local_p_on_scores"])
def test_a_picture_keeps_within_its_frame_at_every_step(readings, make, window):
    found = readings(f"scorer=additive decoder=post_combine window={window}")
    picture = make(found)
    for tree in found.steps:
        _, root = drawn(picture, tree)
        for element in root.iter():
            for name in ("x", "x1", "x2", "cx", "y", "y1", "y2", "cy"):
                most = picture.width if "x" in name else picture.height
                if name in element.attrib:
                    assert -0.01 <= float(element.get(name)) <= most + 0.01, (name, element.attrib)


def test_a_word_without_a_score_is_hatched_and_the_best_scores_are_written_on_their_beams(readings):
    found = readings("scorer=dot decoder=post_combine window=local_m")
    seen = set()
    for tree in found.steps:
        elements, root = drawn(beams(found), tree)
        hatched = [float(one.get("stroke-opacity")) > 0 for one in elements if one.tag.endswith("path")]
        assert hatched == [value is None for value in tree["e"]]
        best = sorted((value for value in tree["e"] if value is not None), reverse=True)[:3]
        assert [f"{value:.2f}".replace("-0.00", "0.00") for value in best] == [
            line for line in texts(root) if re.fullmatch(r"-?\d+\.\d\d", line)
        ]
        seen |= set(hatched)
    assert seen == {True, False}


def test_without_a_window_nothing_is_hatched(readings):
    found = readings("scorer=dot decoder=post_combine window=global")
    elements, _ = drawn(beams(found), found.steps[0])
    assert not [one for one in elements if one.tag.endswith("path")]


@pytest.mark.parametrize("scorer", ["dot", "scaled_dot", "general", "additive", "concat", "location"])
def test_a_row_of_the_score_has_its_unit_its_cells_and_what_it_gives(readings, scorer):
    found = readings(f"scorer={scorer} decoder=post_combine window=global")
    tree = found.steps[1]
    _, root = drawn(score(found), tree)
    lines = texts(root)
    for head in found.facts["columns"]:
        assert head.replace("_", "") in lines
    for row in tree["units"]["rows"]:
        assert row["name"] in lines and f"{row['value']:.3f}".replace("-0.000", "0.000") in lines
    assert f"{tree['whole']:.3f}".replace("-0.000", "0.000") in lines


def test_a_score_that_nobody_can_take_apart_has_its_formula_alone(readings):
    found = readings("scorer=dot decoder=post_combine window=global")
    steps = [{**step, "units": None} for step in found.steps]
    picture = score(dataclasses.replace(found, steps=steps))
    _, root = drawn(picture, steps[0])
    assert len(texts(root)) == 3 and picture.height < 100


def test_the_hard_choice_is_ringed_and_the_chain_ends_under_the_arrow_of_c(readings):
    found = readings("scorer=dot decoder=input_feeding window=global")
    for tree in found.steps:
        _, root = drawn(plane(found), tree)
        at = found.facts["plane"]
        heaviest = max(range(len(tree["a"])), key=tree["a"].__getitem__)
        (x, y), (cx, cy) = at["states"][heaviest], tree["chain"][-1]
        rings = [one for one in root.iter() if one.get("r") == "9"]
        assert [(float(one.get("cx")), float(one.get("cy"))) for one in rings] == [
            pytest.approx((at["left"] + at["unit"] * x, at["top"] - at["unit"] * y), abs=0.01)
        ]
        arrows = [one for one in root.iter() if one.get("marker-end")]
        ends = [(float(one.get("x2")), float(one.get("y2"))) for one in arrows]
        assert pytest.approx((at["left"] + at["unit"] * cx, at["top"] - at["unit"] * cy), abs=0.01) in ends
        named = [mark["word"] for mark in tree["marks"] if mark["word"]]
        assert set(named) <= set(texts(root)) and "c" in texts(root)


def test_the_corners_are_drawn_as_high_as_their_weights(readings):
    found = readings("scorer=additive decoder=post_combine window=local_p")
    highest = max(max(step["corners"]["uniform"]) for step in found.steps)
    for tree in found.steps:
        elements, root = drawn(corners(found), tree)
        size, wide = len(found.source), 210 / len(found.source) * 0.84
        heights = [float(one.get("height")) for one in elements if one.get("rx") == "1"]
        assert {round(float(one.get("width")), 2) for one in elements if one.get("rx") == "1"} == {
            round(wide, 2)
        }
        assert heights[:size] == pytest.approx(
            [70 * a / highest for a in tree["corners"]["uniform"]], abs=0.01
        )
        assert heights[size:] == pytest.approx([70 * a for a in tree["corners"]["peaked"]], abs=0.01)
        lines = texts(root)
        assert f"weight {tree['corners']['single']:.3f}" in lines and tree["corners"]["level"] in lines


def test_the_refusal_stands_in_full_in_the_corners(readings):
    found = readings("scorer=general decoder=post_combine window=global encoder.hidden_size=6")
    _, root = drawn(corners(found), found.steps[0])
    assert "Unequal sizes: here" in texts(root)
    assert found.facts["sizes"]["refusal"] in " ".join(texts(root))
    assert "decoder.hidden_size=8" in found.facts["sizes"]["refusal"]


def entropies(reading):
    made = Picture("it", "it", "it", 300)
    over_steps(made, reading, 30, 258, 70)
    return drawn(made, reading.steps[0])


def test_runs_on_one_sentence_have_one_axis_of_entropy_and_each_its_own_ceiling(readings):
    wide = readings("scorer=dot decoder=post_combine window=global")
    narrow = readings("scorer=dot decoder=post_combine window=local_m")
    size, D = len(wide.source), narrow.facts["D"]
    assert size > 2 * D + 1
    most = math.ceil(math.log(size))
    scales = []
    for reading, limit in ((wide, math.log(size)), (narrow, math.log(2 * D + 1))):
        elements, root = entropies(reading)
        lines = [one for one in elements if one.tag.endswith("line") and one.get("x2")]
        (ceiling,) = [float(one.get("y1")) for one in lines if one.get("stroke-dasharray")]
        assert ceiling == pytest.approx(258 - 70 * limit / most, abs=0.01)
        scales.append([line for line in texts(root) if line.isdigit()][: most + 1])
        (curve,) = [one.get("points") for one in elements if one.tag.endswith("polyline")]
        heights = [float(point.split(",")[1]) for point in curve.split()]
        assert heights == pytest.approx(
            [258 - 70 * step["entropy"] / most for step in reading.steps], abs=0.06
        )
        assert min(heights) >= ceiling - 0.06
    assert scales[0] == scales[1] == [str(value) for value in range(most + 1)]


def test_entropy_by_length_has_the_curve_of_equal_scores_and_the_test_set_of_the_record(readings):
    found = readings("scorer=dot decoder=post_combine window=global")
    rows = [
        {"lo": 0, "hi": 10, "n": 4, "entropy_normalised": 0.5},
        {"lo": 11, "hi": None, "n": 4, "entropy_normalised": 0.25},
    ]
    plain, tested = entropy(found), entropy(dataclasses.replace(found, by_length=rows))
    counts = []
    for picture in (plain, tested):
        elements, _ = drawn(picture, found.steps[0])
        curves = [one.get("points").split() for one in elements if one.tag.endswith("polyline")]
        counts.append(len(curves))
    assert counts == [2, 4]
    assert [len(curve) for curve in curves] == [60, 60, 9, 50]
    base, unit = 190, 40
    end = [float(curve[-1].split(",")[1]) for curve in curves]
    wanted = [math.log(60), math.log(60), 0.5 * math.log(10), 0.25 * math.log(60)]
    assert end == pytest.approx([base - unit * value for value in wanted], abs=0.06)


@pytest.mark.parametrize("order", ORDERS)
def test_the_pipeline_has_the_question_and_the_context_where_the_order_has_them(readings, order):
    found = readings(f"scorer=additive decoder={order} window=global")
    factors = found.facts["factors"]
    elements, root = drawn(pipeline(found), found.steps[0])
    bent = [one.get("d") for one in elements if one.tag.endswith("path") and one.get("marker-end")]
    assert ("M366 86 L332 86" in bent) == (factors["asks"] == "previous")
    assert any(path.startswith("M378 272") for path in bent) == (factors["asks"] == "current")
    assert any(path.startswith("M292 222") for path in bent) == (factors["context_goes_to"] == "both")
    assert "M170 236 L170 276" in bent  # into the readout, in all of them
    assert any("r_t".replace("_", "") in line for line in texts(root))
    assert any(line.startswith("rt to step") for line in texts(root)) == (factors["fed_back"] == "readout")


def test_the_pipeline_shows_the_numbers_of_its_step(readings):
    found = readings("scorer=dot decoder=post_combine window=local_p")
    for tree in found.steps:
        elements, root = drawn(pipeline(found), tree)
        lines = texts(root)
        heaviest = sorted(range(len(tree["a"])), key=lambda j: -tree["a"][j])[:3]
        for j in heaviest:
            score_of = tree["e"][j]
            assert f"a {tree['a'][j]:.3f}" in lines
            assert ("no score" if score_of is None else f"e {score_of:.2f}".replace("-0.00", "0.00")) in lines
        filled = [float(one.get("width")) for one in elements if one.get("fill-opacity") == "0.55"]
        rest = sum(tree["a"]) - sum(tree["a"][j] for j in heaviest)
        assert filled == pytest.approx([74 * tree["a"][j] for j in heaviest] + [74 * rest], abs=0.02)
        assert f"{tree['word']}: probability {tree['chance']:.3f}" in lines and tree["before"] in lines
        told = f"softmax over {tree['scored']} of {len(tree['a'])}, then the Gaussian"
        assert told in lines


def test_a_gaussian_has_a_dot_a_position_of_its_window_and_none_outside(readings):
    found = readings("scorer=additive decoder=post_combine window=local_p")
    for tree in found.steps:
        _, root = drawn(window(found), tree)
        dots = [one for one in root.iter() if one.get("r") == "2.4"]
        seen = [float(one.get("cy")) for one in dots if float(one.get("fill-opacity"))]
        inside = [value for value, score in zip(tree["gauss"], tree["e"], strict=True) if score is not None]
        assert seen == pytest.approx([112 - 84 * value for value in inside], abs=0.01)


def test_a_walkthrough_opens_where_the_runs_look_most_widely_in_all_its_forms(readings):
    found = readings("scorer=dot decoder=post_combine window=global")
    count = len(found.steps)
    steps = [{**step, "entropy": 1.0 if k == 2 else 0.1} for k, step in enumerate(found.steps)]
    wide, short = dataclasses.replace(found, steps=steps), dataclasses.replace(found, steps=steps[:2])
    assert count > 4 and opens_at([wide]) == 3 and opens_at([wide, short]) == 1
    assert (wide.at(3), short.at(3)) == (steps[2], steps[1])
    walk = Trained(Sentence("it"), [wide])
    assert 'value="3" id="step"' in walk.page() and "At step 3, for" in walk.page()
    assert f"step 3, {steps[2]['word']}: the scores" in walk.text()
    (name,) = [name for name in walk.svgs() if name.endswith("_plane.svg")]
    assert "At step 3, for" in walk.svgs()[name]


def test_words_that_look_like_templates_stand_as_they_are(readings):
    found = readings("scorer=dot decoder=post_combine window=local_m")
    strange = ["{x}", "a_b", "*c*", *found.source[3:]]
    _, root = drawn(beams(dataclasses.replace(found, source=strange)), found.steps[0])
    assert {"{x}", "a_b", "*c*"} <= set(texts(root))


def test_a_picture_is_as_wide_as_a_narrow_window(readings):
    found = readings("scorer=dot decoder=post_combine window=global")
    assert {make(found).width for make in ALL} == {WIDTH}
