"""The readouts: r_t, from which the next word is predicted by W_o r_t."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Readout(nn.Module):
    """What every readout offers; `size` is the size of r_t.

    Args:
        hidden_size: H, of the decoder state.
        context_size: K, of the context.
        embedding_size: E, of the target embedding.
    """

    size: int

    def __init__(self, hidden_size: int, context_size: int, embedding_size: int) -> None:
        super().__init__()
        self.size = hidden_size

    def forward(
        self,
        state: Float[Tensor, "B Q H"],
        context: Float[Tensor, "B Q K"],
        embedded: Float[Tensor, "B Q E"],
        previous: Float[Tensor, "B Q H"],
    ) -> Float[Tensor, "B Q R"]:
        """r_t from s_t, c_t, the embedding of y_{t-1} and s_{t-1}."""
        raise NotImplementedError


class Combine(Readout):
    """r_t = tanh(W_c [s_t; c_t]), of size H (Luong et al. 2015, section 3.1)."""

    def __init__(self, hidden_size: int, context_size: int, embedding_size: int) -> None:
        super().__init__(hidden_size, context_size, embedding_size)
        self.W_c = nn.Linear(hidden_size + context_size, hidden_size, bias=False)

    def forward(
        self,
        state: Float[Tensor, "B Q H"],
        context: Float[Tensor, "B Q K"],
        embedded: Float[Tensor, "B Q E"],
        previous: Float[Tensor, "B Q H"],
    ) -> Float[Tensor, "B Q R"]:
        """tanh(W_c [s_t; c_t])."""
        return torch.tanh(self.W_c(torch.cat((state, context), dim=-1)))


class Maxout(Readout):
    """r_t = max over pairs of U_o s_{t-1} + V_o y_{t-1} + C_o c_t (Bahdanau et al. 2015, appendix A.2.2).

    The deep output as printed, with the previous state.

    Args:
        hidden_size: H.
        context_size: K.
        embedding_size: E.
        maxout_size: l, the number of pairs and the size of r_t.
    """

    def __init__(self, hidden_size: int, context_size: int, embedding_size: int, maxout_size: int) -> None:
        super().__init__(hidden_size, context_size, embedding_size)
        self.size = maxout_size
        self.U_o = nn.Linear(hidden_size, 2 * maxout_size, bias=False)
        self.V_o = nn.Linear(embedding_size, 2 * maxout_size, bias=False)
        self.C_o = nn.Linear(context_size, 2 * maxout_size, bias=False)

    def forward(
        self,
        state: Float[Tensor, "B Q H"],
        context: Float[Tensor, "B Q K"],
        embedded: Float[Tensor, "B Q E"],
        previous: Float[Tensor, "B Q H"],
    ) -> Float[Tensor, "B Q R"]:
        """max(t_{2j-1}, t_{2j}) for j in 1..l."""
        t = self.U_o(previous) + self.V_o(embedded) + self.C_o(context)
        return t.unflatten(-1, (self.size, 2)).amax(-1)


class Plain(Readout):
    """r_t = s_t, the state alone.

    Only where the context enters the state: elsewhere the attention would be ignored.
    """

    def forward(
        self,
        state: Float[Tensor, "B Q H"],
        context: Float[Tensor, "B Q K"],
        embedded: Float[Tensor, "B Q E"],
        previous: Float[Tensor, "B Q H"],
    ) -> Float[Tensor, "B Q R"]:
        """s_t."""
        return state
