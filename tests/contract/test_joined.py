"""Each clause of `joined` can fail: a fault that it is there for, planted."""

import pytest
import torch

from attnlab.attention import Attention, General, Global
from attnlab.contract import Broken, joined

from ..attention.grid import WINDOWS, make
from . import faulty


def under(scorer=General, window=Global, size: int = 4) -> Attention:
    return Attention(scorer(size, size), window(size)).double()


@pytest.mark.parametrize("one_step", [True, False])
@pytest.mark.parametrize(
    ("clause", "attention", "name", "words"),
    [
        (joined.masks_hold, under(window=faulty.NoMask), "no mask", "padding has a weight"),
        (joined.masks_hold, under(window=faulty.Doubled), "sum", "off by 1 in float32"),
        (joined.masks_hold, under(window=faulty.DividesByZero), "not finite", "weights"),
        (joined.masks_hold, under(faulty.ZeroDivided), None, None),  # no state of its batch is 0
        (joined.masks_hold, under(window=faulty.BeyondTheEnd), "nothing inside", "a step has no place"),
        (joined.a_sentence_is_as_if_alone, under(faulty.Centred), None, None),  # moves all scores alike
        (joined.a_sentence_is_as_if_alone, under(faulty.Standardised), "no mask", "in a padded batch"),
        (
            joined.an_empty_sentence_leaves_the_gradients_of_the_others,
            *(under(window=faulty.DividesByZero), "empty sentence", "gradient"),
        ),
        (
            joined.an_empty_sentence_leaves_the_gradients_of_the_others,
            *(under(faulty.Standardised), "empty sentence", "changes the gradients of the other"),
        ),
        (joined.half_agrees_with_single, under(faulty.Coarse), "half precision", "weights: .* away from"),
    ],
)
def test_a_planted_fault_breaks_the_clause(clause, attention, name, words, one_step):
    arguments = ("float32", one_step) if clause is joined.masks_hold else (one_step,)
    if name is None:
        clause(attention, *arguments)
        return
    with pytest.raises(Broken, match=words) as broken:
        clause(attention, *arguments)
    assert broken.value.name == name


@pytest.mark.parametrize(
    ("clause", "scorer", "name"),
    [
        (joined.one_step_gives_what_all_steps_give, faulty.QueriesMixed, "wrong axis"),
        (joined.nothing_of_a_batch_is_kept, faulty.Keeps, "state kept"),
        (joined.nothing_of_a_batch_is_kept, faulty.BatchNormed, "state kept"),
        (joined.sentences_can_be_selected, faulty.SoftmaxOverSentences, "wrong axis"),
    ],
)
def test_a_planted_fault_breaks_the_clause_of_all_steps(clause, scorer, name):
    with pytest.raises(Broken) as broken:
        clause(under(scorer))
    assert broken.value.name == name


def test_the_sum_of_an_unnormalised_window_may_be_less_than_one():
    with pytest.raises(Broken, match="do not sum to 1"):
        joined.masks_hold(Attention(General(4, 4), WINDOWS["local_p"][0](4)), "float32", one_step=False)


class Shifted(Attention):
    """A context that is not the sum of its weights' states, in bfloat16 alone."""

    def forward(self, query, memory, steps):
        found = super().forward(query, memory, steps)
        return found._replace(context=found.context + 0.5 * (query.dtype == torch.bfloat16))


@pytest.mark.parametrize("factor", [0.1, 0.3, 0.33, 25])
def test_a_context_that_is_not_the_sum_of_its_weights_is_seen_whatever_the_size_of_the_scores(factor):
    """From 0.33 on rounding moves the shares by more than the least bound, and at 25 almost anywhere."""

    def made(kind: type[Attention]) -> Attention:
        found = make("general", "global")
        with torch.no_grad():
            found.scorer.W.weight.mul_(factor)
        return kind(found.scorer, found.window)

    joined.half_agrees_with_single(made(Attention), False, by_size=True)
    with pytest.raises(Broken, match=r"^half precision: context: .* away from"):
        joined.half_agrees_with_single(made(Shifted), False, by_size=True)
