"""The file of a study: which cells it asks for, and how it is refused."""

from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UserError
from attnlab.sweep import study

HERE = Path(__file__).parent


def written(folder: Path, text: str) -> study.Study:
    path = folder / "study.yaml"
    path.write_text(text)
    return study.read(path)


def test_linked_lists_are_walked_together_and_each_cell_has_its_seeds() -> None:
    found = study.read(HERE / "experiments" / "windows" / "study.yaml")
    cells = [[item for item in job if "=8" not in item] for job in found.jobs([["study=windows"]])]
    assert len(cells) == 6
    assert [job[-4:] for job in cells[:2]] == [
        ["scorer=dot", "window=global", f"seed={seed}", "study=windows"] for seed in (1, 2)
    ]
    assert cells[5][-5:] == [
        *("scorer=additive", "window=local_p", "window.half_width=10", "seed=2", "study=windows")
    ]
    assert "data.train_pairs=60" in cells[0]
    assert found.question == "Does each scorer gain from the window that suits it?"


def test_grids_are_a_union_of_products(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        """
        overrides: {trainer.max_epochs: 1, scorer: additive}
        grids:
          - {scorer: [dot, general], model.dropout: [0.1, 0.2]}
          - decoder: fixed_vector
          - {data.test: [[a, b]], linked: [{encoder: gru, decoder.cell: gru}, {encoder: lstm}]}
        """,
    )
    shared = ["trainer.max_epochs=1"]
    assert found.points == [
        *([*shared, f"scorer={s}", f"model.dropout={d}"] for s in ("dot", "general") for d in (0.1, 0.2)),
        [*shared, "scorer=additive", "decoder=fixed_vector"],
        [*shared, "scorer=additive", "data.test=[a,b]", "encoder=gru", "decoder.cell=gru"],
        [*shared, "scorer=additive", "data.test=[a,b]", "encoder=lstm"],
    ]
    assert found.seeds is None


def test_the_command_line_comes_on_top_and_its_lists_multiply(tmp_path: Path) -> None:
    found = written(tmp_path, "grids: [{scorer: [dot, general]}]\nseeds: [1, 2]")
    assert found.jobs([["study=x", "seed=5", "window=global"], ["study=x", "seed=5", "window=local_m"]]) == [
        [f"scorer={scorer}", "study=x", "seed=5", f"window={window}"]
        for scorer in ("dot", "general")
        for window in ("global", "local_m")
    ]
    assert found.jobs([["scorer=concat"]]) == [[f"seed={n}", "scorer=concat"] for n in (1, 2)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "grid: [{scorer: dot}]",
            "a study has no 'grid', but question, overrides, grids, exclude, seeds; did",
        ),
        ("grids: []", "grids must be a list of mappings"),
        ("grids: {scorer: dot}", "grids must be a list of mappings"),
        ("grids: [{}]", "grid 1 must be a mapping of options to values or lists of them, and not empty"),
        ("grids: [{scorer: dot}, {scorer: []}]", "grid 2: scorer has an empty list"),
        ("grids: [{linked: []}]", "grid 1: linked must be a list of mappings"),
        ("grids: [{linked: [dot]}]", "grid 1, linked 1 must be a mapping"),
        ("grids: [{scorer: dot, linked: [{scorer: concat}]}]", "grid 1: scorer is set twice"),
        ("grids: [{hydra.launcher.slots: 2}]", "hydra.launcher.slots belongs on the command line"),
        ("grids: [{study: x}]", "study belongs on the command line"),
        ("grids: [{seed: [1, 2]}]\nseeds: [3]", "seed is set under grids or overrides and under seeds"),
        ("seeds: 3", "seeds must be a list of different whole numbers"),
        ("seeds: [1, 1]", "seeds must be a list of different whole numbers"),
        ("exclude: {scorer: dot}", "exclude must be a list of mappings"),
        ("overrides: [3]", "overrides must be a list"),
        ("grids: [{scorer: [dot}]", "line 1: no valid YAML"),
        ("grids: [{scorer: dot, scorer: general}]", "no valid YAML (found duplicate key scorer)"),
        ("[scorer, dot]", "a mapping is expected, with question, overrides"),
        ("dot", "a study has no 'dot'"),
        ("", "a mapping is expected"),
        ("42", "a mapping is expected"),
        ("grids: &all [*all]", "an anchor holds itself"),
    ],
)
def test_a_file_that_asks_for_nothing_sensible_is_refused_in_one_line(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(UserError) as error:
        written(tmp_path, text)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "study.yaml"))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="ascii", exclude_categories=["Cc"], exclude_characters="$"), max_size=12)
    | st.sampled_from(["true", "null", "1", "1e3", "a b", "it's", 'a"b', "a\\", "a,b", "[x]", "${seed}", ""]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(VALUES)
def test_a_value_reads_back_as_itself(value: Any) -> None:
    (override,) = OverridesParser.create().parse_overrides([f"key={study.written(value)}"])
    found = override.value()
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("rule", "matched"),
    [
        ({"scorer": ["dot"]}, True),
        ({"scorer": ["general", "dot"], "model/readout": ["combine"]}, True),
        ({"model.readout": ["combine"]}, True),
        ({"scorer": ["dot"], "window": ["global"]}, False),
        ({"model.dropout": [0]}, True),
        ({"model.dropout": [False]}, False),
        ({"model.size": [0]}, False),
        ({"window.half_width": [None]}, True),
    ],
)
def test_exclusions_match_options_and_settings(rule: dict[str, list[Any]], matched: bool) -> None:
    chosen = {"scorer": "dot", "window": "local_m", "model/readout": "combine"}
    values = {"model": {"dropout": 0.0, "readout": {}}, "window": {"half_width": None}}
    assert study.matches(rule, chosen, values) is matched


def test_a_study_is_looked_for_here_and_then_beside_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there, here = (folder / "experiments" / "first" / "study.yaml" for folder in (tmp_path / "top", Path()))
    there.parent.mkdir(parents=True)
    there.touch()
    conf = tmp_path / "top" / "conf"
    assert study.find("first", conf) == there
    here.parent.mkdir(parents=True)
    here.touch()
    assert study.find("first", conf) == here
    for name in (None, "second", "../experiments/first", ""):
        assert study.find(name, conf) is None
