"""What is refused, with which words, and what is not."""

import subprocess
import sys
from typing import Any

import pytest

from attnlab.check import check, faults
from attnlab.errors import UserError


def config(**changes: Any) -> dict[str, Any]:
    """A plain configuration with rules of every kind; dotted names change it."""
    values: dict[str, Any] = {
        "seed": 1,
        "encoder": {"hidden_size": 512, "layers": 1, "dropout": 0.2},
        "decoder": {"hidden_size": 512, "layers": 1},
        "scorer": {"units": 8},
        "window": {"half_width": 10},
        "model": {"embedding_size": 256, "tie_embeddings": False},
        "search": {"n_best": 1, "beam_size": 5, "max_length": None},
        "cell": {"encoder": "bilstm", "scorer": "dot", "decoder": "post_combine", "window": "global"},
        "about": {
            "requires": {
                "scorer": {"equal": ["decoder.hidden_size", "encoder.hidden_size"], "remedy": "use another"},
                "encoder": {"multiple_of": ["encoder.hidden_size", 2]},
                "model": {
                    "when": "model.tie_embeddings",
                    "equal": ["model.embedding_size", "decoder.hidden_size"],
                },
                "search": [{"at_most": ["search.n_best", "search.beam_size"]}],
            },
            "factors": {"context_goes_to": "readout"},
            "unused": {},
        },
    }
    for path, value in changes.items():
        *above, name = path.split("__")
        node = values
        for key in above:
            node = node[key]
        node[name] = value
    return values


def test_a_sound_configuration_passes() -> None:
    assert faults(config()) == []


def test_unequal_sizes_are_named_with_both_sizes_and_the_remedy() -> None:
    # 256 a direction beside a decoder of 256
    with pytest.raises(UserError) as refused:
        check(config(decoder__hidden_size=256))
    message = str(refused.value)
    assert "\n" not in message
    assert message == (
        "scorer=dot needs decoder.hidden_size == encoder.hidden_size, but they are 256 and 512: use another"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"encoder__hidden_size": 511, "decoder__hidden_size": 511}, "multiple of 2, but it is 511"),
        ({"model__tie_embeddings": True}, "but they are 256 and 512 (with model.tie_embeddings=True)"),
        ({"search__n_best": 6}, "search.n_best of at most search.beam_size, but they are 6 and 5"),
        ({"encoder__hidden_size": "abc"}, "encoder.hidden_size=abc: must be a whole number of at least 1"),
        ({"encoder__hidden_size": 0}, "encoder.hidden_size=0: must be"),
        ({"encoder__hidden_size": 2.5}, "encoder.hidden_size=2.5: must be"),
        ({"encoder__hidden_size": True}, "encoder.hidden_size=True: must be"),
        ({"decoder__layers": -1}, "decoder.layers=-1: must be"),
        ({"window__half_width": 0}, "window.half_width=0: must be"),
        ({"scorer__units": 0}, "scorer.units=0: must be"),
        ({"encoder__dropout": 1.0}, "encoder.dropout=1.0: must be a number of at least 0 and less than 1"),
        ({"encoder__dropout": "0,2"}, "encoder.dropout=0,2: must be"),
        ({"scorer__units": "???"}, "scorer.units has no default: give it, as scorer.units=VALUE"),
        ({"search__max_length": 0}, "search.max_length=0: must be"),
    ],
)
def test_each_fault_is_one_line_that_names_the_option(change: dict[str, Any], words: str) -> None:
    (fault,) = faults(config(**change))
    assert words in fault
    assert "\n" not in fault


def test_all_faults_are_listed() -> None:
    found = faults(config(encoder__dropout=-0.1, scorer__units=0))
    assert [fault.partition("=")[0] for fault in found] == ["encoder.dropout", "scorer.units"]


def test_a_rule_about_a_factor_looks_at_what_the_decoder_declares() -> None:
    rule = {"factor": {"context_goes_to": ["rnn", "both"]}, "remedy": "use model/readout=combine"}
    refused = config()
    refused["about"]["requires"]["readout"] = rule
    assert faults(refused) == [
        "readout needs a decoder with context_goes_to rnn or both, but here it is readout:"
        " use model/readout=combine"
    ]
    refused["about"]["factors"]["context_goes_to"] = "both"
    assert faults(refused) == []


def test_what_is_without_effect_is_not_judged() -> None:
    values = config(decoder__hidden_size=256, window__half_width=0)
    values["about"]["unused"] = {"decoder": ["scorer"], "window": ["window.half_width"]}
    assert faults(values) == []


def test_a_rule_of_no_known_kind_is_told_to_its_author() -> None:
    values = config()
    values["about"]["requires"]["scorer"] = {"equals": ["a", "b"]}
    with pytest.raises(UserError, match=r"about\.requires\.scorer=dot: a rule needs one of"):
        check(values)


def test_a_rule_that_names_no_option_is_told_to_its_author() -> None:
    values = config()
    values["about"]["requires"]["scorer"] = {"equal": ["decoder.hidden_size", "encoder.width"]}
    with pytest.raises(UserError, match=r"about\.requires\.scorer names encoder\.width"):
        check(values)


@pytest.mark.parametrize(
    ("default", "good", "bad"),
    [
        (True, [False], [1, "yes", None]),
        (3, [4, 0.5, None], ["abc", [1], True]),
        (0.5, [1, 0.1], ["0,1", True]),
        ("adam", ["sgd", 5], [["a"], True]),
        ([1, 2], [[3], []], [1, "1,2"]),
        (None, [1, "a", [2]], []),
    ],
)
def test_types_are_those_of_the_default(default: Any, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert faults({"x": {"y": value}}, {"x": {"y": default}}) == []
    for value in bad:
        (fault,) = faults({"x": {"y": value}}, {"x": {"y": default}})
        assert fault.startswith(f"x.y={value}: must be ")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": -1}, "seed=-1: must be a whole number of at least 0"),
        ({"seed": 2**70}, "must be at most"),
        ({"scorer__units": {"a": 1}}, "scorer.units={'a': 1}: must be a whole number"),
        ({"encoder__dropout": None}, "encoder.dropout=null: must have a value (the default is 0.2)"),
        ({"trainer": {"max_epochs": 0}}, "trainer.max_epochs=0: must be a whole number of at least 1, or -1"),
        ({"trainer": {"max_epochs": 2.5}}, "trainer.max_epochs=2.5: must be"),
        ({"optim": {"lr": float("inf")}}, "optim.lr=inf: must be a number greater than 0"),
        ({"out": ""}, "out=: must be the name of a folder"),  # the root of the file system
        ({"out": None}, "out=None: must be"),
        ({"study": ["a"]}, "study=['a']: must be"),
        *[
            ({"study": name}, f"study={name!r}: must be one name of letters")
            for name in (
                "",
                " ",
                ".",
                "..",
                "../x",
                "/abs",
                "a/b",
                "a\\b",
                "-m",
                "a ",
                "a\nb",
                "x" * 201,
                True,
            )
        ],
    ],
)
def test_values_that_would_only_fail_later_are_refused_too(change: dict[str, Any], words: str) -> None:
    (line,) = faults(config(**change), config())
    assert words in line


def test_no_limit_and_objects_in_place_of_numbers_stay_possible() -> None:
    given = config(trainer={"max_epochs": -1, "max_steps": 5}, study=2026, out="a b")
    given["search"]["length_penalty"] = {"_target_": "attnlab.search.Average"}
    known = config()
    known["search"]["length_penalty"] = 1.0
    assert faults(given, known) == []


def test_the_check_needs_no_torch() -> None:
    code = "import sys, attnlab.check, attnlab.sweep.plan, attnlab.train; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
