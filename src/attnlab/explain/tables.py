"""The numbers of each step as tables: of the plain-text form, and under the pictures of the page."""

from __future__ import annotations

from typing import NamedTuple

import torch

from attnlab.attention import Additive, Concat, Dot, General, Location, ScaledDot
from attnlab.explain import counted, example

SOURCE = [f"h_{j + 1} {word}" for j, word in enumerate(example.SOURCE)]
REACH = 100
"""Positions of the location score in the table of parameters."""


class Table(NamedTuple):
    """A table of templates.

    Attributes:
        caption: what it shows.
        head: of its columns.
        rows: a name first, then one template a column.
        bars: the path of a number in 0..1 for each row, drawn beside it on a terminal.
    """

    caption: str
    head: list[str]
    rows: list[list[str]]
    bars: list[str] | None = None


def tables() -> dict[str, list[Table]]:
    """Of each step of the worked example."""
    words = range(len(SOURCE))
    slots = range(len(example.H[0]))
    units = range(len(example.V))
    return {
        "bottleneck": [
            Table(
                "the source states",
                ["", *(f"slot {k + 1}" for k in slots)],
                [[SOURCE[j], *(f"{{h.{j}.{k}:1}}" for k in slots)] for j in words],
            )
        ],
        "question": [
            Table(
                "the {scorer} score, and the brightness of the beam",
                ["", "score e_j", "brightness"],
                [[SOURCE[j], f"{{e.{j}:4}}", f"{{bright.{j}:4}}"] for j in words],
                [f"bright.{j}" for j in words],
            )
        ],
        "score": [
            *(
                _matrix(f"{name}, {{sizes.{name}}}", rows)
                for name, rows in (("W", example.W), ("U", example.U))
            ),
            _matrix("v, {sizes.v} numbers", [example.V]),
            Table(
                "dot product: products slot by slot, their sum, and the shadow of s on h_j",
                ["", *(f"slot {k + 1}" for k in slots), "sum", "shadow", "times length", "cosine"],
                [
                    [
                        SOURCE[j],
                        *(f"{{dot.products.{j}.{k}:3}}" for k in slots),
                        *(f"{{dot.{name}.{j}:4}}" for name in ("score", "shadow", "norm", "cosine")),
                    ]
                    for j in words
                ],
            ),
            *(
                Table(
                    f"additive score of {SOURCE[j]}, unit by unit: it is {{additive.score.{j}:4}}",
                    ["", "W s", "U h_j", "sum", "tanh", "times v", "gives"],
                    [
                        [
                            f"unit {u + 1}",
                            f"{{additive.Ws.{u}:2}}",
                            f"{{additive.Uh.{j}.{u}:2}}",
                            *(f"{{additive.{name}.{j}.{u}:4}}" for name in ("inside", "tanh")),
                            f"{example.V[u]:.1f}",
                            f"{{additive.terms.{j}.{u}:4}}",
                        ]
                        for u in units
                    ],
                )
                for j in words
            ),
            parameters(),
        ],
        "softmax": [
            Table(
                "from scores to shares, and what dividing by the sum would give",
                ["", "score", "exp(score)", "share", "score / sum"],
                [
                    [SOURCE[j], f"{{e.{j}:4}}", f"{{exp.{j}:4}}", f"{{a.{j}:4}}", f"{{divided.{j}:2}}"]
                    for j in words
                ]
                + [["sum", "{sum_e:4}", "{total:4}", "{sum_a:4}", ""]],
                [f"a.{j}" for j in words],
            ),
            Table(
                "the Jacobian here: the slope of each share (row) for each score (column)",
                ["", *(f"e_{j + 1}" for j in words)],
                [[f"a_{i + 1}", *(f"{{jacobian.{i}.{j}:4}}" for j in words)] for i in words],
            ),
        ],
        "context": [
            Table(
                "scaled states and their sum",
                ["", "share", *(f"slot {k + 1}" for k in slots)],
                [
                    [f"a_{j + 1} h_{j + 1}", f"{{a.{j}:4}}", *(f"{{scaled.{j}.{k}:4}}" for k in slots)]
                    for j in words
                ]
                + [["c", "{sum_a:4}", *(f"{{c.{k}:4}}" for k in slots)]]
                + [["hard choice", "", *(f"{{hard.{k}:4}}" for k in slots)]],
            ),
            Table(
                "how near the context is to each state",
                ["", "share", "cosine", "distance"],
                [[SOURCE[j], f"{{a.{j}:4}}", f"{{cosine.{j}:3}}", f"{{distance.{j}:4}}"] for j in words],
                [f"a.{j}" for j in words],
            ),
        ],
        "corners": [
            Table(
                "shares in the corners",
                ["", *example.SOURCE],
                [
                    ["equal scores", *(f"{{corners.uniform.{j}:4}}" for j in words)],
                    ["twenty times the question", *(f"{{corners.peaked.{j}:4}}" for j in words)],
                    ["one word", "{corners.single.0:4}", "", ""],
                ],
            )
        ],
        "window": [
            Table(
                "{window.S} words of equal score, D = {window.D}, t = {window.t}",
                ["", "centre", "first", "last", "scored", "sum of weights", "entropy"],
                [
                    [
                        name,
                        f"{{window.{name}.centre:2}}" if centred else "",
                        *(f"{{window.{name}.{what}}}" for what in ("first", "last", "scored")),
                        f"{{window.{name}.sum:3}}",
                        f"{{window.{name}.entropy:2}}",
                    ]
                    for name, centred in (("global", False), ("local_m", True), ("local_p", True))
                ],
            ),
            Table(
                "entropy as the source grows, equal scores, at the middle step",
                ["words", "3", "10", "20", "40", "60"],
                [
                    [name, *(f"{{growth.{name}.{size - 1}:2}}" for size in (3, 10, 20, 40, 60))]
                    for name in ("global", "local_m", "local_p")
                ],
            ),
        ],
    }


def _matrix(caption: str, rows: list[list[float]]) -> Table:
    """Numbers that no slider moves."""
    many = len(rows) > 1
    head = [f"{'column' if many else 'unit'} {k + 1}" for k in range(len(rows[0]))]
    names = [f"row {i + 1}" if many else "" for i in range(len(rows))]
    lines = [[name, *(f"{value:.1f}" for value in row)] for name, row in zip(names, rows, strict=True)]
    return Table(caption, ["", *head], lines)


def parameters() -> Table:
    """How many numbers each score learns, counted on the scorers themselves."""

    rows = []
    for size, units in ((4, 3), (256, 256)):
        with torch.device("meta"):
            made = [
                Dot(size, size),
                ScaledDot(size, size),
                General(size, size),
                Additive(size, size, units),
                Concat(size, size),
                Location(size, size, REACH),
            ]
        rows.append([f"H = K = {size}, U = {units}", *(f"{counted.parameters(scorer):,}" for scorer in made)])
    head = ["", "dot", "scaled_dot", "general", "additive", "concat", f"location ({REACH})"]
    return Table("parameters of the scores", head, rows)
