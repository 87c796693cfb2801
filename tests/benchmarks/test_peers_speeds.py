"""What the turns of a benchmark of training say together."""

from pathlib import Path

import numpy as np
import pytest
from peers.joeynmt import JoeyNMT
from peers.notes import note
from peers.opennmt import OpenNMT
from peers.ours import Ours
from peers.records import Setting, Text, Trained, Window
from peers.speeds import Speeds, Turn
from peers.work import Lengths, flops

SETTING = Setting("post_combine", "general")


def speeds(rates: dict[str, list[float]]) -> Speeds:
    text = Text(Path("nowhere"), "de", "en", "none", {"de": 100, "en": 96})
    lengths = Lengths(np.array([5, 6, 7]), np.array([6, 6, 8]))
    toolkits = [Ours("fp32"), OpenNMT(Path("a")), JoeyNMT(Path("b"))]
    made = Speeds(toolkits, [SETTING], text, lengths, ["fp32"])
    made.peaks = {"fp32": [90.0, 100.0, 300.0], "bf16": [1.0]}
    made.facts = {"machine": "M", "versions": "V", "commit": "C", "command": "D"}
    for name, found in rates.items():
        for number, rate in enumerate(found, start=1):
            trained = Trained([Window(2.0, rate, 0.0, 10)], 10.0, 1.0)
            made.turns.append(Turn(number, SETTING.name, name, trained))
    return made


RATES = {
    "attnlab fp32": [3000.0, 1000.0, 3000.0],
    "OpenNMT-py": [1000.0, 500.0, 2000.0],
    "JoeyNMT": [500.0, 400.0, 600.0],
}


def test_ratios_are_of_the_same_round() -> None:
    made = speeds(RATES)
    # 3, 2 and 1.5: of the medians it would be 3.
    assert made.ratio(SETTING.name, "attnlab fp32", "OpenNMT-py") == 2.0
    assert made.rate(SETTING.name, "attnlab fp32") == 3000.0


def test_the_lead_is_over_the_fastest_of_each_round() -> None:
    made = speeds({**RATES, "JoeyNMT": [1500.0, 400.0, 600.0]})
    # 2 over JoeyNMT, then 2 and 1.5 over OpenNMT-py
    assert made.lead(SETTING.name, "attnlab fp32") == 2.0
    assert [turn.toolkit for turn in made.fastest(SETTING.name).values()] == ["JoeyNMT", *2 * ["OpenNMT-py"]]
    assert "| post_combine/general | JoeyNMT, OpenNMT-py | 2.00 |" in note(made)


def test_the_share_of_peak_is_useful_flops_by_the_median_product() -> None:
    made = speeds(RATES)
    work = flops(SETTING, made.lengths, 100)  # 96 words and four marks
    assert made.share(SETTING, "attnlab fp32") == pytest.approx(3000 * work / 100e9)


def test_the_note_names_the_fastest_peer_and_every_toolkit() -> None:
    written = note(speeds(RATES))
    assert "| post_combine/general | OpenNMT-py | 2.00 |" in written
    assert "| post_combine/general | JoeyNMT | 500 | 400 to 600 | 5.00 |" in written
    assert "No peer took part." not in written
    alone = note(speeds({"attnlab fp32": [3000.0]}))
    assert "No peer took part." in alone
    assert "| post_combine/general | attnlab fp32 | 3,000 | 3,000 to 3,000 |" in alone
