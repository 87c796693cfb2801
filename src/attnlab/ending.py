"""How a verb ends where it does not come to its own end: one line, and an exit status."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from attnlab.errors import UserError


def own_modules() -> None:
    """Let options name modules of the working directory, without these standing in front of installed ones.

    `python -m` puts the working directory first, where a file called `attnlab.py` or `tokenizers.py` would be
    taken for ours; the `attnlab` command therefore sets PYTHONSAFEPATH, which leaves it out.
    """
    if sys.flags.safe_path:
        with suppress(OSError):  # the directory is gone
            sys.path.append(str(Path.cwd()))


def told(verb: Callable[[], int]) -> int:
    """The verb's exit status; 2 for an error of the user's, 130 for Ctrl-C.

    A reader that has seen enough (`| head`) is no error.
    """
    own_modules()
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
        # What is still in the buffer has nowhere to go, and Python would try again on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status
