"""Every factor in which two rows differ."""

from pathlib import Path

import pytest

from attnlab.report import compare
from attnlab.report.fairness import UNKNOWN, confounded, differing
from attnlab.report.rows import SYSTEM, Row

FACTORS = {
    "fixed_vector": {"asks": "none", "context_goes_to": "readout", "fed_back": "nothing"},
    "input_feeding": {"asks": "previous", "context_goes_to": "both", "fed_back": "context"},
    "post_combine": {"asks": "current", "context_goes_to": "readout", "fed_back": "nothing"},
    "post_combine_previous": {"asks": "previous", "context_goes_to": "readout", "fed_back": "nothing"},
}
UNUSED = {"about": {"unused": {"decoder": ["scorer", "window"]}}}


@pytest.fixture
def rows(make):
    """Rows of records in the order they are given in, with the factors of their decoders."""

    def _rows(*cells):
        records = [make(cell_id=str(number), **cell) for number, cell in enumerate(cells)]
        for record in records:
            record["factors"] = FACTORS.get(record["cell"]["decoder"], {})
        pairs = [(Path(f"runs/{number}"), record) for number, record in enumerate(records)]
        return sorted(compare(pairs).comparisons[0].rows, key=lambda row: row.cell_id)

    return _rows


NONE = {"scorer": None, "window": None, "decoder": "fixed_vector", **UNUSED}


@pytest.mark.parametrize(
    "first, second, factors",
    [
        ({}, {}, []),
        ({}, {"scorer": "general"}, ["scorer"]),
        ({}, {"window": "local_p", "scorer": "general"}, ["scorer", "window"]),
        ({}, {"encoder": "lstm"}, ["encoder"]),
        ({}, {"decoder": "post_combine_previous"}, ["asks"]),
        ({}, {"decoder": "input_feeding"}, ["asks", "context_goes_to", "fed_back"]),
        ({}, NONE, ["attention"]),
        ({"decoder": "input_feeding"}, NONE, ["attention", "context_goes_to", "fed_back"]),
        ({}, {"decoder": "mine"}, ["asks", "context_goes_to", "fed_back"]),
        ({"decoder": "ours"}, {"decoder": "mine"}, ["decoder"]),
        ({}, {"settings": {"lr": 0.1}}, ["optim.lr"]),
        ({}, {"settings": {"lr": 0.1}, "scorer": "b"}, ["scorer", "optim.lr"]),
        ({"model": {"readout": {"_target_": "a.Combine"}}}, {"model": {"readout": {"_target_": "a.Maxout"}}},
         ["model.readout"]),
        ({}, {"metrics": {"bootstrap": {"samples": 1}}, "callbacks": {"validation_sentences": 5}}, []),
        ({"data": {"dir": "/x/one"}}, {"data": {"dir": "/y/one"}}, []),
    ],
)  # fmt: skip
def test_every_differing_factor_is_listed(rows, first, second, factors):
    one, two = rows(first, second)
    assert differing(one, two) == factors
    assert set(differing(two, one)) == set(factors)
    assert confounded(factors) == (len(factors) > 1)


def test_settings_of_an_axis_count_where_the_option_is_the_same_or_where_they_were_asked_for(rows, make):
    units = [{"units": size, "_target_": "x.A"} for size in (64, 128)]
    same = rows({}, {})
    for row, scorer in zip(same, units, strict=True):
        row.config["scorer"] = scorer
    assert differing(*same) == ["scorer.units"]
    other = rows({}, {"scorer": "general"})
    for row, scorer in zip(other, units, strict=True):
        row.config["scorer"] = scorer
    assert differing(*other) == ["scorer"]
    other[1].runs[0].record["overrides"] = ["scorer=general", "scorer.units=128"]
    assert differing(*other) == ["scorer", "scorer.units"]


def test_search_training_text_and_code_count_as_far_as_they_were_used(rows):
    one, two = rows({}, {})
    two.runs[0].test["search"] = {"beam_size": 1}
    two.config["search"] = {"beam_size": 5}
    assert differing(one, two) == ["search.beam_size"]
    two.runs[0].test["search"] = one.runs[0].test["search"]
    for row, mark in ((one, "a"), (two, "b")):
        row.runs[0].record["data"]["fingerprints"]["train"] = mark
    assert differing(one, two) == ["training text"]
    two.runs[0].record["data"]["fingerprints"]["train"] = "a"
    two.runs[0].record["code"] = {"commit": "other", "dirty": False}
    assert differing(one, two) == []
    two.cell_id = one.cell_id
    two.origin = "new"
    assert differing(one, two) == ["code"]


def test_a_system_from_outside_is_never_a_controlled_comparison(rows):
    (one,) = rows({})
    other = Row(dict.fromkeys(one.cell), "moses", {}, [], kind=SYSTEM, controlled=False)
    assert differing(one, other) == [UNKNOWN] and confounded([UNKNOWN])


def test_cells_that_differ_in_one_axis_differ_in_one_factor(rows):
    one, two, three = rows({}, {"scorer": "general"}, {"scorer": "general", "window": "local_p"})
    assert differing(one, two) == ["scorer"] and differing(two, three) == ["window"]
    assert confounded(differing(one, three)) and not confounded(differing(one, two))
