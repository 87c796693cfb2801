"""The clauses of the contract, in stages, and how a subject is put through them.

`attnlab check mymodule:MyScorer` puts a class of one's own through it; the tests of the framework's own run
the same functions. Where a clause of one stage fails, the stages after it are left out: they would fail of
the same cause.
"""

from collections.abc import Callable
from typing import NamedTuple

from attnlab.contract import learning, practice, scorer, seeing, together, window
from attnlab.contract.broken import NAMES, Broken, Subject, failing, told

Clause = Callable[[Subject], None]


class Outcome(NamedTuple):
    """What the checks of one subject found.

    Attributes:
        broken: the clauses that do not hold.
        held: what was checked and holds, in words.
        left: what was not checked, since an earlier stage failed.
    """

    broken: list[Broken]
    held: list[str]
    left: list[str]


#: stages of clauses, each with its words; within a stage all are checked
SCORER: list[list[tuple[Clause, str]]] = [
    [(scorer.interface, "prepare, forward, max_length; parts that torch knows")],
    [(scorer.shapes, "shapes, for all keys and for those of a window")],
    [(scorer.numbers, "finite scores in the precision that is asked for")],
    [(scorer.lasting, "nothing changed in place, nothing kept of a batch")],
    [(seeing.reading, "each score moves with its own state, and with the query")],
    [
        (seeing.independence, "no softmax or sum over positions, queries or sentences"),
        (learning.gradients, "gradients of every parameter, the states and the query"),
        (learning.zeros, "padding and empty sentences give numbers"),
        (learning.lengths, "sources of one token and of many"),
        (practice.precision, "float16, bfloat16 and autocast"),
        (practice.devices, "no tensor made on the CPU by name"),
        (practice.cost, "no work on the source alone at every step"),
    ],
    [(together.under_every_window, "joined with the windows global, local_m and local_p in all its forms")],
]
WINDOW: list[list[tuple[Clause, str]]] = [
    [(window.interface, "local, positions, on_scores, on_weights; parts that torch knows")],
    [(window.places, "places: neighbours, as many for every source, none outside the sentence")],
    [(window.hooks, "shapes, mask and shares survive the two hooks, in every precision")],
    [(window.independence, "steps and sentences by themselves, nothing kept or changed of a batch")],
    [
        (window.gradients, "gradients of every parameter, the scores and the query"),
        (window.devices, "no tensor made on the CPU by name"),
    ],
    [(together.under_every_scorer, "joined with the scorers general, additive and location")],
]


def check(subject: Subject, stages: list[list[tuple[Clause, str]]]) -> Outcome:
    """Put a subject through the stages."""
    found = Outcome([], [], [])
    for stage in stages:
        if found.broken:
            found.left.extend(words for _, words in stage)
            continue
        for clause, words in stage:
            try:
                with failing("error", subject.title, f"the check of {words}", "see what raised it"):
                    clause(subject)
                found.held.append(words)
            except Broken as broken:
                found.broken.append(broken)
    return found


__all__ = ["NAMES", "SCORER", "WINDOW", "Broken", "Outcome", "Subject", "check", "told"]
