"""How a verb ends where it does not come to its own end: one line, and an exit status."""

import argparse
import errno
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from attnlab.errors import UserError


def own_modules() -> None:
    """Let options name modules of the working directory, without these standing in front of installed ones.

    `python -m` puts the working directory first, where a file called `attnlab.py` or `tokenizers.py` would be
    taken for ours; the `attnlab` command therefore sets PYTHONSAFEPATH, which leaves it out.
    """
    if sys.flags.safe_path:
        with suppress(OSError):  # the directory is gone
            sys.path.append(str(Path.cwd()))


CUT_SHORT = 128 + signal.SIGPIPE
"""The status of a training that a closed pipe ended, as a shell gives it for any tool."""


class ReaderGone(BrokenPipeError):
    """Nobody reads standard output any more; other broken pipes, such as a logger's, are faults."""


def deaf() -> None:
    """Standard output to nowhere, once its reader has gone.

    What is still in the buffer would be tried again later, and by Python on its way out.
    """
    with suppress(OSError, ValueError):  # no file of the system's
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Console(logging.StreamHandler):
    """The terminal's part of the log: without what the verb's own last line says, ended by a closed pipe.

    A record logged with `extra=TOLD` goes to files alone.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a record."""
        if not getattr(record, "told", False):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Raises for a closed pipe; logging itself would print a traceback a line, and go on."""
        error = sys.exc_info()[1]
        if isinstance(error, BrokenPipeError):
            deaf()
            raise ReaderGone(*error.args) from None
        super().handleError(record)


TOLD = {"told": True}


class Parser(argparse.ArgumentParser):
    """As argparse has it, with one line for an error, as for every other of the user's."""

    def error(self, message: str) -> NoReturn:
        """Ends with 2."""
        self.exit(2, f"attnlab: {message} ({self.prog} --help)\n")


def told(verb: Callable[[], int]) -> int:
    """The verb's exit status; 2 for an error of the user's, 130 for Ctrl-C.

    A reader that has seen enough (`| head`) is no error.
    """
    own_modules()
    with suppress(AttributeError):  # a stand-in; names of files and systems may be no text the terminal knows
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = verb()
        sys.stdout.flush()
    except UserError as error:
        print(f"attnlab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("attnlab: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        deaf()
        return 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        deaf()  # a file names itself in a UserError: what is left is what the shell has sent somewhere
        print(f"attnlab: {error.filename or 'standard output'}: {error.strerror}; make room", file=sys.stderr)
        return 2
    except SystemExit:  # argparse has printed its help
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            deaf()
        raise
    return status
