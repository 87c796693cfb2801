"""What a cell's process has started, found and ended; and a guard that does so when the launcher is killed.

A cell starts processes of its own: further ranks, workers, W&B's service, which makes a session for itself so
that no signal to a group reaches it. All inherit a variable with a token, by which Linux lets us find them.

Run as a script, this file is the guard: a process that sleeps on a pipe to the launcher. The pipe closes when
the launcher ends, however it ends; the guard then ends the cells that are left: SIGTERM, so that they can
leave their checkpoints in order, and SIGKILL after the grace. Standard library only: it has to start in no
time.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from types import TracebackType

VARIABLE = "ATTNLAB_LAUNCHED"
_PROC = Path("/proc")
_POLL = 0.1  # seconds


def members(token: str, leader: int | None = None) -> list[int]:
    """The living processes whose environment holds the token, and those of the leader's session.

    Args:
        token: as `Guard.variables` gives it, or a beginning of one.
        leader: a process that was started with a session of its own and is not reaped yet.
    """
    found = []
    mark = f"{VARIABLE}={token}".encode()
    try:
        numbers = [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - names suffice
    except OSError:  # no Linux: the leader's group is what can be known
        numbers = []
        if leader is not None:
            with contextlib.suppress(OSError):
                os.killpg(leader, 0)
                found.append(leader)
    for number in numbers:
        if number == os.getpid():
            continue
        try:
            state, _, group, session = (
                (_PROC / str(number) / "stat").read_bytes().rpartition(b")")[2].split()[:4]
            )
            if state in (b"Z", b"X"):
                continue
            of_session = leader is not None and leader in (int(group), int(session))
            if of_session or mark in (_PROC / str(number) / "environ").read_bytes():
                found.append(number)
        except (OSError, ValueError):  # it has just ended, or is not ours to look at
            continue
    return found


def send(processes: list[int], number: int) -> None:
    """Send a signal to those that are still there."""
    for process in processes:
        with contextlib.suppress(OSError):
            os.kill(process, number)


def send_group(leader: int, number: int) -> None:
    """Send a signal to a process group, if there is one."""
    with contextlib.suppress(OSError):
        os.killpg(leader, number)


class Guard:
    """The launcher's side: starts the guard, tells it of cells that begin and end, and lets it go."""

    def __init__(self, grace: float) -> None:
        self._token = uuid.uuid4().hex
        self._started = 0
        # A session of its own: what ends the launcher's group, or its terminal, must not end the guard.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, self._token, str(grace)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def token(self) -> str:
        """A new token, for the variable `VARIABLE` of a cell's process."""
        self._started += 1
        return f"{self._token}/{self._started}/"

    def tell(self, sign: str, process: int) -> None:
        """`+` for a process that has begun, `-` for one that has ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # somebody has ended the guard: we can do without
            self._process.stdin.write(f"{sign}{process}\n".encode())
            self._process.stdin.flush()

    def __enter__(self) -> "Guard":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()


def _watch(token: str, grace: float) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    running: set[int] = set()
    for line in sys.stdin.buffer:
        if line.endswith(b"\n"):
            (running.add if line.startswith(b"+") else running.discard)(int(line[1:]))
    if not running:
        return
    on_linux = (_PROC / "self").exists()

    def left() -> list[int]:
        return members(f"{token}/") if on_linux else [one for one in running if members("", one)]

    # The cells' own processes first: they tell their ranks and services, in the order that these need.
    send([one for one in left() if one in running], signal.SIGTERM)
    until = time.monotonic() + grace
    while left() and time.monotonic() < until:
        time.sleep(_POLL)
    send(left(), signal.SIGKILL)
    if not on_linux:
        for one in running:
            send_group(one, signal.SIGKILL)


if __name__ == "__main__":
    _watch(sys.argv[1], float(sys.argv[2]))
