"""Greedy, beam and forced decoding over a `Seq2Seq`, each with the attention of the tokens in fact emitted.

What counts as a token, everywhere here: what a hypothesis emitted, its end mark included, the start mark not.
That number n is what a length penalty sees, what `max_length` limits, and how many rows of weights there are.
Only `min_length` counts without the end mark: it says how much must come before one.
"""

from attnlab.search.beam import Search
from attnlab.search.forced import Forced, forced
from attnlab.search.hypothesis import Hypothesis
from attnlab.search.penalty import Average, Gnmt
from attnlab.search.ready import ready
from attnlab.search.unknown import replace_unknown

__all__ = ["Average", "Forced", "Gnmt", "Hypothesis", "Search", "forced", "ready", "replace_unknown"]
