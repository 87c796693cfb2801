"""The decoder orders against slow loops written from their equations, and their two ways of running."""

import pytest
import torch

from attnlab.model import Seq2Seq

from . import oracles
from .models import ATTENTIVE, ENCODERS, ORDERS, START, build, pairs, spread, unroll

SOURCE_LENGTHS, TARGET_LENGTHS = [4, 1, 3], [5, 3, 6]

#: order, readout, encoder, decoder cell, layers, scorer, window
CASES = [
    *((order, "combine", "bilstm", "lstm", 1, "additive", "global") for order in ORDERS),
    *((order, "combine", "bigru", "gru", 2, "general", "local_p") for order in ORDERS),
    *((order, "combine", "gru", "lstm", 1, "dot", "local_m") for order in ORDERS),
    *((order, "combine", "lstm_reversed", "gru", 1, "location", "local_m") for order in ORDERS),
    ("input_feeding", "maxout", "bilstm", "lstm", 2, "concat", "global"),
    ("input_feeding", "plain", "bilstm", "gru", 2, "additive", "local_p_renorm"),
]


@pytest.mark.parametrize(("order", "readout", "encoder", "cell", "layers", "scorer", "window"), CASES)
def test_readouts_weights_and_gradients_are_those_of_the_equations(
    order, readout, encoder, cell, layers, scorer, window
):
    model = spread(
        build(
            order=order,
            readout=readout,
            encoder=encoder,
            cell=cell,
            layers=layers,
            scorer=scorer,
            window=window,
        )
    )
    source, lengths, target, _ = pairs(SOURCE_LENGTHS, TARGET_LENGTHS)
    decoded = model(source, lengths, target)
    dense = decoded.attended.dense(source.shape[1])
    do = oracles.Steps(model, cell, scorer, window)
    generator = torch.Generator().manual_seed(1)
    loss = expected_loss = decoded.readouts.sum() * 0
    for b, (S, T) in enumerate(zip(SOURCE_LENGTHS, TARGET_LENGTHS, strict=True)):
        h, finals = oracles.encode(
            model.encoder, ENCODERS[encoder]["cell"], model.source_embedding(source[b, :S])
        )
        inputs = torch.cat((torch.tensor([START]), target[b, : T - 1]))
        r, a = oracles.ORDERS[order](do, oracles.READOUTS[readout], model.target_embedding(inputs), h, finals)
        torch.testing.assert_close(decoded.readouts[b, :T], r, rtol=0, atol=1e-10)
        torch.testing.assert_close(dense[b, :T, :S], a, rtol=0, atol=1e-10)
        assert (dense[b, :, S:] == 0).all()
        pull = torch.randn(r.shape, generator=generator).double()
        loss = loss + (decoded.readouts[b, :T] * pull).sum()
        expected_loss = expected_loss + (r * pull).sum()

    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(
        loss, parameters, allow_unused=True, retain_graph=True
    )  # the embeddings' is shared
    expected = torch.autograd.grad(expected_loss, parameters, allow_unused=True)
    for name, ours, theirs in zip(names, found, expected, strict=True):
        if name == "output.weight":
            continue  # the logits come after the readouts
        assert ours is not None, name
        theirs = torch.zeros_like(ours) if theirs is None else theirs
        torch.testing.assert_close(
            ours, theirs, rtol=1e-8, atol=1e-9, msg=lambda m, name=name: f"{name}: {m}"
        )


@pytest.mark.parametrize(("precision", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("window", ["global", "local_m", "local_p"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("order", ORDERS)
def test_forward_is_step_unrolled(order, cell, window, precision, tolerance):
    model = spread(build(order=order, cell=cell, window=window, layers=2), scale=0.4).to(precision)
    source, lengths, target, _ = pairs([4, 1, 6], [5, 8, 6])
    decoded = model(source, lengths, target)
    readouts, weights = unroll(model, source, lengths, target)
    torch.testing.assert_close(decoded.readouts, readouts, rtol=0, atol=tolerance)
    torch.testing.assert_close(decoded.attended.dense(source.shape[1]), weights, rtol=0, atol=tolerance)


def path_of(model: Seq2Seq, source: torch.Tensor, lengths: torch.Tensor, tokens: list[int]) -> torch.Tensor:
    """Readouts [T,R] of one sentence after the start mark and `tokens`."""
    target = torch.tensor([[*tokens, 0]])
    return model(source, lengths, target).readouts[0]


@pytest.mark.parametrize("order", ORDERS)
def test_hypotheses_are_expanded_reordered_and_selected(order):
    model = spread(
        build(order=order, window="local_p" if order in ATTENTIVE else "global", layers=2), scale=0.4
    )
    source, lengths, *_ = pairs([4, 2, 5], [1, 1, 1])
    memory, state = model.encode(source, lengths)
    start = torch.full((3, 1), model.start)
    _, _, state = model.step(start, state, memory)
    state = state.expand(3)

    # Three hypotheses a sentence: 5, 6, 7 after the start mark.
    _, _, state = model.step(torch.tensor([[5, 6, 7]]).expand(3, 3), state, memory)
    # They become 7, 5, 5 in the first sentence, 6, 6, 6 in the second, 5, 7, 6 in the third.
    state = state.reorder(torch.tensor([[2, 0, 0], [1, 1, 1], [0, 2, 1]]))
    # The third and the first sentence go on, in this order.
    rows = torch.tensor([2, 0])
    state, memory = state.select(rows), memory.select(rows)
    readout, attended, state = model.step(torch.tensor([[8, 9, 10], [8, 9, 10]]), state, memory)

    expected = {
        (0, 0): [5, 8],
        (0, 1): [7, 9],
        (0, 2): [6, 10],
        (1, 0): [7, 8],
        (1, 1): [5, 9],
        (1, 2): [5, 10],
    }
    for (row, hypothesis), tokens in expected.items():
        b = rows[row]
        alone = path_of(model, source[b : b + 1, : lengths[b]], lengths[b : b + 1], tokens)
        torch.testing.assert_close(readout[row, hypothesis], alone[2], rtol=0, atol=1e-10)
    assert state.step == 3
    assert attended.dense(5).shape == (2, 3, 5)


@pytest.mark.parametrize("readout", ["combine", "maxout", "plain"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_changed_first_token_changes_the_third_step(order, readout):
    if readout != "combine" and order != "input_feeding":
        return  # no such cell
    model = spread(build(order=order, readout=readout))
    source, lengths, target, _ = pairs([4], [5])
    changed = target.clone()
    changed[0, 0] = target[0, 0] % 9 + 4
    before, after = (model.logits(model(source, lengths, t).readouts)[0] for t in (target, changed))
    assert torch.equal(before[0], after[0])  # step 1 sees the start mark only
    assert (before[2] - after[2]).abs().max() > 1e-3


@pytest.mark.parametrize("order", ATTENTIVE)
def test_which_state_asks(order):
    # The last input token reaches s_T and no earlier state: only an order that asks with s_T looks elsewhere.
    model = spread(build(order=order))
    source, lengths, target, _ = pairs([6], [4])
    changed = target.clone()
    changed[0, 2] = target[0, 2] % 9 + 4  # the input of step 4
    one, other = (model(source, lengths, t).attended.weights[0] for t in (target, changed))
    torch.testing.assert_close(one[:3], other[:3], rtol=0, atol=1e-12)
    previous = order in ("input_feeding", "post_combine_previous")
    assert torch.allclose(one[3], other[3], atol=1e-12) == previous


@pytest.mark.parametrize("order", ATTENTIVE)
def test_step_1_of_an_order_that_asks_before_is_asked_by_the_bridge(order):
    model = spread(build(order=order))
    source, lengths, target, _ = pairs([6], [4])
    memory, state = model.encode(source, lengths)
    by_bridge = model.decoder.attention(state.top, memory, torch.tensor([1])).weights[0, 0]
    first = model(source, lengths, target).attended.weights[0, 0]
    previous = order in ("input_feeding", "post_combine_previous")
    assert torch.allclose(first, by_bridge, atol=1e-12) == previous


def test_a_fixed_vector_is_the_final_state_and_has_no_weights():
    model = spread(build(order="fixed_vector"))
    source, lengths, target, _ = pairs([4, 2], [3, 3])
    memory, state = model.encode(source, lengths)
    _, final = model.encoder(model.source_embedding(source), lengths)
    _, attended, _ = model.step(target[:, :1], state, memory)
    torch.testing.assert_close(attended.context[:, 0], final[0][-1])
    assert attended.weights.shape == (2, 1, 0)
    assert torch.equal(attended.dense(4), torch.zeros(2, 1, 4).double())


@pytest.mark.parametrize("order", ORDERS)
def test_an_empty_source_has_no_weights_and_spoils_no_gradient(order):
    model = spread(build(order=order, window="local_p" if order in ATTENTIVE else "global"))
    source, lengths, target, _ = pairs([4, 0], [3, 3])
    gradients = []
    for rows in ([0, 1], [0]):
        model.zero_grad()
        decoded = model(source[rows], lengths[rows], target[rows])
        decoded.readouts[0].square().sum().backward()
        assert torch.isfinite(decoded.readouts).all()
        gradients.append({n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None})
        if len(rows) == 2:
            assert (decoded.attended.context[1] == 0).all()
            assert (decoded.attended.dense(4)[1] == 0).all()
    for name, gradient in gradients[1].items():
        torch.testing.assert_close(gradients[0][name], gradient, rtol=0, atol=1e-10)
