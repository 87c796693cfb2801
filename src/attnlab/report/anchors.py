"""Published results as data (`anchors.yaml`): each with where it was read and how sure that is.

They stand beside own rows and are never mixed with them: another text, another tokenisation, other training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from attnlab.errors import UserError

FILE = Path(__file__).with_name("anchors.yaml")
VERIFIED, SECOND_HAND, FROM_MEMORY = "verified", "second hand", "from memory"
SURENESS = (VERIFIED, SECOND_HAND, FROM_MEMORY)


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """One published number.

    Attributes:
        paper, year, table: where it is published; `year` is None where a program's page has none.
        system: the row of that table.
        task: what the system was trained on, in words.
        languages: such as `en-de`, source first.
        test_set: with its number of sentences where that tells two editions apart.
        metric: `BLEU`, `METEOR` (0 to 100), `AER` (0 to 1) or `perplexity`.
        flavour: how the metric was computed: tokenised or not, case, which sentences or links.
        value, sd, n_seeds: the number; its deviation over seeds and their number, None where not given.
        verified: `verified` (read in the source), `second hand` or `from memory`.
        source: where it was read.
        note: known mistakes, and what a reader would miss; None without any.
        url: of the publication, or None.
        gain, over: the difference from another system of the table, where the table is about it.
    """

    paper: str
    year: int | None
    table: str
    system: str
    task: str
    languages: str
    test_set: str
    metric: str
    flavour: str
    value: float
    sd: float | None = None
    n_seeds: int | None = None
    verified: str
    source: str
    note: str | None = None
    url: str | None
    gain: float | None = None
    over: str | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """What no two anchors share."""
        names = (self.paper, self.year, self.table, self.system, self.languages)
        return (*map(str, names), self.test_set, self.metric, self.flavour)

    @property
    def text(self) -> str:
        """The number as it may be shown: `22.03 ± 0.08 (second hand)`; no digit that was not printed."""
        number = f"{self.value:g}"
        if self.sd is not None:
            number += f" ± {self.sd:g}"
        return number if self.verified == VERIFIED else f"{number} ({self.verified})"

    def plain(self) -> dict[str, Any]:
        """For JSON, with `text` among the fields."""
        return {**asdict(self), "text": self.text}


def load(path: Path = FILE) -> list[Anchor]:
    """All anchors, in the order of the file.

    A file is a list of groups; what a group says holds for each of its `results` that does not say it anew.
    Notes are joined.

    Raises:
        UserError: the file cannot be read, a field is missing, unknown or of the wrong kind, or an anchor
            stands there twice.
    """
    try:
        groups = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        told = " ".join(str(error).split())
        raise UserError(f"{path}: cannot be read ({told}); it must be a list of groups in YAML") from error
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise UserError(f"{path}: must be a list of groups, each with its results")
    anchors = []
    for number, group in enumerate(groups, start=1):
        shared = {name: value for name, value in group.items() if name != "results"}
        results = group.get("results")
        if not isinstance(results, list) or not results:
            raise UserError(f"{path}, group {number}: 'results' must be a list of results")
        for result in results:
            anchors.append(_anchor(shared, result, f"{path}, group {number}"))
    seen: set[tuple[str, ...]] = set()
    for anchor in anchors:
        if anchor.key in seen:
            raise UserError(f"{path}: {', '.join(anchor.key)} stands there twice; keep one")
        seen.add(anchor.key)
    return anchors


def select(
    languages: str | None = None, metric: str | None = None, anchors: Sequence[Anchor] | None = None
) -> list[Anchor]:
    """The anchors of a language pair and metric; None takes all.

    For AER the order of the two languages does not count: links have no direction.

    Args:
        languages: such as `de-en`, source first.
        metric: in any case.
        anchors: to choose from; those of the project by default.
    """

    def wanted(anchor: Anchor) -> bool:
        pairs = {anchor.languages}
        if anchor.metric == "AER":
            pairs.add("-".join(reversed(anchor.languages.split("-"))))
        fits = languages is None or languages.lower() in pairs
        return fits and (metric is None or metric.lower() == anchor.metric.lower())

    return [anchor for anchor in (_project() if anchors is None else anchors) if wanted(anchor)]


def to_markdown(anchors: Sequence[Anchor]) -> str:
    """A table of anchors, and what the marks mean; empty text for none."""
    if not anchors:
        return ""
    from attnlab.report.table import markdown_table

    titles = ("published", "system", "test set", "metric", "value", "how it was computed", "note")
    lines = [
        "Published results, for orientation only: other text, training and tokenisation than the rows above.",
        "",
        *markdown_table(titles, map(_cells, anchors), [title == "value" for title in titles]),
    ]
    if any(one.verified != VERIFIED for one in anchors):
        lines += [
            "",
            "second hand: read in another text that copied it; from memory: not looked up. "
            "Check these in the paper before you print them.",
        ]
    return "\n".join([*lines, ""])


@cache
def _project() -> tuple[Anchor, ...]:
    return tuple(load())


def _anchor(shared: Mapping[str, Any], result: Any, where: str) -> Anchor:
    if not isinstance(result, dict):
        raise UserError(f"{where}: a result must have 'system' and 'value', not be '{result}'")
    told = {**shared, **result}
    told["note"] = "; ".join(note for note in (result.get("note"), shared.get("note")) if note) or None
    where = f"{where}, {told.get('system', 'a result without system')}"
    known = {field.name: str(field.type) for field in fields(Anchor)}
    if unknown := sorted(set(told) - set(known)):
        raise UserError(f"{where}: no such field: {', '.join(unknown)}; there are {', '.join(known)}")
    optional = {field.name for field in fields(Anchor) if field.default is None}
    if missing := sorted(set(known) - optional - set(told)):
        raise UserError(f"{where}: {', '.join(missing)} is missing")
    for name, value in told.items():
        if not _fits(value, known[name]):
            raise UserError(f"{where}: {name} is {value!r}; it must be {known[name]}")
    if told["verified"] not in SURENESS:
        raise UserError(f"{where}: verified is '{told['verified']}'; it is one of {', '.join(SURENESS)}")
    if (told.get("gain") is None) != (told.get("over") is None):
        raise UserError(f"{where}: gain and over belong together")
    return Anchor(**told)


def _fits(value: Any, kind: str) -> bool:
    if value is None:
        return "None" in kind
    if "str" in kind:
        return isinstance(value, str) and bool(value.strip())
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole or ("float" in kind and isinstance(value, float))


def _cells(one: Anchor) -> tuple[str, ...]:
    paper = " ".join(filter(None, [one.paper, str(one.year or ""), f"({one.table})"]))
    where = f"{one.test_set}, {one.languages}"
    return paper, one.system, where, one.metric, one.text, one.flavour, one.note or ""
