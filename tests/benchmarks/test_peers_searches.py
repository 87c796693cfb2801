"""Ratios of search are medians within a round; the fastest peer is that of the round."""

from peers.records import Searched
from peers.searches import OURS, Case, Found


def searched(rate: float) -> Searched:
    return Searched(sentences=10, length=10, seconds=100 / rate, lengths_met=True, others=0.0)


def test_the_lead_is_over_the_fastest_peer_of_each_round() -> None:
    found, case = Found(), Case.parse("5x64")
    rates = {OURS[0]: [100, 200, 300], "one": [50, 50, 300], "other": [100, 40, 20]}
    for toolkit, each in rates.items():
        for number, rate in enumerate(each, 1):
            found.add(("post_combine/general", case, toolkit), number, searched(rate))
    assert found.ratio("post_combine/general", case, OURS[0], "one") == "2.00"  # 2, 4, 1
    assert found.ratio("post_combine/general", case, OURS[0], "other") == "5.00"  # 1, 5, 15
    assert found.lead("post_combine/general", case, OURS[0]) == "1.00"  # 1, 4, 1
    assert found.leads()[1] == ["post_combine/general", "beam 5, batch 64", "1.00", ""]
    assert [row[2] for row in found.rows()[1:]] == list(rates)
