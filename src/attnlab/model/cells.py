"""One step of an LSTM or a GRU from its gates: what is left of a recurrence once its products are made.

LSTM   i, f, g, o = W_ih x + W_hh h + b     c' = sig(f) c + sig(i) tanh(g)     h' = sig(o) tanh(c')
GRU    n = tanh(W_in x + b_in + sig(r) (W_hn h + b_hn))                     h' = (1 - sig(z)) n + sig(z) h
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable


def lstm(
    c: Float[Tensor, "B H"], *gates: Float[Tensor, "B G"]
) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H"]]:
    """h' and c' from the cell state and the parts whose sum is i, f, g, o (G = 4 H).

    In float32 at least, which c keeps from step to step; h' has the type of the gates.
    """
    with torch.autocast(c.device.type, enabled=False):
        wide = c.to(torch.promote_types(c.dtype, torch.float32))
        made: tuple[Tensor, Tensor] = _Lstm.apply(wide, *gates)
    return made


def gru(
    h: Float[Tensor, "B H"], recurrent: Float[Tensor, "B G"], *gates: Float[Tensor, "B G"]
) -> Float[Tensor, "B H"]:
    """h' from W_hh h + b_hh and the parts of W_ih x + b_ih, each r, z, n (G = 3 H)."""
    below = gates[0]
    for part in gates[1:]:
        below = below + part
    gate_r, gate_z, gate_n = below.chunk(3, -1)
    hidden_r, hidden_z, hidden_n = recurrent.chunk(3, -1)
    z = torch.sigmoid(gate_z + hidden_z)
    n = torch.tanh(gate_n + torch.sigmoid(gate_r + hidden_r) * hidden_n)
    return (1 - z) * n + z * h


class _Lstm(torch.autograd.Function):
    """By hand: autograd takes some thirty small operations and as many tensors a step for these two lines."""

    @staticmethod
    def forward(ctx: Any, c: Tensor, *gates: Tensor) -> tuple[Tensor, Tensor]:
        kind, size = gates[0].dtype, c.shape[-1]
        if len(gates) > 1 and gates[0].dtype == gates[1].dtype == c.dtype:
            total, rest = gates[0] + gates[1], gates[2:]  # a pass less than to copy and to add
        else:
            total, rest = gates[0].to(c.dtype, copy=True), gates[1:]
        for part in rest:
            total += part
        total[..., : 2 * size].sigmoid_()
        total[..., 2 * size : 3 * size].tanh_()
        total[..., 3 * size :].sigmoid_()
        i, f, g, o = total.chunk(4, -1)
        new = (f * c).addcmul_(i, g)
        bent = new.tanh()
        ctx.save_for_backward(total, c, bent)
        ctx.kinds = [part.dtype for part in gates]
        return (o * bent).to(kind), new

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_h: Tensor, of_c: Tensor) -> tuple[Tensor, ...]:
        """With d = dc' + dh' o (1 - tanh^2 c'): di = d g i (1 - i), df = d c f (1 - f), dg = d i (1 - g^2).

        dc = d f and do = dh' tanh(c') o (1 - o).
        """
        total, c, bent = ctx.saved_tensors
        i, f, g, o = total.chunk(4, -1)
        of_h = of_h.to(c.dtype)
        through = torch.ops.aten.tanh_backward(of_h * o, bent)
        through += of_c
        of_gates = torch.empty_like(total)
        of_i, of_f, of_g, of_o = of_gates.chunk(4, -1)
        torch.ops.aten.sigmoid_backward(through * g, i, grad_input=of_i)
        torch.ops.aten.sigmoid_backward(through * c, f, grad_input=of_f)
        torch.ops.aten.tanh_backward(through * i, g, grad_input=of_g)
        torch.ops.aten.sigmoid_backward(of_h * bent, o, grad_input=of_o)
        made = {kind: of_gates.to(kind) for kind in set(ctx.kinds)}
        return through.mul_(f), *(made[kind] for kind in ctx.kinds)
