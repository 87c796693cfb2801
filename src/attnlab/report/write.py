"""Writes a report into a folder: the same bytes for the same records."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import UserError
from attnlab.report.evidence import Evidence, evidence
from attnlab.report.rows import Report

if TYPE_CHECKING:
    from attnlab.report.anchors import Anchor
    from attnlab.report.figures import Planned

PAGE, CHECKLIST = "index.html", "checklist.md"
_OURS = r"table(_.+)?\.(csv|md|tex)|(tests|lengths|effects)(_.+)?\.csv|index\.html|checklist\.md"


def write(
    report: Report,
    out: Path,
    evidences: Sequence[Evidence] | None = None,
    *,
    anchors: Sequence[Anchor] = (),
    scrubber: Callable[[Any], Any] | None = None,
    page: bool = True,
) -> list[Path]:
    """Writes tables, lists, figures, the page and the checklist.

    Every further comparison goes into files of its own: `table_<slug>.csv` and so on.

    Args:
        report: its comparisons.
        out: a folder, made where there is none.
        evidences: one for each comparison; made with the defaults where they are not given.
        anchors: published results, listed in `table.md` and shown on the page.
        scrubber: takes out of all texts who made the report and where (`anonymous.Scrubber`).
        page: write the page too.

    Returns:
        The files, in the order they were written.

    Raises:
        UserError: the folder cannot be made or written to.
    """
    out = Path(out)
    if evidences is None:
        evidences = [evidence(comparison) for comparison in report.comparisons]
    from attnlab.report import figures
    from attnlab.report.checklist import checklist

    clean = scrubber or (lambda value: value)
    written = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        planned, captions = _planned(report, evidences)
        for name, text in _texts(report, evidences, anchors, captions).items():
            _put(out / name, clean(text))
            written.append(out / name)
        for one, made, some in zip(report.comparisons, evidences, planned, strict=True):
            written += figures.write_all(one, made, out, some)
        texts = {CHECKLIST: checklist(report, evidences, report.failed)}
        if page:
            texts[PAGE] = _page(report, evidences, out, anchors, captions, clean, scrubber is not None)
        for name, text in texts.items():
            _put(out / name, text if name == PAGE else clean(text))
            written.append(out / name)
    except OSError as error:
        raise UserError(
            f"{out}: cannot be written ({error.strerror}); give another folder to --out"
        ) from error
    return written


def _put(path: Path, text: str) -> None:
    """Writes a text under another name, then renames it: who stops the report leaves no half file."""
    half = path.with_name(f".{path.name}.half")
    try:
        # names of folders may be no text in UTF-8
        half.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def stale(out: Path, written: Sequence[Path]) -> list[str]:
    """Names of files in the folder that look like those of a report and are not of this one.

    They are left where they are: a report never deletes.
    """
    from attnlab.report import figures

    ours = re.compile(f"{_OURS}|{figures.OURS.pattern}")
    new = {path.name for path in written}
    return sorted(path.name for path in out.iterdir() if ours.fullmatch(path.name) and path.name not in new)


def _planned(
    report: Report, evidences: Sequence[Evidence]
) -> tuple[list[list[Planned]], list[dict[str, str]]]:
    """The figures of every comparison, and their captions; of those that cannot be, why not."""
    from attnlab.report import figures

    planned, captions = [], []
    for one, made in zip(report.comparisons, evidences, strict=True):
        some, absent = figures.plan(one, made)
        planned.append(some)
        captions.append({each.stem: each.caption for each in some})
        made.notes += [note for note in absent if note not in made.notes]
    return planned, captions


def _texts(
    report: Report,
    evidences: Sequence[Evidence],
    anchors: Sequence[Anchor],
    captions: Sequence[Mapping[str, str]],
) -> dict[str, str]:
    """The tables and lists of every comparison, by file name."""
    from attnlab.report import lists, table
    from attnlab.report.anchors import to_markdown
    from attnlab.report.latex import to_latex

    texts: dict[str, str] = {}
    for number, (one, made) in enumerate(zip(report.comparisons, evidences, strict=True)):
        unscored = [] if number else report.unscored  # told once
        markdown = table.to_markdown(one, made, report.notes, unscored, captions[number])
        if anchors and not number:
            markdown += "\n" + to_markdown(anchors)
        texts |= {
            f"{one.file('table')}.csv": table.to_csv(one, made),
            f"{one.file('table')}.md": markdown,
            f"{one.file('table')}.tex": to_latex(one, made),
            f"{one.file('tests')}.csv": lists.tests_csv(one, made),
            f"{one.file('lengths')}.csv": lists.lengths_csv(one, made),
            f"{one.file('effects')}.csv": lists.effects_csv(made),
        }
    return texts


def _page(
    report: Report,
    evidences: Sequence[Evidence],
    out: Path,
    anchors: Sequence[Anchor],
    captions: Sequence[Mapping[str, str]],
    clean: Callable[[Any], Any],
    anonymous: bool,
) -> str:
    from attnlab.report.page import render
    from attnlab.report.payload import payload

    made = payload(report, evidences, out, anchors=anchors, captions=captions, anonymous=anonymous)
    return render(clean(made))
