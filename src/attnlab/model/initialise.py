"""How parameters get their first values: by name, each from a stream of its own.

A parameter's stream is seeded by the run's `seed_init` and the parameter's name, so that two models that
differ in one axis start from the same values wherever they have the same parameter.
"""

import hashlib

import torch
from torch import Generator, Tensor, nn


class Initialiser:
    """Fills every parameter of a module in place; `value` says how.

    Args:
        seed: `seed_init`.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    @torch.no_grad()
    def __call__(self, module: nn.Module) -> None:
        """Fills all parameters, each from its own stream."""
        for name, parameter in module.named_parameters():
            # Hashed together: torch's CPU generator reads the low 32 bits of a seed and drops the others.
            stream = hashlib.sha256(f"{self.seed} {name}".encode()).digest()[:4]
            generator = Generator().manual_seed(int.from_bytes(stream, "big"))
            # Drawn in float32 on the CPU, whatever torch's defaults are: one seed gives one model.
            empty = torch.empty(parameter.shape, dtype=torch.float32, device="cpu")
            parameter.copy_(self.value(name, empty, generator))

    def value(self, name: str, empty: Tensor, generator: Generator) -> Tensor:
        """The first value of one parameter, written into `empty`."""
        raise NotImplementedError


class Uniform(Initialiser):
    """U(-scale, scale) for everything (Luong et al. 2015, section 4.1: 0.1).

    Args:
        scale: half the width of the interval.
        seed: `seed_init`.
    """

    def __init__(self, scale: float = 0.1, seed: int = 0) -> None:
        super().__init__(seed)
        self.scale = scale

    def value(self, name: str, empty: Tensor, generator: Generator) -> Tensor:
        """U(-scale, scale)."""
        return empty.uniform_(-self.scale, self.scale, generator=generator)


class FanIn(Initialiser):
    """The default: matrices U(+-1 / sqrt(fan in)), embeddings N(0, std^2), biases 0.

    The first is what torch gives its linear layers, but by each matrix' own fan in, so that a weight's
    values do not depend on what stands beside it. At std 0.3 every scorer starts close to uniform, up to 512
    units: the weights' mean entropy is at least 0.99 log S under every encoder and cell, that of each step
    too under two LSTMs (`dot` between two GRUs has steps at 0.93). A smaller std learns to attend later, and
    at 1 (torch's own) `dot` starts peaked.

    Args:
        embedding_std: standard deviation of the embeddings.
        seed: `seed_init`.
    """

    def __init__(self, embedding_std: float = 0.3, seed: int = 0) -> None:
        super().__init__(seed)
        self.embedding_std = embedding_std

    def value(self, name: str, empty: Tensor, generator: Generator) -> Tensor:
        """By the parameter's kind."""
        if "embedding" in name:
            return empty.normal_(0, self.embedding_std, generator=generator)
        if "bias" in name:
            return empty.zero_()
        bound = empty.shape[-1] ** -0.5
        return empty.uniform_(-bound, bound, generator=generator)


class Bahdanau(Initialiser):
    """Recurrent matrices orthogonal; W and U of the scorer N(0, 0.001^2), its v 0; the rest N(0, 0.01^2).

    Bahdanau et al. 2015, appendix B.1. Biases are 0. Each gate's recurrent block is orthogonal by itself.
    """

    def value(self, name: str, empty: Tensor, generator: Generator) -> Tensor:
        """By the parameter's kind."""
        if "weight_hh" in name:
            size = empty.shape[-1]
            for block in empty.split(size):
                nn.init.orthogonal_(block, generator=generator)
            return empty
        if "bias" in name or name.endswith("scorer.v"):
            return empty.zero_()
        return empty.normal_(0, 0.001 if ".scorer." in name else 0.01, generator=generator)
