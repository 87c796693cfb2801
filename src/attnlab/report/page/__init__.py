"""The report's page: one HTML file that opens from disk and asks the network for nothing.

Styles, scripts and the charting library lie beside this module as files of their own and are put into the
page as they are; the report's data is one JSON element, from which the scripts write text nodes only. A
policy in the page's head lets no other script run than these, and nothing be loaded.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

_HERE = Path(__file__).parent
STYLES = ("theme", "base", "controls", "chart", "table", "details", "print")
LIBRARIES = ("d3.min", "plot.umd.min")  # in this order: Plot needs d3
SCRIPTS = (
    "core",
    "state",
    "selection",
    "look",
    "tip",
    "chart",
    "header",
    "controls",
    "legend",
    "lengths_chart",
    "lengths",
    "cells",
    "columns",
    "table",
    "scatter",
    "comparisons",
    "effects",
    "heatmap",
    "samples",
    "parts",
    "details",
    "anchors",
    "main",
)
# What could end the element or, as U+2028 and U+2029, a line of a script.
_UNSAFE = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


@cache
def environment(folder: Path) -> jinja2.Environment:
    """The templates of a folder, each of which it compiles once; a name without a value is an error."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(payload: Mapping[str, Any]) -> str:
    """The page of a report.

    Args:
        payload: the report's data as `attnlab.report.payload` makes it: plain containers, finite numbers.

    Returns:
        The whole HTML, the same for the same payload.

    Raises:
        ValueError: a number of the payload is not finite.
    """
    early = asset("js", "early.js")
    scripts = [*(_library(name) for name in LIBRARIES), *(asset("js", f"{name}.js") for name in SCRIPTS)]
    return (
        environment(_HERE / "template")
        .get_template("page.html.j2")
        .render(
            title=str(payload.get("title") or "attnlab report"),
            policy=policy([early, *scripts]),
            styles=[Markup(asset("css", f"{name}.css")) for name in STYLES],
            early=Markup(early),
            scripts=[Markup(script) for script in scripts],
            data=Markup(embedded(payload)),
        )
    )


def embedded(value: Any) -> str:
    """JSON that can stand inside an HTML element: nothing in it ends the element or opens a comment."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def asset(*parts: str) -> str:
    """A file of this package; line ends as they are in an HTML element, so that its hash is the browser's."""
    return _HERE.joinpath(*parts).read_text(encoding="utf-8")


def _library(name: str) -> str:
    """A vendored script behind its licence, which asks to be in all copies."""
    licence = asset("vendor", f"{name.partition('.')[0]}.LICENSE")
    return f"/*\n{licence}*/\n{asset('vendor', f'{name}.js')}"


def policy(scripts: list[str]) -> str:
    """A content security policy: these scripts by their hashes, styles of the page, no request at all."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
