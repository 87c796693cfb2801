"""The recurrent models, slowly: one sentence, one step and one gate at a time, from the equations.

Only parameters are read from the modules under test; float64 throughout.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..attention import oracles as attention_oracles
from ..attention.grid import SCORERS, WINDOWS, D

State = tuple[Tensor, ...]  # (h, c) of LSTM, (h,) of GRU


def lstm(W: Tensor, R: Tensor, b: Tensor, d: Tensor, x: Tensor, state: State) -> State:
    """i, f, g, o = W x + b + R h + d; c = sig(f) c + sig(i) tanh(g); h = sig(o) tanh(c)."""
    h, c = state
    M = len(h)
    a = W @ x + b + R @ h + d
    i, f, g, o = a[:M], a[M : 2 * M], a[2 * M : 3 * M], a[3 * M :]
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def gru(W: Tensor, R: Tensor, b: Tensor, d: Tensor, x: Tensor, state: State) -> State:
    """n = tanh(W_n x + b_n + r (R_n h + d_n)); h = (1 - z) n + z h."""
    (h,) = state
    M = len(h)
    x_part, h_part = W @ x + b, R @ h + d
    r = torch.sigmoid(x_part[:M] + h_part[:M])
    z = torch.sigmoid(x_part[M : 2 * M] + h_part[M : 2 * M])
    n = torch.tanh(x_part[2 * M :] + r * h_part[2 * M :])
    return ((1 - z) * n + z * h,)


CELLS: dict[str, tuple[Callable[..., State], int]] = {"lstm": (lstm, 2), "gru": (gru, 1)}


def encode(encoder: Any, cell: str, embedded: Tensor) -> tuple[Tensor, list[State]]:
    """States [S, K] in source order and the final state of each layer, for one sentence without padding.

    The final state joins the forward direction's at the last token with the backward one's at the first.
    """
    p = dict(encoder.rnn.named_parameters())
    step, parts = CELLS[cell]
    below = list(embedded)
    if encoder.reverse:
        below = below[::-1]
    finals = []
    layer = 0
    while f"weight_ih_l{layer}" in p:
        outputs, ends = [], []
        for suffix in ("", "_reverse"):
            if f"weight_ih_l{layer}{suffix}" not in p:
                continue
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weights = [p[f"{name}_l{layer}{suffix}"] for name in names]
            M = weights[1].shape[1]
            state: State = (embedded.new_zeros(M),) * parts
            path = []
            for x in below if suffix == "" else below[::-1]:
                state = step(*weights, x, state)
                path.append(state[0])
            outputs.append(path if suffix == "" else path[::-1])
            ends.append(state)
        below = [torch.cat(at) for at in zip(*outputs, strict=True)]
        finals.append(tuple(torch.cat(part) for part in zip(*ends, strict=True)))
        layer += 1
    if encoder.reverse:
        below = below[::-1]
    return torch.stack(below), finals


def bridge(decoder: Any, finals: list[State]) -> list[State]:
    """s_0 = tanh(W final), for each layer and for h and c apart; without a c both come from h."""
    states = []
    for layer, final in enumerate(finals):
        parts = []
        for part, matrices in enumerate(decoder.bridge):
            source = final[part] if part < len(final) else final[0]
            parts.append(torch.tanh(matrices[layer].weight @ source))
        states.append(tuple(parts))
    return states


class Steps:
    """The decoder of one sentence: what the orders below are written in."""

    def __init__(self, model: Any, cell: str, scorer: str | None, window: str | None) -> None:
        self.decoder, self.step = model.decoder, CELLS[cell][0]
        self.scorer, self.window = scorer, window

    def rnn(self, x: Tensor, fed: Tensor | None, state: list[State]) -> list[State]:
        """RNN([x; fed], state): the matrix of the bottom layer is [W_ih, feed]."""
        rnn = self.decoder.recurrence.rnn
        new: list[State] = []
        for layer in range(rnn.num_layers):
            W, R, b, d = (
                getattr(rnn, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            if layer == 0 and fed is not None:
                W, x = torch.cat((W, self.decoder.recurrence.feed.weight), dim=1), torch.cat((x, fed))
            new.append(self.step(W, R, b, d, x, state[layer]))
            x = new[-1][0]
        return new

    def attend(self, s: Tensor, h: Tensor, t: int) -> tuple[Tensor, Tensor]:
        """Weights and context when s asks at step t."""
        attention = self.decoder.attention
        return attention_oracles.attend(
            SCORERS[self.scorer][1],
            WINDOWS[self.window][1],
            dict(attention.scorer.named_parameters()),
            dict(attention.window.named_parameters()),
            s,
            h,
            t,
            D,
        )


def combine(decoder: Any, s: Tensor, c: Tensor, y: Tensor, previous: Tensor) -> Tensor:
    """Luong et al. 2015, eq. 5: tanh(W_c [s_t; c_t])."""
    return torch.tanh(decoder.readout.W_c.weight @ torch.cat((s, c)))


def maxout(decoder: Any, s: Tensor, c: Tensor, y: Tensor, previous: Tensor) -> Tensor:
    """Bahdanau et al. 2015, A.2.2: t = U_o s_{t-1} + V_o y_{t-1} + C_o c_t; max(t_{2j-1}, t_{2j})."""
    readout = decoder.readout
    t = readout.U_o.weight @ previous + readout.V_o.weight @ y + readout.C_o.weight @ c
    return torch.stack([torch.maximum(t[j], t[j + 1]) for j in range(0, len(t), 2)])


def plain(decoder: Any, s: Tensor, c: Tensor, y: Tensor, previous: Tensor) -> Tensor:
    """s_t alone."""
    return s


def input_feeding(do: Steps, readout: Any, y: Tensor, h: Tensor, finals: list[State]) -> Any:
    """c_t from s_{t-1}; s_t = RNN([y_{t-1}; c_t], s_{t-1}); r_t = readout(s_t, c_t)."""
    state, r, a = bridge(do.decoder, finals), [], []
    for t, y_t in enumerate(y, start=1):
        previous = state[-1][0]
        weights, c = do.attend(previous, h, t)
        state = do.rnn(y_t, c, state)
        r.append(readout(do.decoder, state[-1][0], c, y_t, previous))
        a.append(weights)
    return torch.stack(r), torch.stack(a)


def post_combine(do: Steps, readout: Any, y: Tensor, h: Tensor, finals: list[State]) -> Any:
    """s_t = RNN(y_{t-1}, s_{t-1}); c_t from s_t; r_t = readout(s_t, c_t)."""
    state, r, a = bridge(do.decoder, finals), [], []
    for t, y_t in enumerate(y, start=1):
        previous = state[-1][0]
        state = do.rnn(y_t, None, state)
        weights, c = do.attend(state[-1][0], h, t)
        r.append(readout(do.decoder, state[-1][0], c, y_t, previous))
        a.append(weights)
    return torch.stack(r), torch.stack(a)


def post_combine_previous(do: Steps, readout: Any, y: Tensor, h: Tensor, finals: list[State]) -> Any:
    """s_t = RNN(y_{t-1}, s_{t-1}); c_t from s_{t-1}; r_t = readout(s_t, c_t)."""
    state, r, a = bridge(do.decoder, finals), [], []
    for t, y_t in enumerate(y, start=1):
        previous = state[-1][0]
        weights, c = do.attend(previous, h, t)
        state = do.rnn(y_t, None, state)
        r.append(readout(do.decoder, state[-1][0], c, y_t, previous))
        a.append(weights)
    return torch.stack(r), torch.stack(a)


def post_combine_feeding(do: Steps, readout: Any, y: Tensor, h: Tensor, finals: list[State]) -> Any:
    """s_t = RNN([y_{t-1}; r_{t-1}], s_{t-1}), r_0 = 0; c_t from s_t; r_t = readout(s_t, c_t)."""
    state, r, a = bridge(do.decoder, finals), [], []
    fed = y.new_zeros(do.decoder.readout.size)
    for t, y_t in enumerate(y, start=1):
        previous = state[-1][0]
        state = do.rnn(y_t, fed, state)
        weights, c = do.attend(state[-1][0], h, t)
        fed = readout(do.decoder, state[-1][0], c, y_t, previous)
        r.append(fed)
        a.append(weights)
    return torch.stack(r), torch.stack(a)


def fixed_vector(do: Steps, readout: Any, y: Tensor, h: Tensor, finals: list[State]) -> Any:
    """s_t = RNN(y_{t-1}, s_{t-1}); c_t = the encoder's final state; r_t = readout(s_t, c_t)."""
    state, r = bridge(do.decoder, finals), []
    for y_t in y:
        previous = state[-1][0]
        state = do.rnn(y_t, None, state)
        r.append(readout(do.decoder, state[-1][0], finals[-1][0], y_t, previous))
    return torch.stack(r), y.new_zeros(len(y), len(h))


ORDERS = {
    "input_feeding": input_feeding,
    "post_combine": post_combine,
    "post_combine_feeding": post_combine_feeding,
    "post_combine_previous": post_combine_previous,
    "fixed_vector": fixed_vector,
}
READOUTS = {"combine": combine, "maxout": maxout, "plain": plain}
