"""Gold links as files have them: both formats, both bases, and what is refused with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UserError
from attnlab.metrics import Gold, format_links, parse, read_gold, recognise, transpose

SIZES = [(3, 4), (2, 2), (11, 12)]
PHARAOH = ["0-0 2p3 1?1", "", "10-11 0p0"]
NAACL = ["1 1 1 S", "0001 3 4 P", "1 2 2 P 0.7", "3 11 12", "", "3 1 1 P 1"]
WANTED = [
    Gold(frozenset({(0, 0)}), frozenset({(0, 0), (2, 3), (1, 1)})),
    Gold(frozenset(), frozenset()),
    Gold(frozenset({(10, 11)}), frozenset({(10, 11), (0, 0)})),
]


def test_both_formats_give_the_same_links():
    assert read_gold(PHARAOH, SIZES) == WANTED
    assert read_gold(NAACL, SIZES) == WANTED
    assert read_gold(iter(NAACL), SIZES, form="naacl") == WANTED


def test_one_based_pharaoh_is_shifted_and_zero_based_naacl_is_not():
    assert read_gold(["1-1 3p4 2?2", "", "11-12 1p1"], SIZES, one_based=True) == WANTED
    zero_based = [
        "1 0 0 S",
        "1 2 3 P",
        "1 1 1 P",
        "3 10 11",
        "3 0 0 P",
    ]  # sentences count from 1 all the same
    assert read_gold(zero_based, SIZES, one_based=False) == WANTED


def test_a_link_that_is_sure_once_is_sure():
    both = Gold(frozenset({(0, 0)}), frozenset({(0, 0)}))
    assert parse("0p0 0-0 0p0") == both
    assert read_gold(["1 1 1 P", "1 1 1 S", "1 1 1 P"], [(1, 1)]) == [both]


@pytest.mark.parametrize(
    ("lines", "form"),
    [
        (["", "  ", "0-0 1-1"], "pharaoh"),
        (["0p0"], "pharaoh"),
        (["3?4 1-2 2-2"], "pharaoh"),
        ([], "pharaoh"),
        (["", ""], "pharaoh"),
        (["1 1 1"], "naacl"),
        (["", "0001 2 3 S 0.5"], "naacl"),
    ],
)
def test_the_format_is_recognised_by_the_first_line_that_says_something(lines, form):
    assert recognise(lines) == form


@pytest.mark.parametrize("line", ["hello", "1 1", "1 2 x", "0-0-0", "1,1", "\u0661-\u0661"])
def test_a_first_line_of_neither_format_is_refused(line):
    with pytest.raises(UserError, match=r"gold\.txt, line 2: neither") as error:
        read_gold(["", line], [(9, 9), (9, 9)], name="gold.txt")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("lines", "options", "told"),
    [
        (
            ["0-0", "3-0", ""],
            {},
            r"f, line 2: '3-0' points beyond the sentence of 2 source and 2 target words",
        ),
        (["0-4", "", ""], {}, r"f, line 1: '0-4' points beyond"),
        (["1-1", "0-1", ""], {"one_based": True}, r"f, line 2: '0-1' has a 0"),
        (["1-1", "3-1", ""], {"one_based": True}, r"f, line 2: '3-1' points beyond .*\(counted from 1\)"),
        (["1 1 1", "", "1 0 2 S"], {}, r"f, line 3: '1 0 2 S' has a 0"),
        (["1 1 5"], {}, r"f, line 1: '1 1 5' points beyond"),
        (["4 1 1"], {}, r"f, line 1: there is no sentence 4; the text has 3"),
        (["0 1 1"], {}, r"f, line 1: there is no sentence 0"),
        (["1 1 1 X"], {}, r"f, line 1: '1 1 1 X' is not `sentence i j"),
        (["1 1 1 S 0.5 0.5"], {}, r"f, line 1: .* is not"),
        (["1 1 1", "1 1"], {}, r"f, line 2: '1 1' is not"),
        (["1 1 1", "0-0"], {}, r"f, line 2: '0-0' is not"),
        (["0-0", "1 1 1", ""], {}, r"f, line 2: '1' is no link"),
        (["0-0", "0-0"], {}, r"f has 2 lines, the text 3"),
        (["1 1 1"], {"form": "pharaoh"}, r"f has 1 lines, the text 3"),
        (["0-0", "", ""], {"form": "naacl"}, r"f, line 1: '0-0' is not"),
        (["0-0", "0-" + "9" * 5000, ""], {}, r"f, line 2: '0-9+' is no link"),
        (["1 1 1", "1 1 " + "9" * 5000], {}, r"f, line 2: '1 1 9+' is not"),
        ([], {"form": "talp"}, r"--gold-format talp: choose one of pharaoh, naacl"),
    ],
)
def test_what_does_not_fit_is_refused_with_file_and_line(lines, options, told):
    with pytest.raises(UserError, match=told) as error:
        read_gold(lines, SIZES, name="f", **options)
    assert "\n" not in str(error.value)


links = st.frozensets(st.tuples(st.integers(0, 8), st.integers(0, 6)))


@given(sure=links, possible=links)
def test_what_is_written_is_read_again_in_both_formats(sure, possible):
    gold = Gold(sure, sure | possible)
    assert parse(format_links(gold.sure, gold.possible)) == gold
    naacl = [f"1 {i + 1} {j + 1} {'S' if (i, j) in sure else 'P'}" for i, j in gold.possible]
    assert read_gold(naacl, [(9, 7)], form="naacl") == [gold]


def test_links_are_written_in_order_of_the_target_word_and_turned_round():
    assert format_links({(3, 0), (1, 0), (10, 1), (0, 2)}) == "1-0 3-0 10-1 0-2"
    assert transpose({(3, 0), (1, 2)}) == {(0, 3), (2, 1)}
