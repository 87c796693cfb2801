import pytest

from attnlab.errors import UserError
from attnlab.metrics.length import buckets, centre, check_edges, label, words


def test_upper_edges_are_inclusive_and_the_rest_is_open():
    table = buckets([0, 1, 10, 11, 20, 21, 500], [10, 20])
    assert [bucket["members"] for bucket in table] == [[0, 1, 2], [3, 4], [5, 6]]
    assert [(bucket["lo"], bucket["hi"]) for bucket in table] == [(0, 10), (11, 20), (21, None)]


def test_every_length_belongs_to_the_bucket_whose_ends_hold_it():
    lengths = list(range(70))
    for bucket in buckets(lengths, [1, 2, 7, 60]):
        for index in bucket["members"]:
            assert bucket["lo"] <= lengths[index] <= (bucket["hi"] or 10**9)
    assert sum(len(bucket["members"]) for bucket in buckets(lengths, [1, 2, 7, 60])) == 70


def test_lengths_are_white_space_words_of_the_raw_line():
    assert [words(line) for line in ["", " \t ", "a  b\tc ", "don't stop."]] == [0, 0, 3, 2]


def test_labels_and_centres():
    table = buckets([], [10, 20])
    assert [label(bucket) for bucket in table] == ["<=10", "11-20", ">20"]
    assert [centre(bucket) for bucket in table] == [5, 15, 25]
    assert label(buckets([3], [])[0]) == "all"


@pytest.mark.parametrize("edges", [[10, 10], [20, 10], [0, 10], [1.5]])
def test_edges_that_do_not_rise_are_refused(edges):
    with pytest.raises(UserError, match="length_edges"):
        check_edges(edges)
