"""One cell's process: started, watched against its limits, and ended with all that it has started."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from attnlab.sweep import guard

STOPPED, TIMEOUT, STALLED = "stopped", "timeout", "stalled"
_LINGER = 2.0  # seconds that a helper has to notice that its cell is gone, before it is told
_LAST_GRACE = 5.0  # seconds that it then has, at most
_STUCK = 30.0  # seconds after SIGKILL: nothing more can be done about a process that a driver holds


@dataclass(frozen=True)
class End:
    """How a process ended."""

    status: int  # as subprocess has it: negative for a signal
    seconds: float
    cause: str | None = None  # STOPPED, TIMEOUT or STALLED where we ended it
    memory: bool | None = None  # whether the system killed something for memory meanwhile; None: not known


def memory_kills() -> int | None:
    """How many processes the kernel has killed for lack of memory, in our control group or on the machine."""
    try:
        group = next(
            line.rstrip("\n").split(":", 2)[2]
            for line in Path("/proc/self/cgroup").read_text().splitlines()
            if line.startswith("0::")
        )
    except (OSError, StopIteration):
        group = "/"
    for path in (Path(f"/sys/fs/cgroup{group}/memory.events"), Path("/proc/vmstat")):
        try:
            for line in path.read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        except (OSError, ValueError):
            continue
    return None


class Process:
    """A command in a session of its own, so that Ctrl-C on the terminal reaches the launcher alone.

    Args:
        command: what to run.
        log: the file that its output is added to.
        variables: set in its environment, beside the launcher's own.
        token: by which its descendants are found (`guard.Guard.token`).
        keep: open descriptors that it inherits.
        watched: files that change while all is well.
        timeout: seconds it may take, None for no limit.
        stall: seconds in which one of `watched` must change, None for no limit.
        grace: seconds to end by itself after SIGTERM.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        variables: Mapping[str, str],
        token: str,
        *,
        keep: Sequence[int] = (),
        watched: Sequence[Path] = (),
        timeout: float | None = None,
        stall: float | None = None,
        grace: float = 20,
    ) -> None:
        self._token, self._watched = token, [log, *watched]
        self._timeout, self._stall, self._grace = timeout, stall, grace
        self._kills = memory_kills()
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables, guard.VARIABLE: token},
                start_new_session=True,
                pass_fds=list(keep),
            )
        self.pid = self._process.pid
        self.began = self._changed = time.monotonic()
        self._seen = self._signs()
        self._cause: str | None = None
        self._until: float | None = None  # when what is still there is killed
        self._killed: float | None = None
        self._ended: float | None = None
        self._told: float | None = None  # when what outlived the process was asked to end

    @property
    def seconds(self) -> float:
        """Since the start."""
        return (self._ended or time.monotonic()) - self.began

    def stop(self, cause: str) -> None:
        """Ask it to end; `poll` sees to it."""
        if self._cause is None and self._ended is None:
            self._cause = cause
            self._until = time.monotonic() + self._grace
            # Not its group: Lightning hands SIGTERM on to its ranks, and a second one would start a
            # collective that they do not share; W&B's service is told by its cell.
            guard.send([self.pid], signal.SIGTERM)

    def kill(self) -> None:
        """End it and what it has started, at once."""
        self._cause = self._cause or STOPPED
        self._kill()

    def poll(self) -> End | None:
        """How it ended, once it and all that it has started are gone; to be called again and again."""
        now = time.monotonic()
        if not self._gone():
            if self._killed is not None:
                if now > self._killed + _STUCK:
                    return self._end(-signal.SIGKILL)
            elif self._until is not None and now > self._until:
                self._kill()
            elif self._cause is None:
                self._hold_to_limits(now)
            return None
        if self._ended is None:
            self._ended = now
        left = guard.members(self._token, self.pid)
        if left and (self._killed is None or now < self._killed + _STUCK):
            if self._killed is not None:
                guard.send(left, signal.SIGKILL)
            elif self._told is None:
                if now > self._ended + _LINGER:
                    self._told = now
                    guard.send(left, signal.SIGTERM)
            elif now > self._told + min(self._grace, _LAST_GRACE):
                self._kill()
            return None
        return self._end(self._process.wait())

    def _gone(self) -> bool:
        """Whether the process itself has ended; it is not reaped yet, so that its number stays its own."""
        if self._ended is not None:
            return True
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self.pid, options) is not None
        except ChildProcessError:
            return True

    def _kill(self) -> None:
        self._killed = self._killed or time.monotonic()
        left = guard.members(self._token, self.pid)
        guard.send_group(self.pid, signal.SIGKILL)
        guard.send(left, signal.SIGKILL)

    def _end(self, status: int) -> End:
        now = memory_kills()
        memory = None if now is None or self._kills is None else now > self._kills
        return End(status, self.seconds, self._cause, memory)

    def _signs(self) -> list[tuple[int, int] | None]:
        found: list[tuple[int, int] | None] = []
        for path in self._watched:
            try:
                about = path.stat()
                found.append((about.st_mtime_ns, about.st_size))
            except OSError:
                found.append(None)
        return found

    def _hold_to_limits(self, now: float) -> None:
        if self._timeout is not None and now - self.began > self._timeout:
            self.stop(TIMEOUT)
        elif self._stall is not None:
            signs = self._signs()
            if signs != self._seen:
                self._seen, self._changed = signs, now
            elif now - self._changed > self._stall:
                self.stop(STALLED)
