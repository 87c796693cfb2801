"""The published results: complete, marked, each once, and their arithmetic is right."""

import pytest

from attnlab.errors import UserError
from attnlab.report import anchors
from attnlab.report.anchors import Anchor

ALL = anchors.load()


def one(metric="BLEU", **wanted):
    found = [
        each
        for each in ALL
        if each.metric == metric and all(getattr(each, name) == value for name, value in wanted.items())
    ]
    assert len(found) == 1, found
    return found[0]


def test_every_anchor_says_what_it_is_where_it_was_read_and_how_sure_that_is():
    assert len(ALL) > 100
    for anchor in ALL:
        assert anchor.verified in anchors.SURENESS
        ranges = {"BLEU": (1, 40), "METEOR": (1, 100), "AER": (0.01, 0.7), "perplexity": (1, 30)}
        low, high = ranges[anchor.metric]
        assert low < anchor.value < high, anchor
        assert anchor.sd is None or 0 < anchor.sd < 0.5, anchor
        if anchor.url is None:
            assert anchor.verified == anchors.FROM_MEMORY or "README" in anchor.source, anchor
        else:
            assert anchor.url.startswith("https://")
        if anchor.verified != anchors.VERIFIED:
            assert "transcription" in anchor.source or "not looked up" in anchor.source, anchor
    assert len({anchor.key for anchor in ALL}) == len(ALL)


def test_gains_are_the_difference_of_the_two_numbers():
    gained = [anchor for anchor in ALL if anchor.gain is not None]
    assert len(gained) == 6
    for anchor in gained:
        base = one(table=anchor.table, system=anchor.over, paper=anchor.paper, year=anchor.year)
        assert round(anchor.value - base.value, 1) == anchor.gain, anchor.system


def test_known_mistakes_stand_beside_the_numbers():
    wrong = one(table="Table 4", system="local-p (dot) + unknown words replaced")
    assert wrong.gain == 1.6 and "+1.9" in wrong.note and "+1.6" in wrong.note
    famous = one(value=36.15)
    assert "No-UNK" in famous.flavour and "another set of sentences" in famous.note
    confounded = one(value=22.8)
    assert "scorer" in confounded.note and "dropout" in confounded.note


def test_a_number_that_was_not_read_in_its_source_is_never_shown_without_its_mark():
    for anchor in ALL:
        for shown in (anchor.text, anchor.plain()["text"], anchors.to_markdown([anchor])):
            marked = anchor.verified in shown
            assert marked == (anchor.verified != anchors.VERIFIED), shown
    assert one(system="Mul-1024").text == "18.22 ± 0.03 (second hand)"
    assert one(system="global (location)", metric="AER", table="Table 6").text == "0.39 (second hand)"


def test_select_by_languages_and_metric():
    assert {each.languages for each in anchors.select("de-en", "bleu")} == {"de-en"}
    assert {each.metric for each in anchors.select(metric="AER")} == {"AER"}
    assert anchors.select() == ALL
    assert anchors.select("xx-yy") == [] and anchors.to_markdown([]) == ""
    # links have no direction
    assert anchors.select("en-de", "AER") == anchors.select("de-en", "AER")
    assert anchors.select("en-de", "BLEU") != anchors.select("de-en", "BLEU")


GROUP = """
- {paper: A, year: 2000, table: T, task: t, languages: de-en, test_set: s, metric: BLEU, flavour: f,
   verified: verified, source: A, url: null, results: [%s]}
"""


@pytest.mark.parametrize(
    ("results", "told"),
    [
        ("{system: x}", "x: value is missing"),
        ("{value: 1.0}", "a result without system: system is missing"),
        ("{system: x, value: high}", "value is 'high'"),
        ("{system: x, value: true}", "value is True"),
        ("{system: x, value: null}", "value is None"),
        ("{system: x, value: 1.0, sd: no}", "sd is False"),
        ("{system: x, value: 1.0, year: 2000.5}", "year is 2000.5"),
        ("{system: x, value: 1.0, flavour: ' '}", "flavour is ' '"),
        ("{system: x, value: 1.0, blue: 2}", "no such field: blue"),
        ("{system: x, value: 1.0, verified: sure}", "verified is 'sure'"),
        ("{system: x, value: 1.0, gain: 1.0}", "gain and over belong together"),
        ("{system: x, value: 1.0}, {system: x, value: 2.0}", "stands there twice"),
        ("12", "must have 'system' and 'value'"),
        ("", "must be a list of results"),
    ],
)
def test_an_incomplete_or_doubled_anchor_is_refused_by_name(tmp_path, results, told):
    path = tmp_path / "a.yaml"
    path.write_text(GROUP % results)
    with pytest.raises(UserError, match=r"a\.yaml") as error:
        anchors.load(path)
    assert told in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["{", "a: 1", "- 1", "\xff"])
def test_a_file_that_is_no_list_of_groups_is_refused(tmp_path, text):
    path = tmp_path / "a.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match="must be a list of groups"):
        anchors.load(path)


def test_a_pipe_or_a_tag_in_a_name_does_not_break_the_table():
    fields = {name: value for name, value in ALL[0].plain().items() if name != "text"}
    anchor = Anchor(**{**fields, "system": "a|b <i> RNN* [x](y)"})
    line = anchors.to_markdown([anchor]).splitlines()[-1]
    assert line.replace("\\|", "").count("|") == 8 and "&lt;i&gt;" in line and "RNN\\* \\[x\\](y)" in line
