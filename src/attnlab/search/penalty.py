"""Length penalties: score = log_prob / penalty(n), n the emitted tokens with the end mark."""

from collections.abc import Callable

from attnlab.errors import UserError

Penalty = Callable[[int], float]
"""n >= 1 -> a positive factor that does not fall with n: search's exact stop depends on it."""


class Gnmt:
    """((5 + n) / 6)^alpha (Wu et al. 2016, section 7, equation 14, without the coverage term).

    Args:
        alpha: 0 gives plain sums; 0.6 and n = 5 give 1.3587.
    """

    def __init__(self, alpha: float | int) -> None:
        if alpha < 0:
            raise UserError(f"search.length_penalty is {alpha}: give 0 (plain sums) or a positive alpha")
        self.alpha = alpha

    def __call__(self, n: int) -> float:
        """The factor for n tokens."""
        return float(((5 + n) / 6) ** self.alpha)


class Average:
    """n: the mean log-probability of a token (Cho et al. 2014, "On the properties", section 4.3)."""

    def __call__(self, n: int) -> float:
        """The factor for n tokens."""
        return float(n)


def as_penalty(given: float | int | Penalty) -> Penalty:
    """A number is GNMT's alpha, anything else is taken as it is."""
    return given if callable(given) else Gnmt(given)
