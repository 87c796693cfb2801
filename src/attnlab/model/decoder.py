"""The decoder orders: when the attention is asked, with which state, and where the context goes.

With s_t the state, c_t the context, y_t the target embedding and r_t the readout:

    input_feeding           c_t from s_{t-1}    s_t = RNN([y_{t-1}; c_t], s_{t-1})      Bahdanau 2015, A.1.2
    post_combine            c_t from s_t        s_t = RNN(y_{t-1}, s_{t-1})             Luong 2015, 3.1
    post_combine_feeding    c_t from s_t        s_t = RNN([y_{t-1}; r_{t-1}], s_{t-1})  Luong 2015, 3.3
    post_combine_previous   c_t from s_{t-1}    s_t = RNN(y_{t-1}, s_{t-1})             ours
    fixed_vector            c_t = final state   s_t = RNN(y_{t-1}, s_{t-1})             Cho 2014

and r_t = readout(s_t, c_t) in all of them. s_0 = tanh(W final encoder state of the same layer), r_0 = 0.
An order does not know which scorer or window it holds.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnlab.attention import Attended, Attention, Memory
from attnlab.attention.gathering import gathering
from attnlab.model.readout import Readout
from attnlab.model.recurrence import Hidden, Recurrence
from attnlab.model.state import DecoderState


class Decoder(nn.Module):
    """What the orders share: the bridge from the encoder, the recurrence, the attention, the readout.

    Args:
        embedding_size: E.
        context_size: K, size of a source state.
        attention: whom to ask; None where the order asks nobody.
        readout: from state and context to r_t.
        hidden_size: H.
        layers: L, as many as the encoder has.
        cell: `lstm` or `gru`.
        dropout: between the layers, in training.

    Raises:
        ValueError: the order asks and there is no attention, or the reverse.
    """

    #: Whether the order asks an attention at all.
    asks = True

    def __init__(
        self,
        embedding_size: int,
        context_size: int,
        attention: Attention | None,
        readout: Readout,
        *,
        hidden_size: int,
        layers: int = 1,
        cell: str = "lstm",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if self.asks != (attention is not None):
            name = type(self).__name__
            raise ValueError(
                f"{name} asks an attention: give a scorer and a window"
                if self.asks
                else f"{name} asks no attention: give neither scorer nor window"
            )
        self.layers = layers
        self.attention = attention
        self.readout = readout
        feed = self.feed_size(context_size, readout.size)
        self.recurrence = Recurrence(cell, embedding_size, hidden_size, layers, feed, dropout)
        self.bridge = nn.ModuleList(
            nn.ModuleList(nn.Linear(context_size, hidden_size, bias=False) for _ in range(layers))
            for _ in range(self.recurrence.state_parts)
        )

    def feed_size(self, context_size: int, readout_size: int) -> int:
        """Size of what joins the embedding at the RNN's input."""
        return 0

    def prepare(
        self, states: Float[Tensor, "B S K"], final: Hidden, lengths: Int[Tensor, " B"]
    ) -> tuple[Memory, DecoderState]:
        """The memory to ask and the state before the first step."""
        assert self.attention is not None
        return self.attention.prepare(states, lengths), self.initial(final)

    def initial(self, final: Hidden) -> DecoderState:
        """s_0 = tanh(W final state of the same layer), for LSTM h and c apart.

        A GRU encoder has no c: an LSTM decoder then makes both from h.
        """
        hidden = []
        bridge: Any = self.bridge  # lists within a list, which torch does not declare
        for part, layers in enumerate(bridge):
            source = final[min(part, len(final) - 1)]
            hidden.append(torch.stack([torch.tanh(w(f)) for w, f in zip(layers, source, strict=True)]))
        return DecoderState(tuple(part.unsqueeze(2) for part in hidden))

    def forward(
        self, embedded: Float[Tensor, "B T E"], memory: Memory, state: DecoderState
    ) -> tuple[Float[Tensor, "B T R"], Attended]:
        """Readouts and attention for a whole target: `embedded` holds y_0 .. y_{T-1}."""
        raise NotImplementedError

    def step(
        self, embedded: Float[Tensor, "B Q E"], state: DecoderState, memory: Memory
    ) -> tuple[Float[Tensor, "B Q R"], Attended, DecoderState]:
        """Readout, attention and new state for one step of Q hypotheses a sentence."""
        raise NotImplementedError

    def ask(self, query: Float[Tensor, "B Q H"], memory: Memory, steps: Int[Tensor, " Q"]) -> Attended:
        """The attention's answer."""
        assert self.attention is not None
        return self.attention(query, memory, steps)

    def recur(
        self,
        gates: Float[Tensor, "B Q G"],
        fed: Float[Tensor, "B Q F"] | None,
        state: DecoderState,
        *,
        of_state: bool = False,
    ) -> tuple[Float[Tensor, "L B Q H"], ...]:
        """One step of the RNN for Q hypotheses a sentence.

        `of_state`: `fed` comes of the state alone, whatever the token, so hypotheses that share the one share
        the other.
        """
        shape = gates.shape[:2]
        hidden = tuple(part.flatten(1, 2) for part in state.hidden)
        flat = None if fed is None else fed.flatten(0, 1)
        siblings = state.siblings if fed is None or of_state else None
        hidden = self.recurrence.step(gates.flatten(0, 1), flat, hidden, siblings)
        return tuple(part.unflatten(1, shape) for part in hidden)


class PostCombine(Decoder):
    """s_t = RNN(y_{t-1}, s_{t-1}); c_t from s_t; r_t = readout(s_t, c_t) (Luong et al. 2015, section 3.1).

    The recurrence does not depend on the attention: all states come from one library call, and all steps ask
    at once.
    """

    def asker(
        self, previous: Float[Tensor, "B Q H"], current: Float[Tensor, "B Q H"]
    ) -> Float[Tensor, "B Q H"]:
        """The state that asks."""
        return current

    def forward(
        self, embedded: Float[Tensor, "B T E"], memory: Memory, state: DecoderState
    ) -> tuple[Float[Tensor, "B T R"], Attended]:
        """All steps at once."""
        states, _ = self.recurrence.run(embedded, tuple(part.squeeze(2) for part in state.hidden))
        previous = torch.cat((state.top.to(states.dtype), states[:, :-1]), dim=1)
        steps = torch.arange(1, embedded.shape[1] + 1, device=embedded.device)
        attended = self.ask(self.asker(previous, states), memory, steps)
        return self.readout(states, attended.context, embedded, previous), attended

    def step(
        self, embedded: Float[Tensor, "B Q E"], state: DecoderState, memory: Memory
    ) -> tuple[Float[Tensor, "B Q R"], Attended, DecoderState]:
        """One step."""
        hidden = self.recur(self.recurrence.project(embedded, state.words), None, state)
        new = DecoderState(hidden, None, state.step + 1)
        attended = self.ask(self.asker(state.top, new.top), memory, _steps(new.step, embedded))
        return self.readout(new.top, attended.context, embedded, state.top), attended, new


class PostCombinePrevious(PostCombine):
    """`PostCombine`, but s_{t-1} asks.

    It splits the comparison of the two papers, which differ in the state that asks and in where the context
    goes.
    """

    def asker(
        self, previous: Float[Tensor, "B Q H"], current: Float[Tensor, "B Q H"]
    ) -> Float[Tensor, "B Q H"]:
        """The state before the step."""
        return previous


class FixedVector(PostCombine):
    """`PostCombine` with c_t = the encoder's final state at every t: no attention (Cho et al. 2014)."""

    asks = False

    def prepare(
        self, states: Float[Tensor, "B S K"], final: Hidden, lengths: Int[Tensor, " B"]
    ) -> tuple[Memory, DecoderState]:
        """The memory is one vector a sentence."""
        vector = final[0][-1].unsqueeze(1)
        return Memory(vector, vector, lengths, torch.zeros_like(lengths)), self.initial(final)

    def ask(self, query: Float[Tensor, "B Q H"], memory: Memory, steps: Int[Tensor, " Q"]) -> Attended:
        """The same context for all; no position is scored."""
        context = memory.states.expand(-1, query.shape[1], -1)
        return Attended(context, context.new_zeros(*query.shape[:2], 0))


class _Stepwise(Decoder):
    """The orders whose recurrence waits for the attention: `forward` is `advance`, step after step."""

    def advance(
        self, gates: Float[Tensor, "B Q G"], state: DecoderState, memory: Memory
    ) -> tuple[DecoderState, Attended]:
        """One step from the projected embedding."""
        raise NotImplementedError

    def read(
        self,
        states: Float[Tensor, "B Q H"],
        attended: Attended,
        embedded: Float[Tensor, "B Q E"],
        previous: Float[Tensor, "B Q H"],
        fed: Float[Tensor, "B Q R"] | None,
    ) -> Float[Tensor, "B Q R"]:
        """r_t of the steps just made."""
        return self.readout(states, attended.context, embedded, previous)

    def forward(
        self, embedded: Float[Tensor, "B T E"], memory: Memory, state: DecoderState
    ) -> tuple[Float[Tensor, "B T R"], Attended]:
        """Step after step; the readouts that nothing waits for are made together at the end."""
        states, fed, answers = [state.top], [], []
        with gathering(self), self.recurrence.looping():
            memory = memory.gathered()
            # unbind, not slices: the gradient of a slice is as large as what it was cut from
            for gates in self.recurrence.project(embedded).unbind(1):
                state, attended = self.advance(gates.unsqueeze(1), state, memory)
                states.append(state.top)
                fed.append(state.fed)
                answers.append(attended)
        joined = _join(answers)
        path = torch.cat(states, dim=1)
        readouts = None if fed[0] is None else torch.cat([r for r in fed if r is not None], dim=1)
        return self.read(path[:, 1:], joined, embedded, path[:, :-1], readouts), joined

    def step(
        self, embedded: Float[Tensor, "B Q E"], state: DecoderState, memory: Memory
    ) -> tuple[Float[Tensor, "B Q R"], Attended, DecoderState]:
        """One step."""
        gates = self.recurrence.project(embedded, state.words)
        new, attended = self.advance(gates, state._replace(words=None), memory)
        return self.read(new.top, attended, embedded, state.top, new.fed), attended, new


class InputFeeding(_Stepwise):
    """c_t from s_{t-1}; s_t = RNN([y_{t-1}; c_t], s_{t-1}) (Bahdanau et al. 2015, 3.1 and A.1.2)."""

    def feed_size(self, context_size: int, readout_size: int) -> int:
        """K: the context."""
        return context_size

    def advance(
        self, gates: Float[Tensor, "B Q G"], state: DecoderState, memory: Memory
    ) -> tuple[DecoderState, Attended]:
        """Ask, then step."""
        attended = self.ask(state.top, memory, _steps(state.step + 1, gates))
        hidden = self.recur(gates, attended.context, state, of_state=True)
        return DecoderState(hidden, None, state.step + 1), attended


class PostCombineFeeding(_Stepwise):
    """`PostCombine` with s_t = RNN([y_{t-1}; r_{t-1}], s_{t-1}), r_0 = 0 (Luong et al. 2015, section 3.3).

    The paper calls this input feeding, the name of another order here.
    """

    def feed_size(self, context_size: int, readout_size: int) -> int:
        """The size of r_t."""
        return readout_size

    def initial(self, final: Hidden) -> DecoderState:
        """s_0 as everywhere, r_0 = 0."""
        state = super().initial(final)
        return state._replace(fed=state.top.new_zeros(*state.top.shape[:2], self.readout.size))

    def advance(
        self, gates: Float[Tensor, "B Q G"], state: DecoderState, memory: Memory
    ) -> tuple[DecoderState, Attended]:
        """Step, ask, and read out at once, since the next step waits for r_t."""
        hidden = self.recur(gates, state.fed, state, of_state=True)
        top = hidden[0][-1]
        attended = self.ask(top, memory, _steps(state.step + 1, gates))
        # Only `Combine` is allowed here: it looks at neither the embedding nor the previous state.
        readout = self.readout(top, attended.context, top.new_zeros(*top.shape[:2], 0), state.top)
        return DecoderState(hidden, readout, state.step + 1), attended

    def read(
        self,
        states: Float[Tensor, "B Q H"],
        attended: Attended,
        embedded: Float[Tensor, "B Q E"],
        previous: Float[Tensor, "B Q H"],
        fed: Float[Tensor, "B Q R"] | None,
    ) -> Float[Tensor, "B Q R"]:
        """They were made on the way."""
        assert fed is not None
        return fed


def _steps(step: int, like: Tensor) -> Int[Tensor, " Q"]:
    return torch.full((like.shape[1],), step, device=like.device)


def _join(answers: list[Attended]) -> Attended:
    """The answers of single steps as one over all steps."""
    first = (
        None if answers[0].first is None else torch.cat([a.first for a in answers if a.first is not None], 1)
    )
    context = torch.cat([a.context for a in answers], dim=1)
    return Attended(context, torch.cat([a.weights for a in answers], dim=1), first)
