"""The scorers: e_j = score(s, h_j), one formula a class.

A scorer splits its formula at the point where the decoder state enters. `prepare` does, once a batch, all
that depends on the source states alone; `forward` finishes the score for the queries and the keys it is
handed. The leading axes of `forward` are free, so that one formula serves every case:

    global   query [B, Q, H]     keys [B, S, A]       every query meets all keys of its sentence
    local    query [B, Q, 1, H]  keys [B, Q, W, A]    every query meets the W keys of its own window

To add one: a class here, a YAML file in conf/scorer/, an oracle in tests/attention/oracles.py.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnlab.attention.funnel import funnel


class Scorer(nn.Module):
    """What every scorer offers.

    Args:
        query_dim: H, size of the decoder state that asks.
        key_dim: K, size of a source state.
    """

    #: The largest number of source positions that can be scored; those beyond it get weight 0.
    max_length: int | None = None

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()
        self.query_dim = query_dim
        self.key_dim = key_dim

    def prepare(self, states: Float[Tensor, "B S K"]) -> Float[Tensor, "B S A"]:
        """What the source contributes to the score, computed once a batch."""
        return states

    def forward(
        self, query: Float[Tensor, "*G Q H"], keys: Float[Tensor, "*G N A"]
    ) -> Float[Tensor, "*G Q N"]:
        """The scores e of each query with each key."""
        raise NotImplementedError


class Dot(Scorer):
    """e_j = s . h_j (Luong et al. 2015, section 3.1, dot). No parameters; needs H = K.

    Raises:
        ValueError: the two sizes differ.
    """

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__(query_dim, key_dim)
        if query_dim != key_dim:
            raise ValueError(
                f"a dot product needs equal sizes: decoder.hidden_size={query_dim}, "
                f"encoder.hidden_size={key_dim}; set them equal, or use scorer=general or scorer=additive"
            )

    def forward(
        self, query: Float[Tensor, "*G Q H"], keys: Float[Tensor, "*G N A"]
    ) -> Float[Tensor, "*G Q N"]:
        """s . h_j."""
        return query @ keys.mT


class ScaledDot(Dot):
    """e_j = s . h_j / sqrt(K) (Vaswani et al. 2017, eq. 1). No parameters; needs H = K."""

    def forward(
        self, query: Float[Tensor, "*G Q H"], keys: Float[Tensor, "*G N A"]
    ) -> Float[Tensor, "*G Q N"]:
        """s . h_j / sqrt(K)."""
        return query @ keys.mT / math.sqrt(self.key_dim)


class General(Scorer):
    """e_j = s' W h_j, W of H x K (Luong et al. 2015, section 3.1, general)."""

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__(query_dim, key_dim)
        self.W = nn.Linear(key_dim, query_dim, bias=False)

    def prepare(self, states: Float[Tensor, "B S K"]) -> Float[Tensor, "B S A"]:
        """W h_j, of size H."""
        return self.W(states)

    def forward(
        self, query: Float[Tensor, "*G Q H"], keys: Float[Tensor, "*G N A"]
    ) -> Float[Tensor, "*G Q N"]:
        """s . (W h_j)."""
        return query @ keys.mT


class Additive(Scorer):
    """e_j = v' tanh(W s + U h_j [+ b]) (Bahdanau et al. 2015, section 3.1 and appendix A.1.2).

    The form printed as `concat` by Luong et al. 2015 (section 3.1), v' tanh(W [s; h_j]), is this one by
    another name: the columns of its W that meet s are W here, those that meet h_j are U.

    Args:
        query_dim: H.
        key_dim: K.
        units: U, size of the hidden layer.
        bias: add b inside the tanh. The papers have none.
    """

    def __init__(self, query_dim: int, key_dim: int, units: int, bias: bool = False) -> None:
        super().__init__(query_dim, key_dim)
        self.W = nn.Linear(query_dim, units, bias=False)
        self.U = nn.Linear(key_dim, units, bias=bias)  # b rides with U, so that it is added once a batch
        self.v = nn.Parameter(torch.empty(units).uniform_(-(units**-0.5), units**-0.5))

    def prepare(self, states: Float[Tensor, "B S K"]) -> Float[Tensor, "B S A"]:
        """U h_j [+ b], of size U, once a batch in the float32 that `funnel` works in."""
        keys = self.U(states)
        return keys.to(torch.promote_types(keys.dtype, torch.float32))

    def forward(
        self, query: Float[Tensor, "*G Q H"], keys: Float[Tensor, "*G N A"]
    ) -> Float[Tensor, "*G Q N"]:
        """v' tanh(W s + U h_j)."""
        return funnel(self.W(query), keys, self.v)


class Concat(Scorer):
    """e_j = v' tanh(W s + h_j), W of K x H: the form in the code published with Luong et al. 2015.

    Its weights for the source block are the identity (the paper's footnote 15). For the form printed in the
    paper see `Additive`.
    """

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__(query_dim, key_dim)
        self.W = nn.Linear(query_dim, key_dim, bias=False)
        self.v = nn.Parameter(torch.empty(key_dim).uniform_(-(key_dim**-0.5), key_dim**-0.5))

    def forward(
        self, query: Float[Tensor, "*G Q H"], keys: Float[Tensor, "*G N A"]
    ) -> Float[Tensor, "*G Q N"]:
        """v' tanh(W s + h_j)."""
        return funnel(self.W(query), keys, self.v)


class Location(Scorer):
    """e_j = (W s)_j: row j of W, whatever stands at position j (Luong et al. 2015, section 3.1, location).

    Args:
        query_dim: H.
        key_dim: K; not used, a location score looks at no state.
        max_length: rows of W. Positions beyond it have no score and get weight 0.
    """

    def __init__(self, query_dim: int, key_dim: int, max_length: int) -> None:
        super().__init__(query_dim, key_dim)
        self.max_length = max_length
        self.W = nn.Parameter(
            torch.empty(max_length, query_dim).uniform_(-(query_dim**-0.5), query_dim**-0.5)
        )

    def prepare(self, states: Float[Tensor, "B S K"]) -> Float[Tensor, "B S A"]:
        """Row j of W as the key of position j, so that a window can pick rows like any other key."""
        batch, length, _ = states.shape
        rows = self.W[:length]
        rows = nn.functional.pad(rows, (0, 0, 0, length - len(rows)))
        return rows.expand(batch, length, self.query_dim)

    def forward(
        self, query: Float[Tensor, "*G Q H"], keys: Float[Tensor, "*G N A"]
    ) -> Float[Tensor, "*G Q N"]:
        """W_j . s."""
        return query @ keys.mT
