"""In which type a product is computed here and now."""

import torch
from torch import Tensor


def product_kind(x: Tensor) -> torch.dtype:
    """The type of a matrix product with `x`, as autocast has it; of what is no real number its own."""
    if x.is_floating_point() and x.dtype != torch.float64 and torch.is_autocast_enabled(x.device.type):
        return torch.get_autocast_dtype(x.device.type)
    return x.dtype
