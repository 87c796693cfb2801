"""What the benchmarks ask of the machine, with a clock and a processor of our own."""

import machine
import pytest


class Fake:
    """A processor that others use by `load` cores, second after second; the last goes on."""

    def __init__(self, load: list[float]) -> None:
        self.load, self.now, self.worked = load, 0.0, 0.0

    def sleep(self, seconds: float) -> None:
        self.worked += self.load[min(int(self.now), len(self.load) - 1)] * seconds
        self.now += seconds


@pytest.mark.parametrize(
    ("load", "limit", "used", "waited"),
    [
        ([0.0], 10.0, 0.0, 1.0),
        ([1.5, 0.5, 0.05], 10.0, 0.05, 3.0),
        ([1.5], 4.0, 1.5, 4.0),
    ],
)
def test_a_quiet_second_is_waited_for_up_to_a_limit(
    load: list[float], limit: float, used: float, waited: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Fake(load)
    monkeypatch.setattr(machine, "busy", lambda: fake.worked)
    monkeypatch.setattr(machine.time, "monotonic", lambda: fake.now)
    monkeypatch.setattr(machine.time, "sleep", fake.sleep)
    assert machine.wait_for_quiet(limit, window=1.0) == pytest.approx(used)
    assert fake.now == waited


def test_nothing_is_waited_for_where_the_limit_is_nothing() -> None:
    assert machine.wait_for_quiet(0) is None


def test_the_middle_of_some_values_with_their_range() -> None:
    assert machine.spread([1000.0, 3000.0, 1200.0]) == "1,200 (1,000 to 3,000)"
    assert machine.spread([7.0]) == "7"


def test_a_note_shows_the_command_without_this_machines_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["--data", "/home/me/text", "--peers", "eole=/opt/envs/e", "--note=/home/me/a b.md", "--length=3"]
    monkeypatch.setattr(machine.sys, "argv", ["/home/me/benchmarks/x.py", *given, "notes/here"])
    words = "--data text --peers eole=e '--note=a b.md' --length=3 notes/here"
    assert machine.command("x.py") == f"python benchmarks/x.py {words}"


def test_words_stand_between_commas() -> None:
    assert machine.words("a/b, c,,") == ["a/b", "c"]
