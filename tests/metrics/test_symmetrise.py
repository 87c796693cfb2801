"""Links of two directions joined: by hand, and against the pseudo-code read word by word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UserError
from attnlab.metrics import SYMMETRISERS, parse, symmetrise


def links(line):
    return parse(line).sure


def slow(forward, backward, *, final, both, sources=7, targets=6):
    """GROW-DIAG-FINAL(-AND) as printed: e is the target word, f the source word, all cells are scanned."""
    neighbours = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    table = [[(f, e) in forward and (f, e) in backward for f in range(sources)] for e in range(targets)]

    def e_free(e):
        return not any(table[e])

    def f_free(f):
        return not any(row[f] for row in table)

    added = True
    while added:
        added = False
        for e in range(targets):
            for f in range(sources):
                if not table[e][f]:
                    continue
                for de, df in neighbours:
                    x, y = e + de, f + df
                    if not (0 <= x < targets and 0 <= y < sources) or table[x][y]:
                        continue
                    if (e_free(x) or f_free(y)) and ((y, x) in forward or (y, x) in backward):
                        table[x][y] = added = True
    for direction in (forward, backward) if final else ():
        for e in range(targets):
            for f in range(sources):
                free = (e_free(e) and f_free(f)) if both else (e_free(e) or f_free(f))
                if free and (f, e) in direction:
                    table[e][f] = True
    return {(f, e) for e in range(targets) for f in range(sources) if table[e][f]}


some = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 5)), max_size=16)


@given(forward=some, backward=some)
def test_the_grow_heuristics_are_those_of_the_pseudo_code(forward, backward):
    for how, options in (
        ("grow-diag", {"final": False, "both": False}),
        ("grow-diag-final", {"final": True, "both": False}),
        ("grow-diag-final-and", {"final": True, "both": True}),
    ):
        assert symmetrise(forward, backward, how) == slow(forward, backward, **options), how


@given(forward=some, backward=some)
def test_each_lies_between_intersection_and_union(forward, backward):
    found = {how: symmetrise(forward, backward, how) for how in SYMMETRISERS}
    assert found["intersection"] == forward & backward and found["union"] == forward | backward
    assert found["intersection"] <= found["grow-diag"]
    for last in ("grow-diag-final", "grow-diag-final-and"):  # neither holds the other
        assert found["grow-diag"] <= found[last] <= found["union"]


@given(same=some)
def test_two_directions_that_agree_are_left_as_they_are(same):
    assert all(symmetrise(same, same, how) == same for how in SYMMETRISERS)


# Both directions have 0-0. 1-1 and 2-1 are a chain of neighbours; 4-3 stands alone and covers two new words;
# 0-4 stands alone and covers one.
FORWARD, BACKWARD = links("0-0 1-1 0-4"), links("0-0 2-1 4-3")


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ("intersection", "0-0"),
        ("union", "0-0 1-1 2-1 4-3 0-4"),
        ("grow-diag", "0-0 1-1 2-1"),  # 2-1 is no neighbour of 0-0, but of 1-1, and source word 2 is new
        ("grow-diag-final", "0-0 1-1 2-1 4-3 0-4"),
        ("grow-diag-final-and", "0-0 1-1 2-1 4-3"),
    ],
)
def test_a_case_worked_by_hand(how, wanted):
    assert symmetrise(FORWARD, BACKWARD, how) == links(wanted)


def test_a_neighbour_without_a_new_word_is_not_added():
    # 0-1 touches 0-0 and 1-1, both of its words are covered by then
    assert symmetrise(links("0-0 1-1 0-1"), links("0-0 1-1"), "grow-diag-final") == links("0-0 1-1")


def test_one_new_word_is_enough_to_grow():
    # target word 1 is new, source word 0 is not: "or", where some programs have "and"
    assert symmetrise(links("0-0 0-1"), links("0-0"), "grow-diag") == links("0-0 0-1")


def test_the_forward_links_are_looked_at_first_in_the_last_step():
    # nothing is shared; 0-0 takes both words before 0-3 and 4-0 are asked
    assert symmetrise(links("0-0"), links("0-3 4-0"), "grow-diag-final-and") == links("0-0")
    assert symmetrise(links("0-3 4-0"), links("0-0"), "grow-diag-final-and") == links("0-3 4-0")


def test_nothing_joined_with_nothing_is_nothing():
    assert all(symmetrise([], [], how) == frozenset() for how in SYMMETRISERS)
    assert symmetrise([], links("1-1"), "grow-diag-final-and") == links("1-1")


def test_an_unknown_heuristic_is_refused_with_the_list():
    with pytest.raises(UserError, match=r"--symmetrise gdf: choose one of intersection, union, grow-diag"):
        symmetrise([], [], "gdf")
