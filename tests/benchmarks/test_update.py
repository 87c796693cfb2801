"""The profile of an update counts its products' work from their shapes."""

import sys

import pytest
import update
from peers import Setting


def test_the_work_of_a_product_is_two_flops_a_multiply_add():
    assert update.work("aten::mm", [[3, 4], [4, 5], [3, 5]], 1) == 2 * 3 * 4 * 5 / 1e9
    assert update.work("aten::addmm", [[5], [3, 4], [4, 5]], 2) == 2 * 2 * 3 * 4 * 5 / 1e9
    assert update.work("aten::bmm", [[7, 3, 4], [7, 4, 5]], 1) == 7 * 2 * 3 * 4 * 5 / 1e9


def test_an_update_is_told_by_kind_and_by_product():
    tiny = Setting(order="post_combine_feeding", scorer="general", hidden=8, embedding=4, sentences=2)
    lines = update.table(tiny, "fp32", top=1.0, rounds=1)
    shares = [line for line in lines if line.endswith("% |") and len(line.split("|")) == 5]
    assert len(shares) == 6
    # state and what is fed back meet one joined matrix, once a step
    found = update.operations(update.updates(tiny, "fp32"), 1)
    calls = [
        calls for name, shapes, calls, _ in found if name == "aten::mm" and shapes == [[2, 16], [16, 32]]
    ]
    assert calls == [update.TARGET]


def test_a_configuration_that_there_is_not_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["update.py", "--configs", "post_combine/additive,input_feeding/dot"])
    with pytest.raises(SystemExit):
        update.main()
    assert "input_feeding/dot: not ORDER/SCORER of" in capsys.readouterr().err
