"""Each hypothesis carries the weights of the steps that emitted its own tokens, and forced decoding agrees."""

import pytest
import torch

from attnlab.search import Search, forced


@pytest.mark.parametrize("beam", [1, 5])
def test_forcing_an_output_gives_back_its_score_and_its_weights(tools, order, window, beam):
    model = tools.real_model(order, window)
    source, lengths = tools.sources([7, 2, 5, 1, 9, 4])
    search = Search(beam, n_best=beam, max_length_offset=3)
    cut = search(model, source, lengths, end=tools.PAD)  # never emitted: nothing ends
    end = cut[0][0].tokens[2]
    ended = search(model, source, lengths, end=end)

    assert not any(h.finished for row in cut for h in row)
    assert any(h.finished for row in ended for h in row)
    pairs = zip([*source, *source], lengths.tolist() * 2, [*cut, *ended], strict=True)
    for row, length, hypotheses in pairs:
        for hypothesis in hypotheses:
            if hypothesis.missing:
                continue
            target = hypothesis.tokens + [end] * hypothesis.finished
            given = forced(model, row[None, :length], torch.tensor([length]), torch.tensor([target]))
            assert hypothesis.weights.shape == (len(target), length)
            torch.testing.assert_close(hypothesis.weights, given.weights[0], atol=1e-5, rtol=0)
            assert hypothesis.log_prob == pytest.approx(float(given.log_probs.sum()), abs=1e-4)


def test_the_weights_are_those_of_the_prefix_that_was_kept(tools):
    model = tools.Scripted(tools.random_table(3, 7))
    source, lengths = torch.tensor([[11, 0, 0], [12, 5, 5], [13, 5, 0]]), torch.tensor([1, 3, 2])
    for row, length, hypotheses in zip(
        source, lengths.tolist(), Search(4, n_best=4)(model, source, lengths, end=2), strict=True
    ):
        for h in hypotheses:
            prefixes = [tuple(h.tokens[:i]) for i in range(len(h.tokens) + h.finished)]
            right = torch.stack([tools.attention(int(row[0]), p, 3)[:length] for p in prefixes])
            torch.testing.assert_close(h.weights, right, atol=0, rtol=0)


def test_forced_decoding_in_one_pass_equals_stepping(tools, order, window):
    model = tools.real_model(order, window)
    source, lengths = tools.sources([5, 3, 0])
    target = torch.tensor([[4, 9, 5, 2], [7, 2, 0, 0], [5, 6, 2, 0]])
    given = forced(model, source, lengths, target)

    with torch.no_grad():
        memory, state = model.encode(source, lengths)
        tokens = torch.full((3, 1), tools.START)
        for t in range(4):
            readout, attended, state = model.step(tokens, state, memory)
            tokens = target[:, t : t + 1]
            real = tokens[:, 0] != tools.PAD
            right = model.logits(readout).log_softmax(-1)[:, 0].gather(1, tokens)[:, 0]
            torch.testing.assert_close(given.log_probs[real, t], right[real], atol=1e-5, rtol=0)
            dense = attended.dense(source.shape[1])[:, 0]
            torch.testing.assert_close(given.weights[real, t], dense[real], atol=1e-5, rtol=0)
    assert given.log_probs.dtype == torch.float32
    assert not given.log_probs[target == tools.PAD].any() and not given.weights[target == tools.PAD].any()


@torch.no_grad()
def test_forced_probabilities_of_all_tokens_sum_to_one(tools, order):
    model = tools.real_model(order)
    source, lengths = tools.sources([4])
    every = torch.arange(1, 14).unsqueeze(1)  # the pad id alone cannot be asked about
    given = forced(model, source.expand(13, -1), lengths.expand(13), every)
    assert 0 < float(given.log_probs.exp().sum()) < 1
    logits = model.logits(model(source, lengths, torch.tensor([[2]])).readouts)
    assert float(given.log_probs.exp().sum() + logits.softmax(-1)[0, 0, 0]) == pytest.approx(1, abs=1e-5)


def test_forced_decoding_turns_dropout_off_and_training_on_again(tools, order):
    model = tools.real_model(order, dropout=0.5).train()
    source, lengths = tools.sources([4, 6])
    target = torch.tensor([[3, 4, 2], [5, 2, 0]])
    first, second = (forced(model, source, lengths, target) for _ in range(2))
    torch.testing.assert_close(first.log_probs, second.log_probs, atol=0, rtol=0)
    assert model.training
