"""A step of search in a window makes nothing as long as the source; what is returned in the end does."""

from collections import Counter

import pytest
import torch

from attnlab.search import Search

from ..attention.grid import LOCAL
from ..attention.test_cost import BATCH, LENGTH, LargeTensors
from ..model.models import END, SOURCE, build


def large(window: str, order: str, steps: int) -> Counter[str]:
    """The tensors as long as the source that a search of so many steps makes."""
    torch.manual_seed(0)
    model = build(order=order, window=window, scorer="additive").eval()
    source = torch.randint(4, SOURCE, (BATCH, LENGTH))
    search = Search(3, min_length=steps - 1, max_length=steps, max_length_factor=0, max_length_offset=steps)
    with LargeTensors() as seen:
        search(model, source, torch.tensor([LENGTH, LENGTH - 1]), end=END)
    return Counter(seen.found)


@pytest.mark.parametrize("order", ["input_feeding", "post_combine"])
@pytest.mark.parametrize("window", LOCAL)
def test_a_step_in_a_window_makes_nothing_as_long_as_the_source(window, order):
    more = large(window, order, 9) - large(window, order, 4)
    # The weights of the hypotheses that are returned, which are over the whole source, a row a step.
    returned = ["aten.new_zeros.default torch.float32", "aten.scatter_add.default torch.float32"]
    assert more == Counter(dict.fromkeys(returned, 5))


def test_the_measure_sees_a_global_step():
    more = large("global", "input_feeding", 9) - large("global", "input_feeding", 4)
    assert any("softmax" in name and count == 5 for name, count in more.items())  # of a beam
