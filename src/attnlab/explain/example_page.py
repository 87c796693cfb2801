"""The page of the worked example: its figures, its controls, and what its scripts are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from markupsafe import Markup

from attnlab.explain import example
from attnlab.explain.drawing import MINUS, Picture
from attnlab.explain.filling import fill
from attnlab.explain.page import fragment, marked, questions, render
from attnlab.explain.tables import Table
from attnlab.explain.words import FOREIGN, html, words

_SCRIPTS = ("fill", "numbers", "example", "main")


def example_page(
    tree: Mapping[str, Any], drawn: Mapping[str, Sequence[Picture]], tables: Mapping[str, Sequence[Table]]
) -> str:
    """One HTML file.

    Args:
        tree: the numbers where the walkthrough opens.
        drawn: pictures of each step.
        tables: tables of each step.
    """
    said, point = words(), example.Point()
    steps = [
        {
            "id": step.id,
            "title": step.title,
            "say": marked(step.say, tree),
            "special": marked(step.example, tree),
            "figures": _figures(step.id, drawn[step.id], tree),
            "tables": [table_parts(table, tree) for table in tables.get(step.id, ())],
            "runs": False,
        }
        for step in said.steps
    ]
    return render(
        _SCRIPTS,
        "example_panel.html.j2",
        {"example": _given(point, tree)},
        title=said.title,
        lead=said.lead,
        about=marked([said.example], tree),
        steps=steps,
        questions=questions(said.questions, tree),
        point=point._asdict(),
        words=example.TARGET,
        target=tree["target"],
        state=fill("{s.0:2}, {s.1:2}, {s.2:2}, {s.3:2}", tree, MINUS),
    )


def _figures(step: str, drawn: Sequence[Picture], tree: Mapping[str, Any]) -> Markup:
    """The pictures of a step; of alternatives one at a time."""
    svgs = {picture.key: Markup(picture.svg(tree, prefix="drawn-")) for picture in drawn}
    point = example.Point()
    before: list[Markup] = []
    after: list[Markup] = []
    if step == "score":
        funnels = {key: svgs.pop(key) for key in list(svgs) if key.startswith("funnel")}
        options = list(zip(funnels, example.SOURCE, strict=True))
        after.append(_choice("funnel", "funnel for", options, funnels, "funnel_2", FOREIGN))
    elif step == "lanes":
        options = [(key, key.removeprefix("lanes_")) for key in svgs]
        after.append(_choice("order", "decoder order", options, svgs, "lanes_post_combine"))
        svgs = {}
    elif step == "context":
        before.append(fragment("context_controls.html.j2", pairs=list(combinations(range(1, 5), 2))))
    elif step == "window":
        sliders = [
            ("S", "source words", "places", 4, example.LONGEST, point.places),
            ("D", "half width", "half_width", 1, 10, point.half_width),
            ("t", "step of the output", "step", 1, example.LONGEST, point.step),
        ]
        before.append(fragment("window_controls.html.j2", sliders=sliders))
    figures = [Markup('<figure class="card">{}</figure>').format(svg) for svg in svgs.values()]
    return Markup("\n").join([*before, *figures, *after])


def _choice(
    name: str,
    legend: str,
    options: list[tuple[str, str]],
    svgs: Mapping[str, Markup],
    chosen: str,
    lang: str = "",
) -> Markup:
    pictures = list(svgs.items())
    return fragment(
        "choice.html.j2",
        name=name,
        legend=legend,
        options=options,
        pictures=pictures,
        chosen=chosen,
        lang=lang,
    )


def table_parts(table: Table, tree: Mapping[str, Any]) -> dict[str, Any]:
    """A table as the template takes it."""
    return {
        "caption": Markup(html(table.caption, tree)),
        "name": fill(table.caption, tree),
        "head": marked(table.head, tree),
        "rows": [marked(row, tree) for row in table.rows],
    }


def _given(point: example.Point, tree: Mapping[str, Any]) -> dict[str, Any]:
    """The matrices, the point, and the numbers that no slider moves."""
    names = ("H", "W", "U", "V", "W_P", "V_P", "SOURCE", "TARGET", "STEPS", "ELSEWHERE", "LONGEST", "GROWTH")
    fixed = {name: tree[name] for name in ("h", "corners", "elsewhere", "sizes", "start")}
    return {**{name: getattr(example, name) for name in names}, "point": point._asdict(), "fixed": fixed}
