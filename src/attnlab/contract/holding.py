"""What a module holds: parts that torch does not know of, and what a batch leaves behind."""

import gc
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from attnlab.contract.broken import Subject, need

OF_TORCH = ("_parameters", "_buffers", "_modules")
BATCH = "what belongs to a batch goes into what prepare returns"


def _inside(value: Any, depth: int = 3) -> Iterator[Any]:
    """A value, and what lists, tuples, sets and dicts in it hold."""
    yield value
    if depth and isinstance(value, dict | list | tuple | set):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _inside(part, depth - 1)


def _recomputed(module: nn.Module) -> set[str]:
    """Attributes that a hook computes anew before each forward, as `torch.nn.utils.weight_norm` does."""
    return {str(hook.name) for hook in module._forward_pre_hooks.values() if hasattr(hook, "name")}


def registered(subject: Subject) -> None:
    """No tensor and no module with tensors hides from torch in a plain attribute, a list or a dict.

    A second name for what is registered, as `layers = [self.W]` or the list of weights in `nn.GRU`, hides
    nothing: to, state_dict and the optimiser reach it by the first.
    """
    root = subject.module
    known = {id(part) for part in (*root.parameters(), *root.buffers(), *root.modules())}
    for module in root.modules():
        for name, value in vars(module).items():
            if name in OF_TORCH or name in _recomputed(module):
                continue
            for part in _inside(value):
                lost = isinstance(part, Tensor) or (
                    isinstance(part, nn.Module) and len([*part.parameters(), *part.buffers()]) > 0
                )
                what = "is no parameter, no buffer and no part: not trained, not saved, not moved to a GPU"
                fix = "use nn.Parameter, register_buffer or nn.ModuleList"
                need(not lost or id(part) in known, "gradients", f"{subject.title}.{name}", what, fix)


def attributes(module: nn.Module) -> dict[str, dict[str, Any]]:
    """The attributes of each part, to be compared by `unchanged`."""
    return {
        name: {key: value for key, value in vars(part).items() if key not in _recomputed(part)}
        for name, part in module.named_modules()
    }


def unchanged(
    title: str, module: nn.Module, before: dict[str, dict[str, Any]], sentences: int, training: bool = False
) -> None:
    """No attribute of a part is another one, and nothing in them is a tensor of the batch.

    Args:
        title: what the module is called.
        module: after a batch.
        before: its `attributes` before it.
        sentences: B of the batch.
        training: only tensors count; a number may say how far a training is.
    """
    known = {id(tensor) for tensor in (*module.parameters(), *module.buffers())}
    for name, now in attributes(module).items():
        where = f"{title}.{name}".strip(".")
        need(name in before, "state kept", where, "is a part that a batch leaves behind", BATCH)
        new = {key for key in now.keys() ^ before[name].keys() if not training or _tensors(now.get(key))}
        listed = ", ".join(f"{where}.{key}".strip(".") for key in sorted(new))
        need(not new, "state kept", listed, "is there after a batch and not before", BATCH)
        for key, value in now.items():
            same = value is before[name].get(key) or (training and not _tensors(value))
            need(same, "state kept", f"{where}.{key}", "is another one after a batch", BATCH)
            held = any(x.shape[:1] == (sentences,) and id(x) not in known for x in _tensors(value))
            need(not held, "state kept", f"{where}.{key}", "holds a tensor of the batch", BATCH)


def _tensors(value: Any) -> list[Tensor]:
    return [part for part in _inside(value) if isinstance(part, Tensor)]


def left_behind(sentences: int) -> int:
    """How many tensors of so many sentences anything at all still holds: a global list, a closure."""
    gc.collect()
    there = (thing for thing in gc.get_objects() if type(thing) is Tensor)
    return sum(tensor.shape[:1] == (sentences,) for tensor in there)
