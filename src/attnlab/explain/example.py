"""The worked example: three words, a decoder state, and the small matrices of the scorers.

States and matrices are the literature's worked example of additive attention, whose scores, weights and
context the tests of `attention/` hold digit for digit. The words, the decoder states of the first and the
last step and the two parameters of the predicted window are ours: the example has none.
"""

from __future__ import annotations

from typing import NamedTuple

Vector = list[float]
Matrix = list[Vector]

SOURCE = ["der", "Hund", "schlief"]
TARGET = ["the", "dog", "slept"]
H: Matrix = [[0.2, -0.5, 0.8, 0.1], [0.9, 0.3, -0.2, 0.7], [-0.1, 0.6, 0.4, -0.3]]
"""h_1 .. h_3, the source states; K = 4."""
STEPS: Matrix = [[-0.3, -0.8, 0.9, -0.2], [0.5, 0.1, -0.3, 0.8], [-0.7, 0.9, 0.5, -0.8]]
"""The decoder state that asks at each step; H = 4. The second is the example's."""
STEP = 2
"""The step that the walkthrough opens with, counted from 1."""
W: Matrix = [[0.3, -0.2, 0.5, 0.1], [0.4, 0.6, -0.1, 0.2], [-0.2, 0.3, 0.4, -0.5]]
U: Matrix = [[0.2, 0.4, -0.3, 0.1], [-0.1, 0.5, 0.2, 0.3], [0.6, -0.2, 0.1, 0.4]]
V: Vector = [0.5, -0.3, 0.4]
W_P: Matrix = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
V_P: Vector = [1.0, 1.0, 1.0, 1.0]
ELSEWHERE: Vector = [-1.0, 1.0, -1.0, -1.0]
"""A decoder state under which the heaviest state is not the nearest, neither by the mean absolute difference
of the slots nor by the straight line."""
PEAK = 20.0
"""By what the query of the peaked corner is larger."""
LONGEST = 40
"""Places of the window's picture."""
GROWTH = 60
"""Source lengths of the entropy's picture."""


class Point(NamedTuple):
    """Where the sliders stand.

    Attributes:
        state: s, of size 4.
        additive: whether the additive score goes on, else the dot product.
        slots: the two slots of the states that are drawn, from 0.
        places: S of the window's picture.
        half_width: D.
        step: t of the window's picture, from 1.
        output: the step of the translation, from 1.
    """

    state: Vector = STEPS[STEP - 1]
    additive: bool = True
    slots: tuple[int, int] = (0, 1)
    places: int = 24
    half_width: int = 3
    step: int = 10
    output: int = STEP
