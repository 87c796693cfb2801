"""The numbers of a trained run as tables: a line a step of the output, and one step in full.

Their cells are templates of the tree of a step; words that are not ours stand as they are.
"""

# ruff: noqa: RUF001 (mathematical signs)

from __future__ import annotations

from attnlab.explain import filling
from attnlab.explain.filling import Verbatim
from attnlab.explain.following import TOP
from attnlab.explain.reading import Reading
from attnlab.explain.tables import Table

_WORD = ("word", "word", None)
_PER_STEP: dict[str, list[tuple[str, str, int | None]]] = {
    "question": [_WORD, ("best score of", "brightest", None), ("score", "best", 2)],
    "softmax": [_WORD, ("heaviest", "heaviest", None), ("weight", "top", 3), ("sum", "sum", 3)],
    "context": [
        _WORD,
        ("length of c", "norm", 2),
        ("heaviest", "heaviest", None),
        ("nearest", "nearest", None),
    ],
    "corners": [
        _WORD,
        ("equal", "corners.uniform_top", 3),
        ("sum", "corners.uniform_sum", 3),
        ("times", "corners.times", None),
        ("peak", "corners.peak", 3),
        ("sum", "corners.peaked_sum", 3),
        ("of", "corners.peak_word", None),
        ("alone", "corners.single", 3),
    ],
    "window": [
        _WORD,
        ("centre", "centre", 2),
        ("first", "first", None),
        ("last", "last", None),
        ("scored", "scored", None),
        ("entropy", "entropy", 2),
    ],
    "whole": [_WORD, ("probability", "chance", 3), ("heaviest", "heaviest", None), ("weight", "top", 3)],
}
_SILENT = ("question", "score", "softmax", "context", "corners", "window")
"""Steps at which a model without attention has nothing to show."""


def run_tables(step: str, reading: Reading) -> list[Table]:
    """The numbers of a run that belong to a step of the walkthrough, all steps of the output at once."""
    facts = reading.facts
    if step == "bottleneck":
        row = [f"{facts['S']}", f"{facts['K']}", f"{facts['numbers']:,}"]
        return [Table("{name}", ["S", "K", "numbers to look at"], [row])]
    if step == "lanes":
        factors = [str(facts["factors"].get(key, "?")) for key in ("asks", "context_goes_to", "fed_back")]
        row = [facts["readout"], *factors]
        return [Table("{name}", ["readout", "asks", "context goes to", "fed back"], [row])]
    if not reading.attends:
        said = "{name}: no attention, so nothing to show"
        return [Table(said, [""], [])] if step in _SILENT else []
    if step == "score":
        rows = [["matrices", facts["scorer"]], ["parameters", f"{facts['parameters']:,}"]]
        said = facts["formula"]
        return [Table("{name}", ["score", said if said.startswith("e_j") else Verbatim(said)], rows)]
    if step not in _PER_STEP:
        return []
    head = ["step", *(head for head, _, _ in _PER_STEP[step])]
    tables = [Table("{name}, every step", head, _rows(step, reading))]
    if step == "window" and reading.by_length:
        tables.append(_by_length(reading))
    return tables


def _rows(step: str, reading: Reading) -> list[list[str]]:
    rows = []
    for tree in reading.steps:
        cells = []
        for _, path, digits in _PER_STEP[step]:
            value = filling.lookup(tree, path)
            text = str(value) if digits is None else None if value is None else filling.shown(value, digits)
            cells.append(Verbatim("–" if value is None or text is None else text))
        rows.append([str(tree["t"]), *cells])
    return rows


def _by_length(reading: Reading) -> Table:
    """Of the run's own test set."""
    names = [f"{row['lo']}-{row['hi']}" if row["hi"] else f"from {row['lo']}" for row in reading.by_length]
    values = [filling.shown(row["entropy_normalised"], 3) for row in reading.by_length]
    caption = "{name}: entropy divided by log S, its largest, in the test set, by words of the source"
    return Table(caption, ["words", *names], [["entropy / log S", *values]])


def _corners() -> Table:
    """What the picture says of the corners."""
    rows = [
        ["equal scores", "{corners.uniform_top:3}", "{corners.uniform_sum:3}", "{corners.level}"],
        [
            "score differences × {corners.times}",
            "{corners.peak:3}",
            "{corners.peaked_sum:3}",
            "{corners.peak_word}; {corners.sharp}",
        ],
        ["{heaviest} alone", "{corners.single:3}", "{corners.single:3}", "{corners.alone}"],
    ]
    return Table("{name}, its own window at step {t}", ["", "largest weight", "sum", ""], rows)


def _units(reading: Reading) -> Table:
    """The summands of the heaviest word's score, a row each, and all others in one."""
    heads, found = reading.facts["columns"], reading.steps[0]["units"]
    rows = [
        [
            f"{{units.rows.{k}.name}}",
            *(f"{{units.rows.{k}.cells.{c}:3}}" for c in range(len(heads))),
            f"{{units.rows.{k}.value:3}}",
        ]
        for k in range(len(found["rows"]))
    ]
    empty = [""] * len(heads)
    rows.append(["{units.rest.count} others", *empty, "{units.rest.value:3}"])
    rows.append(["together", *empty, "{whole:3}"])
    caption = "{name}, step {t}, {word}: the score of {heaviest}, its largest parts first"
    return Table(caption, ["", *heads, "gives"], rows)


def full_tables(step: str, reading: Reading) -> list[Table]:
    """Every number of one step of the output, at this step of the walkthrough."""
    if not reading.attends:
        return []
    facts = reading.facts
    if step == "question":
        return [_listed(reading, "the scores", [("score", "e", 3), ("brightness", "bright", 3)])]
    if step == "score" and reading.steps[0]["units"]:
        return [_units(reading)]
    if step == "softmax":
        columns = [("score", "raw", 3)]
        columns += [("in window", "e", 3)] if facts["on_scores"] else []
        columns += [("exp(… − best)", "bright", 3), ("share", "share", 3)]
        columns += [("weight", "a", 3)] if facts["on_weights"] else []
        return [_listed(reading, "from scores to weights", columns), _slopes()]
    if step == "context":
        columns = [("weight", "a", 3), ("cosine", "cosine", 3), ("distance", "distance", 4)]
        return [_listed(reading, "the context and each state", columns)]
    if step == "corners":
        return [_corners()]
    return []


def _listed(reading: Reading, caption: str, columns: list[tuple[str, str, int]]) -> Table:
    """A row a source word."""
    rows = [
        [Verbatim(word), *(f"{{{path}.{k}:{digits}}}" for _, path, digits in columns)]
        for k, word in enumerate(reading.labels)
    ]
    head = ["", *(name for name, _, _ in columns)]
    return Table("{name}, step {t}, {word}: " + caption, head, rows)


def _slopes() -> Table:
    words = [f"{{slopes.words.{k}}}" for k in range(TOP)]
    rows = [[words[i], *(f"{{slopes.rows.{i}.{k}:4}}" for k in range(TOP))] for i in range(TOP)]
    return Table(
        "{name}, step {t}, {word}: slopes of the largest weights (rows) for a score (columns)",
        ["", *words],
        rows,
    )
