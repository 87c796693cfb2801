"""The whole model: what its axes share, what they cost, and what it refuses."""

import math
from functools import partial

import pytest
import torch

from attnlab.model import Bahdanau, Combine, Encoder, FanIn, FixedVector, PostCombine, Seq2Seq, Uniform

from ..attention.grid import REACH, SCORERS, WINDOWS
from .models import ATTENTIVE, EMBEDDING, ENCODERS, ORDERS, SIZE, TARGET, build, pairs, spread, summed_loss


def named(**axes) -> dict[str, torch.Tensor]:
    return {name: p.detach() for name, p in build(**axes).named_parameters()}


#: axis, its values, the parameters that belong to it
AXES = [
    ("encoder", ENCODERS, ("encoder.",)),
    ("scorer", SCORERS, ("decoder.attention.scorer.",)),
    ("window", WINDOWS, ("decoder.attention.window.",)),
    ("order", ORDERS, ("decoder.recurrence.feed.", "decoder.attention.")),
    ("readout", ("combine", "maxout", "plain"), ("decoder.readout.",)),
]


@pytest.mark.parametrize(("axis", "values", "own"), AXES, ids=[a[0] for a in AXES])
def test_swapping_one_axis_changes_no_other_parameter_in_shape_or_first_value(axis, values, own):
    base = {"order": "input_feeding"} if axis == "readout" else {}
    found = [named(**{**base, axis: value}) for value in values]
    others = [{n: p for n, p in parameters.items() if not n.startswith(own)} for parameters in found]
    assert len(others[0]) > 5
    for parameters in others[1:]:
        assert parameters.keys() == others[0].keys()
        for name, value in parameters.items():
            assert torch.equal(value, others[0][name]), name


def test_the_orders_with_attention_share_its_first_values():
    shared = [{n: p for n, p in named(order=order).items() if ".feed." not in n} for order in ATTENTIVE]
    for parameters in shared[1:]:
        assert parameters.keys() == shared[0].keys()
        assert all(torch.equal(value, shared[0][name]) for name, value in parameters.items())


def test_parameters_are_counted_and_those_of_the_attention_apart():
    H = K = SIZE
    U = 5
    base = build(scorer="dot").parameter_counts()
    assert base["attention"] == 0
    for scorer, expected in [
        ("scaled_dot", 0),
        ("general", H * K),
        ("additive", U * (H + K) + U),
        ("concat", H * K + K),
        ("location", REACH * H),
    ]:
        counts = build(scorer=scorer).parameter_counts()
        assert counts == {"total": base["total"] + expected, "attention": expected}
    assert build(scorer="dot", window="local_p").parameter_counts()["attention"] == H * H + H
    fixed = build(order="fixed_vector").parameter_counts()
    assert fixed == base  # no attention, and nothing in its place


def test_what_each_order_adds():
    H = K = R = SIZE
    base = build().parameter_counts()["total"]
    assert build(order="post_combine_previous").parameter_counts()["total"] == base
    assert build(order="input_feeding").parameter_counts()["total"] == base + 4 * H * K
    assert build(order="post_combine_feeding").parameter_counts()["total"] == base + 4 * H * R


def untrained_entropy(scorer: str, size: int, initialise, embedding: int = 64, **axes) -> torch.Tensor:
    """The weights' entropy over log S, one a step."""
    model = build(scorer=scorer, size=size, embedding=embedding, initialise=initialise, **axes)
    source, lengths, target, _ = pairs([2, 13, REACH if scorer == "location" else 50], [9, 9, 9])
    with torch.no_grad():
        weights = model(source, lengths, target).attended.weights
    return torch.special.entr(weights).sum(-1) / lengths.log().unsqueeze(-1)


@pytest.mark.parametrize("initialise", [FanIn, Uniform, Bahdanau])
@pytest.mark.parametrize("scorer", SCORERS)
def test_an_untrained_global_model_is_close_to_uniform(scorer, initialise):
    # U(-0.1, 0.1) has one scale for every size: with 512 units its sums are large.
    for size in [64] if initialise is Uniform else [64, 512]:
        assert (untrained_entropy(scorer, size, initialise()) >= 0.99).all(), size


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_under_every_encoder_and_cell_it_is_so_on_average(encoder, cell):
    # `dot` is the scorer that starts furthest from uniform, and a GRU's states are larger than an LSTM's.
    entropy = untrained_entropy("dot", 256, FanIn(), embedding=256, encoder=encoder, cell=cell)
    assert entropy.mean() >= 0.99


def test_which_wide_embeddings_would_break():
    assert untrained_entropy("dot", 512, FanIn(embedding_std=1.0)).min() < 0.99


@pytest.mark.parametrize("encoder", ["bilstm", "gru", "lstm_reversed"])
@pytest.mark.parametrize("order", ORDERS)
def test_the_loss_of_a_padded_batch_is_the_sum_over_its_pairs_alone(order, encoder):
    axes = [(s, w) for s in SCORERS for w in WINDOWS] if order in ATTENTIVE else [("dot", "global")]
    source, lengths, target, target_lengths = pairs([5, 1, 7, 3], [2, 6, 4, 1])
    for scorer, window in axes:
        model = spread(build(order=order, encoder=encoder, scorer=scorer, window=window))
        with torch.no_grad():
            together = summed_loss(model, source, lengths, target, target_lengths).item()
            alone = 0.0
            for b in range(len(source)):
                row = slice(b, b + 1)
                S, T = int(lengths[b]), int(target_lengths[b])
                pair = source[row, :S], lengths[row], target[row, :T], target_lengths[row]
                alone += summed_loss(model, *pair).item()
        assert together == pytest.approx(alone, rel=1e-9), (scorer, window)


@pytest.mark.parametrize("order", ORDERS)
def test_padding_ids_are_never_read(order):
    model = spread(build(order=order))
    source, lengths, target, target_lengths = pairs([5, 1, 7], [2, 6, 4])
    expected = summed_loss(model, source, lengths, target, target_lengths)
    source, target = source.clone(), target.clone()
    source[torch.arange(7) >= lengths.unsqueeze(-1)] = 9
    target[torch.arange(6) >= target_lengths.unsqueeze(-1)] = 9
    torch.testing.assert_close(summed_loss(model, source, lengths, target, target_lengths), expected)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("window", WINDOWS)
def test_every_cell_takes_a_training_step(order, window):
    scorers = list(SCORERS) if order in ATTENTIVE else ["dot"]
    batch = pairs([5, 1, 7, 0, 3], [2, 6, 4, 3, 1])
    for scorer in scorers:
        model = build(order=order, scorer=scorer, window=window)
        optimiser = torch.optim.Adam(model.parameters(), 1e-2)
        before = summed_loss(model, *batch)
        before.backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, (scorer, name)
            assert torch.isfinite(parameter.grad).all(), (scorer, name)
        optimiser.step()
        assert summed_loss(model, *batch) < before, scorer


@pytest.mark.parametrize("scorer", ["dot", "scaled_dot"])
def test_dot_with_unequal_sizes_is_refused_with_both_sizes(scorer):
    def make(encoder_size: int) -> Seq2Seq:
        return Seq2Seq(
            9,
            9,
            encoder=partial(Encoder, hidden_size=encoder_size, cell="lstm", bidirectional=True),
            decoder=partial(PostCombine, hidden_size=256),
            readout=Combine,
            scorer=SCORERS[scorer][0],
            window=WINDOWS["global"][0],
            hidden_size=256,
            embedding_size=8,
        )

    with pytest.raises(ValueError) as refused:
        make(512)
    assert all(word in str(refused.value) for word in ("256", "512", "scorer=general"))
    make(256)


def test_tied_embeddings_are_one_matrix():
    loose, tied = (build(embedding=SIZE, tie_embeddings=tie) for tie in (False, True))
    assert tied.output.weight is tied.target_embedding.weight
    difference = loose.parameter_counts()["total"] - tied.parameter_counts()["total"]
    assert difference == TARGET * SIZE
    rest = dict(loose.named_parameters())
    for name, value in tied.named_parameters():
        assert torch.equal(value, rest[name]), name
    source, lengths, target, target_lengths = pairs([3], [3])
    summed_loss(tied, source, lengths, target, target_lengths).backward()
    assert tied.output.weight.grad.abs().sum() > 0


def test_tied_embeddings_of_unequal_sizes_are_refused():
    with pytest.raises(ValueError, match=rf"tie_embeddings.*{SIZE}.*embedding_size={EMBEDDING}"):
        build(tie_embeddings=True)


@pytest.mark.parametrize("sizes", [{"layers": 2}, {"hidden_size": 6}], ids=["layers", "hidden_size"])
def test_a_decoder_that_does_not_fit_is_refused_when_it_is_built(sizes):
    decoder = {"hidden_size": SIZE, "layers": 1, **sizes}
    with pytest.raises(ValueError, match="decoder"):
        Seq2Seq(
            9,
            9,
            encoder=partial(Encoder, hidden_size=SIZE, cell="lstm"),
            decoder=partial(PostCombine, **decoder),
            readout=Combine,
            scorer=SCORERS["general"][0],
            window=WINDOWS["global"][0],
            hidden_size=SIZE,
            embedding_size=8,
        )


@pytest.mark.parametrize(
    ("order", "scorer", "window", "message"),
    [
        (PostCombine, None, None, "PostCombine asks an attention"),
        (FixedVector, "general", "global", "FixedVector asks no attention"),
        (PostCombine, "general", None, "come together"),
    ],
)
def test_an_attention_that_nobody_asks_and_an_order_without_one_are_refused(order, scorer, window, message):
    with pytest.raises(ValueError, match=message):
        Seq2Seq(
            9,
            9,
            encoder=partial(Encoder, hidden_size=SIZE, cell="lstm"),
            decoder=partial(order, hidden_size=SIZE),
            readout=Combine,
            scorer=scorer and SCORERS[scorer][0],
            window=window and WINDOWS[window][0],
            hidden_size=SIZE,
            embedding_size=8,
        )


def test_logits_are_the_output_matrix_times_the_readout():
    model = spread(build())
    readouts = torch.randn(2, 3, SIZE).double()
    torch.testing.assert_close(model.logits(readouts), readouts @ model.output.weight.T)
    assert model.output.bias is None


def test_dropout_acts_in_training_only():
    model = build(dropout=0.5)
    batch = pairs([5, 3], [4, 4])
    model.eval()
    assert torch.equal(summed_loss(model, *batch), summed_loss(model, *batch))
    model.train()
    torch.manual_seed(0)
    assert not torch.equal(summed_loss(model, *batch), summed_loss(model, *batch))


@pytest.mark.parametrize("order", ORDERS)
def test_dropout_acts_on_both_embeddings_and_on_the_readouts_and_nowhere_else(order):
    model = build(order=order, dropout=0.5).train()
    source, lengths, target, _ = pairs([5, 3], [4, 4])
    dropped = []
    model.dropout.register_forward_hook(lambda module, given, out: dropped.append((given[0], out)))
    decoded = model(source, lengths, target)
    inputs = torch.cat((torch.full((2, 1), model.start), target[:, :-1]), dim=1)
    assert torch.equal(dropped[0][0], model.source_embedding(source))
    assert torch.equal(dropped[1][0], model.target_embedding(inputs))
    assert len(dropped) == 3 and decoded.readouts is dropped[2][1]


def test_positions_beyond_the_reach_of_the_scorer_are_counted():
    lengths = torch.tensor([REACH - 1, REACH + 2, REACH + 5])
    assert build(scorer="location").beyond_reach(lengths) == 7
    assert build(scorer="additive").beyond_reach(lengths) == 0
    assert build(order="fixed_vector").beyond_reach(lengths) == 0


@pytest.mark.parametrize("order", ORDERS)
def test_nothing_of_a_batch_is_kept_on_the_model(order):
    model = build(order=order)
    before = {name: dict(module.__dict__) for name, module in model.named_modules()}
    summed_loss(model, *pairs([5, 3], [4, 4]))
    for name, module in model.named_modules():
        assert module.__dict__.keys() == before[name].keys()
        assert all(value is before[name][key] for key, value in module.__dict__.items()), name


@pytest.mark.parametrize("order", ATTENTIVE)
def test_the_encoder_side_projection_runs_once_a_batch(order):
    model = build(order=order, scorer="additive")
    rows = []
    model.decoder.attention.scorer.U.register_forward_hook(lambda module, inputs, out: rows.append(out.shape))
    model(*pairs([5, 3], [6, 6])[:3])
    assert rows == [(2, 5, 5)]  # B, S, U: not once a target step


def test_bf16_autocast_keeps_the_loss_of_a_local_window_with_padding():
    # Places both outside the window and padded: two masks on one position.
    model = build(order="input_feeding", window="local_p", scorer="additive", size=32, embedding=32)
    batch = pairs([2, 30], [12, 12])
    single = summed_loss(model, *batch)
    with torch.autocast("cpu", torch.bfloat16):
        half = summed_loss(model, *batch)
    half.backward()
    assert math.isfinite(half.item())
    assert half.item() == pytest.approx(single.item(), rel=1e-2)
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())
