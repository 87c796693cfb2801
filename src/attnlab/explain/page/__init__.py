"""The walkthrough as one HTML file that opens from disk and asks the network for nothing.

Its colours, type and base styles are those of the report's page; its pictures are drawn by `drawing.py` and
moved by the scripts beside this module, which compute the worked example's numbers again where a slider
moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from attnlab import __version__
from attnlab.explain.words import Question, html
from attnlab.report import page as base

_HERE = Path(__file__).parent
_STYLES = ("theme", "base", "controls", "chart", "table", "details", "print")


def render(scripts: Sequence[str], panel: str, data: Mapping[str, Any], /, **parts: Any) -> str:
    """The page.

    Args:
        scripts: own scripts, in order, behind the report's `core`.
        panel: the template of the panel at the top.
        data: what the scripts read.
        parts: what the templates name; strings of markup are `Markup`.
    """
    early = base.asset("js", "early.js")
    texts = [base.asset("js", "core.js"), *(_text("js", f"{name}.js") for name in scripts)]
    styles = [*(base.asset("css", f"{name}.css") for name in _STYLES), _text("css", "walk.css")]
    template = base.environment(_HERE / "template").get_template("walk.html.j2")
    return template.render(
        policy=base.policy([early, *texts]),
        early=Markup(early),
        styles=[Markup(style) for style in styles],
        scripts=[Markup(text) for text in texts],
        data=Markup(base.embedded(data)),
        panel=panel,
        version=__version__,
        **parts,
    )


def fragment(name: str, /, **parts: Any) -> Markup:
    """A small template of this package, filled."""
    return Markup(base.environment(_HERE / "template").get_template(name).render(**parts))


def marked(templates: Sequence[str], tree: Mapping[str, Any]) -> list[Markup]:
    """Paragraphs of `words.yaml` as markup."""
    return [Markup(html(template, tree)) for template in templates]


def questions(asked: Sequence[Question], tree: Mapping[str, Any]) -> list[dict[str, Markup]]:
    """Questions and answers as markup."""
    return [{"ask": Markup(html(one.ask, tree)), "answer": Markup(html(one.answer, tree))} for one in asked]


def _text(*parts: str) -> str:
    return _HERE.joinpath(*parts).read_text(encoding="utf-8")
