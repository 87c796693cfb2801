"""What every scorer under every window owes, asked one step at a time and all steps at once."""

from contextlib import nullcontext

import pytest
import torch

from attnlab.attention import Attention

from .grid import LOCAL, REACH, SCORERS, WINDOWS, D, ask, make, normal

SIZE = 4
LENGTHS = torch.tensor([0, *range(1, 31)])  # sources of 0 and of 1 to 30 tokens in one batch
PADDED = 32  # no sentence fills the batch
STEPS = 34  # beyond both ends of every source
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 2e-3, torch.float32: 1e-5, torch.float64: 1e-12}
#: windows whose weights sum to 1
SUM_TO_ONE = [name for name in WINDOWS if name != "local_p"]


@pytest.fixture(params=[True, False], ids=["one_step", "all_steps"])
def one_step(request) -> bool:
    return request.param


@pytest.fixture(params=WINDOWS)
def window(request) -> str:
    return request.param


@pytest.fixture(params=SCORERS)
def scorer(request) -> str:
    return request.param


def places(scorer: str, lengths: torch.Tensor = LENGTHS, padded: int = PADDED) -> torch.Tensor:
    """[B, S]: which positions can have a weight."""
    limit = REACH if scorer == "location" else padded
    return torch.arange(padded) < lengths.clamp(max=limit).unsqueeze(-1)


def batch(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries [B,T,H] and states [B,S,K], with noise in the padding, which a real encoder fills with zeros."""
    query = normal(len(LENGTHS), STEPS, SIZE, seed=1, dtype=dtype)
    return query, normal(len(LENGTHS), PADDED, SIZE, seed=2, dtype=dtype)


@pytest.mark.parametrize("precision", ["float16", "bfloat16", "float32", "float64", "autocast"])
def test_masks_hold_in_every_precision(scorer, window, one_step, precision):
    dtype = torch.float32 if precision == "autocast" else getattr(torch, precision)
    autocast = torch.autocast("cpu", torch.bfloat16) if precision == "autocast" else nullcontext()
    attention = make(scorer, window, SIZE).to(dtype)
    query, states = (x.requires_grad_() for x in batch(dtype))
    with autocast:
        context, weights = ask(attention, query, states, LENGTHS, one_step)
    (context.float().square().sum() + weights.float().square().sum()).backward()

    assert torch.isfinite(context).all() and torch.isfinite(weights).all()
    for gradient in [query.grad, states.grad, *(p.grad for p in attention.parameters())]:
        assert gradient is None or torch.isfinite(gradient).all()

    outside = ~places(scorer).unsqueeze(1).expand_as(weights)
    assert (weights[outside] == 0).all()
    assert (states.grad[~places(scorer)] == 0).all()
    assert (weights >= 0).all()
    assert (weights[0] == 0).all() and (context[0] == 0).all()  # the empty sentence

    total = weights.double().sum(-1)
    tolerance = max(TOLERANCE[dtype], 2e-3 if precision == "autocast" else 0)
    reached = weights.ne(0).any(-1)
    if window == "local_p":
        assert (total <= 1 + tolerance).all()
    else:
        assert (total[reached] - 1).abs().max() <= tolerance
    if window in LOCAL:
        assert weights.ne(0).sum(-1).max() <= 2 * D + 1
    if scorer != "location":
        assert reached[1:].all()


def test_half_precision_agrees_with_single(scorer, window, one_step):
    query, states = batch(torch.bfloat16)
    half = ask(make(scorer, window, SIZE).bfloat16(), query, states, LENGTHS, one_step)
    attention = make(scorer, window, SIZE).bfloat16().float()  # the same, rounded, parameters
    single = ask(attention, query.float(), states.float(), LENGTHS, one_step)
    # A predicted centre next to a whole number may fall on its other side: compare where it did not.
    same = (half[1].ne(0) == single[1].ne(0)).all(-1)
    assert same.float().mean() > 0.9
    for ours, theirs in zip(half, single, strict=True):
        torch.testing.assert_close(ours[same].float(), theirs[same], rtol=0, atol=0.15)


def test_one_step_gives_what_all_steps_give(scorer, window):
    attention = make(scorer, window, SIZE)
    for one, all_ in zip(*(ask(attention, *batch(), LENGTHS, one) for one in (True, False)), strict=True):
        torch.testing.assert_close(one, all_, rtol=0, atol=1e-12)


def test_a_sentence_is_attended_to_as_if_it_were_alone(scorer, window, one_step):
    attention = make(scorer, window, SIZE)
    query, states = batch()
    context, weights = ask(attention, query, states, LENGTHS, one_step)
    for b in [1, 2, 17, 30]:
        length = int(LENGTHS[b])
        alone = ask(attention, query[b : b + 1], states[b : b + 1, :length], LENGTHS[b : b + 1], one_step)
        torch.testing.assert_close(context[b], alone[0][0], rtol=0, atol=1e-12)
        torch.testing.assert_close(weights[b, :, :length], alone[1][0], rtol=0, atol=1e-12)


def gradients(
    attention: Attention, query: torch.Tensor, states: torch.Tensor, lengths: torch.Tensor, one_step: bool
) -> dict[str, torch.Tensor]:
    attention.zero_grad()
    context, weights = ask(attention, query, states, lengths, one_step)
    (context.sin().sum() + weights.square().sum()).backward()
    return {
        n: torch.zeros_like(p) if p.grad is None else p.grad.clone() for n, p in attention.named_parameters()
    }


def test_a_row_with_nothing_to_attend_to_leaves_the_gradients_of_the_others(scorer, window, one_step):
    attention = make(scorer, window, SIZE)
    query, states = normal(2, 7, SIZE, seed=1), normal(2, 6, SIZE, seed=2)
    together = [x.clone().requires_grad_() for x in (query, states)]
    alone = [x[:1].clone().requires_grad_() for x in (query, states)]
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either, which a later mask might hide
        found = gradients(attention, *together, torch.tensor([5, 0]), one_step)
    expected = gradients(attention, *alone, torch.tensor([5]), one_step)
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=0, atol=1e-12)
    for ours, theirs in zip(together, alone, strict=True):
        torch.testing.assert_close(ours.grad[:1], theirs.grad, rtol=0, atol=1e-12)
        assert (ours.grad[1] == 0).all()


def test_the_source_is_prepared_once_a_batch_and_nothing_of_it_is_kept(scorer, window):
    attention = make(scorer, window, SIZE)
    calls = []
    prepare = attention.scorer.prepare
    attention.scorer.prepare = lambda states: (calls.append(states.shape), prepare(states))[1]
    before = {name: dict(module.__dict__) for name, module in attention.named_modules()}
    values = {name: tensor.clone() for name, tensor in attention.state_dict().items()}

    ask(attention, *batch(), LENGTHS, one_step=True)

    assert len(calls) == 1
    for name, module in attention.named_modules():
        assert module.__dict__.keys() == before[name].keys()
        for key, value in module.__dict__.items():
            assert value is before[name][key], f"{name}.{key} was replaced"
            if isinstance(value, dict | list):
                assert not any(isinstance(x, torch.Tensor) and x.shape[:1] == LENGTHS.shape for x in value)
    assert attention.state_dict().keys() == values.keys()
    for name, tensor in attention.state_dict().items():
        assert torch.equal(tensor, values[name])


def test_sentences_can_be_selected_from_the_memory(scorer, window):
    attention = make(scorer, window, SIZE)
    query, states = batch()
    rows = torch.tensor([30, 0, 7, 7])
    steps = torch.arange(1, STEPS + 1)
    memory = attention.prepare(states, LENGTHS).select(rows)
    found = attention(query[rows], memory, steps).dense(PADDED)
    expected = attention(query, attention.prepare(states, LENGTHS), steps).dense(PADDED)[rows]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
