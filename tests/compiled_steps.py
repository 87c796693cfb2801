"""Compiled steps beside those that stand as they are, as a line of JSON: `python -m tests.compiled_steps`."""

import json
from typing import Any

import torch
import torch._dynamo
from torch._dynamo.utils import counters

from attnlab import compiling
from attnlab.errors import UserError

from .looped import Again, batch, outcome
from .model.models import build, spread

# lengths that are no size of the model: the compiler takes two equal sizes for one
SIZES = [batch([9, 2, 4], [3, 5, 2]), batch([7, 6], [2, 4])]


def apart(one: list[Any], other: list[Any]) -> float:
    """The largest difference; infinite where one has a tensor that the other has not."""
    pairs = list(zip(one, other, strict=True))
    if any((x is None) != (y is None) or (x is not None and x.shape != y.shape) for x, y in pairs):
        return float("inf")
    return max(float((x - y).detach().abs().max()) for x, y in pairs if x is not None and x.numel())


def compared(form: str, backend: str, rounds: int = 1, **cell: Any) -> dict[str, Any]:
    """How far outputs and gradients of a form are from those of the loop as it stands, and graphs compiled."""
    torch._dynamo.reset()
    counters.clear()
    model = spread(build(**cell))
    expected = [outcome(model, *size) for size in SIZES]
    compiling.apply(model.decoder, form, backend=backend, recorder=Again())
    outputs, gradients = [], []
    for _ in range(rounds):
        for size, (readouts, slopes) in zip(SIZES, expected, strict=True):
            found = outcome(model, *size)
            outputs.append(apart(found[0], readouts))
            gradients.append(apart(found[1], slopes))
    return {"outputs": max(outputs), "gradients": max(gradients), "graphs": graphs()}


def graphs() -> int:
    """Compiled since `counters` was cleared."""
    return int(counters["stats"]["unique_graphs"])


def without_gradients() -> dict[str, Any]:
    """A whole target and one step of search, compiled."""
    counters.clear()
    model = spread(build(order="input_feeding"))
    compiling.apply(model.decoder, "compile", backend="eager")
    source, lengths, target = SIZES[0]
    with torch.no_grad():
        model(source, lengths, target)
        memory, state = model.encode(source, lengths)
        model.step(target[:, :1], state, memory)
    return {"graphs": graphs()}


def main() -> None:
    """Prints what was found, by case."""
    found = {
        "without gradients": without_gradients(),
        "readout fed, additive": compared(
            "compile", "aot_eager", order="post_combine_feeding", scorer="additive"
        ),
        "context fed, GRU": compared("compile", "eager", order="input_feeding", scorer="general", cell="gru"),
        "local window": compared("compile", "eager", order="input_feeding", window="local_p"),
    }
    try:
        compiling.check("compile", torch.device("cpu"))
        found["inductor, captured"] = compared(
            "compile_cuda_graph", "inductor", 2, order="post_combine_feeding", scorer="additive"
        )
    except UserError as error:
        found["inductor, captured"] = {"skipped": str(error)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
