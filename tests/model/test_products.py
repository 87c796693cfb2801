"""How many matrix products a step of training makes: counted, since no test can time it."""

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from .models import build, pairs

PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "_mkl_linear", "linear"}
# Forward: state and what is fed, the scorer's query or its scores, the context, the readout where it is fed.
# Backward: one for the input of each, and for `additive` the gradients of the query and of v in `funnel`. The
# other weights' gradients are one product each after the last step.
STEPS = {
    ("post_combine_feeding", "additive"): (4, 6),
    ("post_combine_feeding", "general"): (4, 4),
    ("input_feeding", "additive"): (3, 5),
    ("input_feeding", "general"): (3, 3),
}


class Products(TorchDispatchMode):
    """Counts matrix by matrix products."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func.overloadpacket.__name__ in PRODUCTS
        return func(*args, **(kwargs or {}))


def counted(model, steps):
    source, lengths, target, _ = pairs([5, 3], [steps, steps])
    memory, state = model.encode(source, lengths)
    embedded = model.target_embedding(target)
    with Products() as forward:
        readouts, _ = model.decoder(embedded, memory, state)
    with Products() as backward:
        readouts.sum().backward()
    return forward.count, backward.count


@pytest.mark.parametrize(("order", "scorer"), STEPS)
def test_a_step_makes_as_many_products_as_its_equations_have(order, scorer):
    model = build(order=order, scorer=scorer)
    few, many = counted(model, 3), counted(model, 8)
    assert tuple((b - a) / 5 for a, b in zip(few, many, strict=True)) == STEPS[order, scorer]
