"""Lines of text from a file or a pipe, as they were written: UTF-8, plain or gzip, whatever the line ends."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator
from typing import IO

from attnlab.errors import UserError


def read(stream: IO[bytes], name: str) -> Iterator[str]:
    """The lines of a binary stream, without line ends and without a byte order mark.

    Only the line feed ends a line (a carriage return before it goes too): text may hold other separators.
    gzip is told by its first two bytes.

    Raises:
        UserError: not UTF-8, or a damaged gzip file; the message has the line.
    """
    lines: Iterable[bytes] = stream
    if isinstance(stream, io.BufferedReader) and stream.peek(2)[:2] == b"\x1f\x8b":
        lines = gzip.GzipFile(fileobj=stream)
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            text = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
            yield text.removeprefix("\ufeff") if number == 1 else text
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}, line {number}: not UTF-8 ({error.reason}); "
            "convert it, such as with iconv -f LATIN1 -t UTF-8"
        ) from error
    except (OSError, EOFError) as error:
        raise UserError(f"{name}, after line {number}: cannot be read ({error})") from error
