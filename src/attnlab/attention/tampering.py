"""What becomes of a model whose weights are tampered with when it is tested: is it attention that it needs?

An override acts on the weights a_1 .. a_S after the softmax and the window, over the places that were scored
(`inside`); the decoder gets the context of the new weights, in search and in forced decoding alike. With n
such places and the row's sum A = sum_j a_j (1, or less in a window that takes weight away):

    uniform     a_j = A / n                                      Moradi et al. 2019
    permute     the weights among the n places, drawn at random  Jain and Wallace 2019; Moradi et al. 2019
    only_max    A on the largest, 0 elsewhere                    Moradi et al. 2019
    zero_max    0 on the largest, the rest grown to the sum A    Serrano and Smith 2019; Moradi et al. 2019
    none        as they are                                      to show that nothing else has changed

(Jain and Wallace, Attention is not Explanation; Serrano and Smith, Is Attention Interpretable?; Moradi,
Kambhatla and Sarkar, Interrogating the Explanatory Power of Attention in Neural Machine Translation.) Nothing
is trained again, and every step of a sentence is tampered with. Places outside keep a weight of exactly 0
and every row its sum, except that `zero_max` leaves a row of zeros where the largest weight was the only one.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Override = Callable[
    [Float[Tensor, "B Q N"], Bool[Tensor, "B #Q N"], Int[Tensor, " Q"]], Float[Tensor, "B Q N"]
]
"""New weights from the weights, the places that were scored, and the step t of each query, from 1."""

SEED = 12345
"""Of the permutations."""


def none(
    weights: Float[Tensor, "B Q N"], inside: Bool[Tensor, "B #Q N"], steps: Int[Tensor, " Q"]
) -> Float[Tensor, "B Q N"]:
    """The weights as they are."""
    return weights


def uniform(
    weights: Float[Tensor, "B Q N"], inside: Bool[Tensor, "B #Q N"], steps: Int[Tensor, " Q"]
) -> Float[Tensor, "B Q N"]:
    """A / n on each of the n places inside."""
    share = weights.sum(-1, keepdim=True) / inside.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(inside, share, 0).to(weights.dtype)


def permute(
    weights: Float[Tensor, "B Q N"], inside: Bool[Tensor, "B #Q N"], steps: Int[Tensor, " Q"]
) -> Float[Tensor, "B Q N"]:
    """The same weights on other places inside.

    The permutation is drawn from n, the step t and `SEED` alone, by a hash: one for each pair (n, t). So it
    does not depend on the neighbours in the batch, the padding, the hypotheses of the beam or the device, and
    search and forced decoding meet the same one. Two sentences of one length share theirs.
    """
    count = inside.sum(-1, keepdim=True)
    rank = inside.cumsum(-1) - 1  # 0 .. n - 1 over the places inside
    keys = _hash(_hash(_hash(steps[:, None] + SEED) + count) + rank)
    last = torch.iinfo(keys.dtype).max
    drawn = keys.masked_fill(~inside, last).argsort(stable=True, dim=-1)  # places inside come first, shuffled
    given = (~inside).to(torch.uint8).argsort(stable=True, dim=-1)  # and here in their order
    shape = weights.shape
    return torch.zeros_like(weights).scatter(-1, given.expand(shape), weights.gather(-1, drawn.expand(shape)))


def only_max(
    weights: Float[Tensor, "B Q N"], inside: Bool[Tensor, "B #Q N"], steps: Int[Tensor, " Q"]
) -> Float[Tensor, "B Q N"]:
    """All of A on the largest weight, the first one on a tie."""
    return torch.where(_largest(weights, inside), weights.sum(-1, keepdim=True), 0)


def zero_max(
    weights: Float[Tensor, "B Q N"], inside: Bool[Tensor, "B #Q N"], steps: Int[Tensor, " Q"]
) -> Float[Tensor, "B Q N"]:
    """The largest weight, the first one on a tie, to 0; the rest divided by their sum, times A."""
    total = weights.sum(-1, keepdim=True)
    rest = weights.masked_fill(_largest(weights, inside), 0)
    left = rest.sum(-1, keepdim=True)
    # First the division: A over a tiny sum would overflow.
    return rest / left.masked_fill(left == 0, 1) * total


OVERRIDES: dict[str, Override] = {
    "uniform": uniform,
    "permute": permute,
    "only_max": only_max,
    "zero_max": zero_max,
    "none": none,
}
"""What `attention.override` can be."""


def _largest(weights: Float[Tensor, "B Q N"], inside: Bool[Tensor, "B #Q N"]) -> Bool[Tensor, "B Q N"]:
    """Where the first largest weight of each row is; nowhere in a row without a place inside."""
    among = weights.masked_fill(~inside, -1)
    peak = (among == among.amax(-1, keepdim=True)) & inside if among.shape[-1] else among.bool()
    return peak & (peak.cumsum(-1) == 1)


def _hash(numbers: Int[Tensor, "*G"]) -> Int[Tensor, "*G"]:
    """Whole numbers of 31 bits that look drawn at random, the same on every device."""
    for _ in range(2):
        numbers = ((numbers ^ (numbers >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
    return numbers ^ (numbers >> 12)
