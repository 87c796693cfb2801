"""Cells that are one line of shell, for the pool; run as a script, a launcher of them that a test can kill.

usage: python tiny.py FOLDER SLOTS GRACE NAME=SCRIPT...
"""

import json
import os
import sys
from pathlib import Path

from attnlab.sweep import pool, process, state
from attnlab.sweep.slots import Need, Slots


class Tiny:
    """A cell that is done when its script ends with 0; `$HERE` is its folder's parent."""

    def __init__(self, top, name, script, need=None):
        self.name, self.script, self.need = name, script, need or Need()
        self.folder = Path(top) / name
        self.ends = []

    def look(self):
        return pool.Verdict(state.DONE, "already") if (self.folder / "result.json").exists() else None

    def command(self, attempt):
        return ["sh", "-c", f"HERE={self.folder.parent}; ATTEMPT={attempt}; {self.script}"]

    def judge(self, end):
        self.ends.append(end)
        if end.status == 0:
            (self.folder / "result.json").write_text("{}")
            return pool.Verdict(state.DONE)
        if end.cause == process.STOPPED:
            return pool.Verdict(state.INTERRUPTED)
        return pool.Verdict(state.FAILED, f"ended with {end.status}")


class Told:
    """A view that keeps what it is told."""

    def __init__(self, top=None):
        self.lines, self.most, self.top = [], 0, top

    def say(self, *words):
        self.lines.append(words)
        if self.top is not None:
            with (self.top / f"told-{os.getpid()}").open("a") as file:
                file.write(json.dumps(words) + "\n")

    def started(self, index, running, attempt):
        self.say("started", index, running.pid)

    def held(self, index):
        self.say("held", index)

    def again(self, index, verdict):
        self.say("again", index)

    def ended(self, index, verdict, seconds):
        self.say("ended", index, verdict.state, verdict.words)

    def tick(self, running, waiting):
        self.most = max(self.most, len(running))


if __name__ == "__main__":
    top = Path(sys.argv[1])
    cells = [Tiny(top, *item.split("=", 1)) for item in sys.argv[4:]]
    try:
        verdicts = pool.run(
            cells,
            Slots(int(sys.argv[2]), available=[]),
            pool.Limits(grace=float(sys.argv[3])),
            Told(top),
        )
    except pool.Interrupted as stop:
        print(*(verdict.state for verdict in stop.verdicts), flush=True)
        sys.exit(128 + stop.number)
    print(*(verdict.state for verdict in verdicts), flush=True)
