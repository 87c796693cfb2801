"""Takes out of a report who made it and where: for a submission that is reviewed blind.

Removed are absolute paths and home folders, e-mail addresses, git remotes, addresses of other than public
hosts, and names of users, hosts and W&B entities, wherever they stand. Relative paths, numbers and the names
of cells stay.

Names are learnt: from this machine, from fields that hold them (`hostname`, `entity`, ...) and from the
paths, addresses and remotes of everything that is handed in. So learn from all of a report first
(`Scrubber(records, notes)`, `anonymise(report)`), then apply it to each part. Names of one or two letters,
and such as `root` or `test`, are removed in paths, addresses and fields only: elsewhere they are words.

For values and for texts made of them (CSV, Markdown, LaTeX, SVG). A page with scripts is made from a cleaned
payload: a script holds slashes that are no paths.
"""

from __future__ import annotations

import contextlib
import getpass
import html
import json
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from attnlab.report.rows import Report

PATH, EMAIL, URL, NAME = "[path]", "[email]", "[url]", "[anonymous]"

# Fields whose value is a person, a machine or an account.
_FIELDS = frozenset(
    {
        *("user", "username", "user_name", "login", "owner", "author", "account", "entity", "team"),
        *("host", "hostname", "host_name", "node", "nodename", "fqdn", "home"),
    }
)
# Like them, unless they hold the project's own name.
_PROJECT = "project"
# Accounts and machines that are nobody's, and words of the report itself: taken out of paths and addresses
# only, since they would take half of a table along.
_NOBODY = frozenset(
    {
        *("root", "user", "users", "ubuntu", "debian", "admin", "runner", "jovyan", "nobody", "guest", "git"),
        *("github.com", "gitlab.com", "bitbucket.org", "huggingface.co", "wandb.ai"),
        *("localhost", "localdomain", "home", "none", "null", "true", "false", "default", "anonymous"),
        *("attnlab", "data", "test", "train", "val", "model", "seed", "cell", "name", "source", "target"),
        *("report", "runs", "path", "email", "url", "main", "cpu", "gpu", "cuda", "table", "bleu", "chrf"),
        *("encoder", "decoder", "scorer", "window", "attention", "global", "local", "lstm", "gru", "dot"),
        *("general", "additive", "concat", "location", "system", "baseline", "config", "value", "linux"),
    }
)
# Places that name no author: standards, archives, homes of data sets.
_PUBLIC = re.compile(
    r"https?://(?:www\.)?(?:w3\.org|arxiv\.org|doi\.org|aclanthology\.org|creativecommons\.org|opus\.nlpl\.eu"
    r"|statmt\.org|huggingface\.co/datasets|aclrollingreview\.org|neurips\.cc|purl\.org|matplotlib\.org"
    r"|github\.com/(?:joeynmt|tensorflow|lilt|neulab|robertostling|bentrevett|google|lmthang|mjpost)"
    r")(?![\w.-])"
)
_STOP = r"\s\"'`<>|\\^{}"  # never part of an address
_EDGE = r"(?:(?<![\w.~/\\<\]%-])|(?<=\s-[A-Za-z]))"  # a path begins: not within `a/b`, `./a`, `</a>`; `-I/a`
_SLASH = r"(?:\\{1,4}|/)"  # of Windows, also inside JSON
_KINDS: dict[str, str] = {
    "file": rf"file:/+[^{_STOP},;)\]]+(?:\\+[^{_STOP},;)\]]+)*",
    "remote": rf"(?:git\+)?(?:ssh|git|rsync|s3|gs|hdfs|smb|sftp|tcp)(?:\+\w+)?://[^{_STOP},;)\]]+"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*:(?!\d)[^\s\"'`<>|,;)\]]+",
    "url": rf"(?:git\+)?https?://[^{_STOP},;)\]]+",
    "wandb": r"(?<![\w./-])(?:[\w-]+\.)?wandb\.(?:ai|io)/[^\s\"'`<>|,;)\]]+",
    "email": r"(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)*\w",
    "windows": rf"(?<![A-Za-z0-9])[A-Za-z]:{_SLASH}(?:(?:Users|Documents and Settings){_SLASH}"
    rf"[^\\/:*?\"'<>|\r\n]+(?={_SLASH}))?(?:[^\s\"'`<>|*?:,;)\]]+)?",
    "share": r"(?<!\\)(?:\\{2}|\\{4})(?=\w)[\w.-]+(?:\\{1,2}[\w.$-]+)+",
    "home": r"(?<![\w.~/\\-])~[\w.-]+(?=/)(?:/[^\s\"'`<>|:,;()\[\]{}]*)*",
    "posix": rf"{_EDGE}/(?=[\w.~@+])(?!/)[^\s\"'`<>|:,;()\[\]{{}}\\]+(?:\\ [^\s\"'`<>|:,;()\[\]{{}}\\]+)*",
}
_ANY = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
_QUOTED = re.compile(r"(?P<mark>[\"'`])(?P<path>/(?=[\w.~])[^\"'`\n<>|:]*? [^\"'`\n<>|:]*)(?P=mark)")
_WHOLE = re.compile(r"(?:/[^/\n:;,\"'<>|]+)+/?|[A-Za-z]:\\[^\n:;,\"'<>|*?]*")
_HOMES = re.compile(
    r"(?:/home|/Users|/export/home|/u)/(?P<posix>[\w.@-]+)"
    r"|[A-Za-z]:(?:\\{1,4}|/)(?:Users|Documents and Settings)(?:\\{1,4}|/)(?P<windows>[^\\/:*?\"<>|\r\n]+)"
    r"|~(?P<tilde>[A-Za-z][\w.-]*)/"
)
_ACCOUNTS = re.compile(
    r"(?:[\w-]+\.)?wandb\.(?:ai|io)/(?P<entity>[\w.-]+)(?:/(?P<project>[\w.-]+))?"
    r"|://(?P<login>[\w.+-]+)(?::[^@/\s]*)?@(?P<machine>[\w.-]+)"
    r"|(?<![\w.+%-])(?P<user>[\w.+-]+)@(?P<host>[\w.-]+\w)"
)
_SET = re.compile(
    r"(?P<before>(?<!\w)(?P<field>\w+)\\?[\"']?(?:=|: ?)\\?[\"']?)(?P<value>[^\s'\",;=\\{}\[\]]+)"
)
_SHORTEST = 3  # of a name that is taken out wherever it stands


class Scrubber:
    """Removes the names that it has learnt, and whatever looks like a path or an address.

    Args:
        values: what to learn from: records, notes, texts; anything made of containers and strings.
        machine: learn this machine's user, host and home folder too.
    """

    def __init__(self, *values: Any, machine: bool = True) -> None:
        names: set[str] = set()
        if machine:
            names |= set(_here())
        for value in values:
            names |= set(_learn(value))
        self.names: frozenset[str] = frozenset(name for name in names if _tells(name))
        self._pattern = _names(self.names)
        self._known: dict[str, str] = {}  # records repeat themselves

    def __call__(self, value: Any) -> Any:
        """The value again, of the same shape, with every string and key cleaned; numbers as they are."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            made: dict[Any, Any] = {}
            for key, item in value.items():
                clean, number = self(key), 1
                while clean in made:  # two keys that differed in what is gone
                    clean, number = f"{self(key)}#{number + 1}", number + 1
                made[clean] = self._field(str(key), item)
            return made
        if isinstance(value, tuple):
            items = [self(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, list):
            return [self(item) for item in value]
        if isinstance(value, set | frozenset):
            return type(value)(self(item) for item in value)
        return self._text(str(value)) if isinstance(value, Path) else value

    def _field(self, key: str, value: Any) -> Any:
        if isinstance(value, str) and value and _personal(key, value):
            return NAME
        return self(value)

    def _text(self, text: str) -> str:
        if text not in self._known:
            self._known[text] = self._clean(text)
        return self._known[text]

    def _clean(self, text: str) -> str:
        if _WHOLE.fullmatch(text):  # a value of its own may hold blanks
            return PATH
        text = _QUOTED.sub(rf"\g<mark>{PATH}\g<mark>", text)
        text = _ANY.sub(self._found, text)
        text = _SET.sub(_assigned, text)
        return text if self._pattern is None else self._pattern.sub(NAME, text)

    def _found(self, match: re.Match[str]) -> str:
        kind, found = str(match.lastgroup), match[0]
        if kind == "url":
            bare = found.rstrip(".")
            kept = _PUBLIC.match(bare) and not bare.endswith(".git") and "@" not in bare
            return found if kept else URL + found[len(bare) :]
        if kind in ("remote", "wandb"):
            return URL
        return EMAIL if kind == "email" else PATH


def scrub(value: Any) -> Any:
    """Learns from the value and this machine, then cleans it; for several parts of a report: `Scrubber`."""
    return Scrubber(value)(value)


def anonymise(report: Report, *more: Any) -> tuple[Report, Scrubber]:
    """Cleans the rows of a report in place, so that tables, figures and page are made of what may be seen.

    Call it when everything is read (statistics, systems, scores: they need the real settings and places) and
    before anything is written. The runs keep their folders, which are not to be shown.

    Args:
        report: all comparisons.
        more: what else to learn from, such as records of failed runs.

    Returns:
        The report with clean notes, and the scrubber for all that is made later (payload, messages).
    """
    runs = [run for comparison in report.comparisons for row in comparison.rows for run in row.runs]
    folders = [str(run.folder.absolute()) for run in runs]
    scrubber = Scrubber([run.record for run in runs], folders, list(report[1:]), *more)
    for comparison in report.comparisons:
        for row in comparison.rows:
            for name in ("cell_id", "config", "settings", "origin", "failed", "interrupted", "missing"):
                setattr(row, name, scrubber(getattr(row, name)))
            row.runs = [
                run._replace(record=scrubber(run.record), test=scrubber(run.test), data=scrubber(run.data))
                for run in row.runs
            ]
    return Report(report.comparisons, *scrubber(list(report[1:]))), scrubber


def _here() -> Iterator[str]:
    """Names of this machine: the user, the host with and without its domain, the home folder's."""
    with contextlib.suppress(OSError, KeyError):  # no such user, as in some containers
        yield getpass.getuser()
    yield from _host(socket.gethostname())
    with contextlib.suppress(RuntimeError):
        yield Path.home().name


def _learn(value: Any, key: str = "") -> Iterator[str]:
    """Names in a value, by the field that it stands in or by what surrounds them."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _learn(str(name))
            yield from _learn(item, str(name))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _learn(item, key)
    elif isinstance(value, str | Path):
        text = str(value)
        if _personal(key, text) and "/" not in text and len(text) < 64:
            yield from _host(text)
        yield from _from_text(text)


@lru_cache(maxsize=4096)
def _from_text(text: str) -> frozenset[str]:
    return frozenset(_given_away(text))


def _given_away(text: str) -> Iterator[str]:
    for form in dict.fromkeys((text, unquote(text))):
        for match in (*_HOMES.finditer(form), *_ACCOUNTS.finditer(form)):
            for kind, name in match.groupdict().items():
                if not name or (kind == _PROJECT and name == "attnlab"):
                    continue
                yield name.strip()
                yield from name.split()  # of `Ada Lovelace` either word
        for match in _SET.finditer(form):
            if _personal(match["field"], match["value"]):
                yield from _host(match["value"])


def _personal(key: str, value: str) -> bool:
    """Whether a field names a person, a machine or an account."""
    field = key.rpartition(".")[2].casefold()
    if re.fullmatch(r"[\d.]*|null|None|none|\[\w+\]?", value):
        return False
    return field in _FIELDS or (field == _PROJECT and value != "attnlab")


def _assigned(match: re.Match[str]) -> str:
    return match["before"] + NAME if _personal(match["field"], match["value"]) else match[0]


def _host(name: str) -> Iterator[str]:
    """The name, and that of a host without its domain."""
    yield name.strip()
    if "." in name and not re.fullmatch(r"[\d.]+", name):
        yield name.partition(".")[0].strip()


def _tells(name: str) -> bool:
    """Whether a name says who or where, so that it must go wherever it stands."""
    return len(name) >= _SHORTEST and name.casefold() not in _NOBODY and not re.fullmatch(r"[\d.]+", name)


def _names(names: Iterable[str]) -> re.Pattern[str] | None:
    """Any of the names as a word of its own, as it stands in text, JSON, HTML and addresses."""
    forms: set[str] = set()
    for name in names:
        escaped = json.dumps(name)[1:-1]
        forms |= {name, escaped, escaped.replace("\\", "\\\\"), html.escape(name), quote(name)}
    if not forms:
        return None
    longest = sorted(forms, key=lambda form: (-len(form), form))
    return re.compile(r"(?<![^\W_])(?:" + "|".join(map(re.escape, longest)) + r")(?![^\W_])", re.IGNORECASE)
