"""What a search must do with scripted models and small real ones, whatever its beam."""

import math

import pytest
import torch

from attnlab.errors import UserError
from attnlab.search import Search, forced

SURE = -1e-6


def scripted(tools, **choices):
    """A table from the words so far, joined, to what gets nearly all of the probability."""

    def table(name, before):
        row = [-20.0] * 6
        row[choices.get("".join(map(str, before)), choices.get("other", 3))] = SURE
        return row

    return tools.Scripted(table)


def batch(n):
    return torch.arange(10, 10 + n).unsqueeze(1).expand(-1, 2).contiguous(), torch.full((n,), 2)


def same(one, other, atol=1e-5):
    assert [h.tokens for h in one] == [h.tokens for h in other]
    assert [h.finished for h in one] == [h.finished for h in other]
    for a, b in zip(one, other, strict=True):
        assert a.score == b.score or abs(a.score - b.score) < atol
        torch.testing.assert_close(a.weights, b.weights, atol=atol, rtol=0)


@pytest.mark.parametrize("beam", [1, 5])
def test_sentences_get_the_same_alone_and_together(tools, order, window, beam):
    model = tools.real_model(order, window)
    source, lengths = tools.sources([7, 2, 5, 12])
    search = Search(beam, n_best=min(beam, 2))
    together = search(model, source, lengths, end=tools.END)
    for i, length in enumerate(lengths.tolist()):
        [alone] = search(model, source[i : i + 1, :length], lengths[i : i + 1], end=tools.END)
        same(together[i], alone)


@torch.no_grad()
@pytest.mark.parametrize("sharp", [1.0, 4.0])
def test_a_beam_of_one_is_greedy_search(tools, order, sharp):
    model = tools.real_model(order, sharp=sharp)
    source, lengths = tools.sources([1 + i % 9 for i in range(200)])
    found = Search(1, length_penalty=0, max_length=12)(model, source, lengths, end=tools.END)

    memory, state = model.encode(source, lengths)
    tokens, total = torch.full((200, 1), tools.START), torch.zeros(200)
    emitted, running = [], torch.ones(200, dtype=torch.bool)
    for _ in range(12):
        readout, _, state = model.step(tokens, state, memory)
        log_probs = model.logits(readout)[:, 0].log_softmax(-1)
        log_probs[:, [tools.PAD, tools.START]] = -math.inf
        best, token = log_probs.max(-1)
        total += torch.where(running, best, 0)
        emitted.append(torch.where(running, token, tools.END))
        running &= token != tools.END
        tokens = token.unsqueeze(1)
    for [hypothesis], row, score, unfinished in zip(
        found, torch.stack(emitted, 1).tolist(), total.tolist(), running.tolist(), strict=True
    ):
        assert hypothesis.tokens == [token for token in row if token != tools.END]
        assert hypothesis.finished is not unfinished
        assert hypothesis.score == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_an_end_mark_at_once_gives_an_empty_line_in_its_place(tools, beam):
    model = scripted(tools, other=2)
    found = Search(beam)(model, *batch(3), end=2)
    assert [h.tokens for [h] in found] == [[], [], []]
    assert all(h.finished and h.weights.shape == (1, 2) for [h] in found)


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("least", [1, 3])
def test_min_length_words_come_before_the_end_mark(tools, beam, least):
    model = scripted(tools, other=2)
    for [h] in Search(beam, min_length=least)(model, *batch(3), end=2):
        assert len(h.tokens) == least and h.finished and 2 not in h.tokens


@pytest.mark.parametrize("beam", [1, 5])
def test_a_model_that_never_ends_is_cut_at_the_limit_and_says_so(tools, beam):
    never = [-math.inf if token == 2 else math.log(1 / 5) for token in range(6)]
    model = tools.Scripted(lambda name, before: never)
    search = Search(
        beam, length_penalty=0, n_best=beam, max_length_factor=2, max_length_offset=1, max_length=9
    )
    source = torch.tensor([[10, 10, 10, 0, 0], [11, 0, 0, 0, 0], [12, 12, 12, 12, 12]])
    found = search(model, source, torch.tensor([3, 1, 5]), end=2)
    assert [[len(h.tokens) for h in row] for row in found] == [[7] * beam, [3] * beam, [9] * beam]
    for row, positions in zip(found, [3, 1, 5], strict=True):
        assert not any(h.finished or h.missing for h in row)
        assert len({tuple(h.tokens) for h in row}) == beam
        for h in row:
            assert h.weights.shape == (len(h.tokens), positions)
            assert h.log_prob == pytest.approx(len(h.tokens) * math.log(1 / 5), abs=1e-4)


def test_what_finished_comes_before_what_was_cut(tools):
    def table(name, before):
        return [-20, -20, -1.5, -0.3, -20, -20] if not before else [-20, -20, -20, SURE, -20, -20]

    search = Search(2, length_penalty=0, n_best=2, max_length=5)
    [[first, second]] = search(tools.Scripted(table), *batch(1), end=2)
    assert first.finished and first.tokens == [] and first.log_prob == pytest.approx(-1.5, abs=0.1)
    assert second.missing or second.finished


def test_the_end_mark_is_the_one_named(tools, order):
    model = tools.real_model(order)
    source, lengths = tools.sources([5, 3, 6])
    before = Search(4, n_best=2)(model, source, lengths, end=2)

    swap = torch.arange(14)
    swap[2], swap[9] = 9, 2
    with torch.no_grad():
        model.target_embedding.weight.copy_(model.target_embedding.weight[swap])
        model.output.weight.copy_(model.output.weight[swap])
    after = Search(4, n_best=2)(model, source, lengths, end=9)
    for one, other in zip(before, after, strict=True):
        assert [h.tokens for h in one] == [[int(swap[token]) for token in h.tokens] for h in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-5)


@pytest.mark.parametrize("beam", [1, 4])
def test_pad_and_start_are_never_emitted_and_nothing_follows_the_end(tools, beam):
    likes = [-0.5, -1.0, -4.0, -3.0, -3.5, -5.0]  # pad, then start, then the rest
    model = tools.Scripted(lambda name, before: likes)
    for row in Search(beam, n_best=beam, max_length=6)(model, *batch(2), end=2):
        for h in row:
            assert not {0, 1, 2} & set(
                h.tokens
            )  # `Scripted` asserts that the start mark was fed exactly once


def test_n_best_lists_hold_n_distinct_finished_hypotheses_by_score(tools):
    source, lengths = batch(10)
    model = tools.Scripted(tools.random_table(5, 9))
    found = Search(5, n_best=5, length_penalty=0.6)(model, source, lengths, end=tools.END)
    for row in found:
        assert len(row) == 5 and all(h.finished for h in row)
        assert len({tuple(h.tokens) for h in row}) == 5
        assert [h.score for h in row] == sorted((h.score for h in row), reverse=True)


def test_places_without_a_hypothesis_are_marked(tools):
    row = [-math.inf, -math.inf, SURE, -math.inf, -math.inf, -math.inf]
    [[first, *rest]] = Search(3, n_best=3)(tools.Scripted(lambda name, before: row), *batch(1), end=2)
    assert first.finished and not first.missing
    assert [(h.missing, h.tokens, h.finished) for h in rest] == [(True, [], False)] * 2


def test_an_empty_source_is_not_asked_about(tools):
    model = scripted(tools, other=2)
    source, lengths = batch(3)
    found = Search(2, n_best=2)(model, source, lengths * torch.tensor([1, 0, 1]), end=2)
    assert model.asked[0] == (2, 1)
    first, second = found[1]
    assert first.tokens == [] and first.finished and first.log_prob == 0 and second.missing
    nothing = Search(2)(model, source[:2], torch.tensor([0, 0]), end=2)
    assert [h.tokens for [h] in nothing] == [[], []]


def test_finished_sentences_leave_and_the_first_step_asks_once(tools):
    def table(name, before):
        row = [-20.0] * 6
        row[2 if len(before) >= name - 10 else 3] = SURE
        return row

    model = tools.Scripted(table)
    source, lengths = batch(4)
    found = Search(3, max_length_offset=20)(model, source, lengths, end=2)
    assert [h.tokens for [h] in found] == [[], [3], [3, 3], [3, 3, 3]]
    assert model.asked[0] == (4, 1)
    assert model.asked[1:] == [(3, 3), (2, 3), (1, 3)]


def test_what_happens_after_a_sentence_is_done_does_not_count_though_it_waits_for_others(tools):
    def table(name, before):
        row = [-20.0] * 6
        row[2 if len(before) >= 3 else 3] = SURE
        return row

    model = tools.Scripted(table)
    source, lengths = torch.full((12, 5), 10), torch.tensor([1] + [5] * 11)
    found = Search(1, max_length_factor=1, max_length_offset=2)(model, source, lengths, end=2)
    assert model.asked[3] == (12, 1)  # the first one, cut at 3 tokens, is still in the batch
    assert [len(h.tokens) for [h] in found] == [3] * 12
    assert [h.finished for [h] in found] == [False] + [True] * 11


def test_as_many_finished_hypotheses_as_the_beam_is_wide_end_the_search(tools):
    likes = [-20.0, -20.0, -1.2, -0.4, -20.0, -20.0]  # a word, else the end mark: one finishes at each step
    model = tools.Scripted(lambda name, before: likes)
    search = Search(2, length_penalty=6, max_length_offset=30)  # the penalty favours going on for ever
    [[h]] = search(model, *batch(1), end=2)
    assert len(model.asked) == 2 and h.finished


def test_a_hopeless_beam_stops_early_and_a_promising_one_does_not(tools):
    def table(name, before):  # the end mark at once: -0.6; or one word and the end mark: -0.9 - 0.0
        return [-20, -20, -0.6, -0.9, -5, -5] if not before else [-20, -20, SURE, -20, -20, -20]

    model = tools.Scripted(table)
    [[h]] = Search(2, length_penalty=0)(model, *batch(1), end=2)
    assert h.tokens == [] and len(model.asked) == 1
    longer = tools.Scripted(table)
    [[h]] = Search(2, length_penalty=4)(longer, *batch(1), end=2)
    assert h.tokens == [3] and len(longer.asked) > 1


def test_equal_scores_are_settled_the_same_way_alone_and_together(tools):
    model = tools.Scripted(lambda name, before: [math.log(1 / 6)] * 6)
    search = Search(3, n_best=3, max_length=4)
    source, lengths = batch(3)
    together = search(model, source, lengths, end=2)
    assert [h.tokens for h in together[0]] == [h.tokens for h in together[1]]
    for i in range(3):
        same(together[i], search(model, source[i : i + 1], lengths[i : i + 1], end=2)[0], atol=0)


def test_bf16_scores_are_close_to_those_of_float32_and_weights_come_in_float32(tools, order):
    model = tools.real_model(order, sharp=2.0)
    source, lengths = tools.sources([4, 6, 3])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = Search(3, n_best=3)(model, source, lengths, end=tools.END)
    for row, ids, length in zip(found, source, lengths.tolist(), strict=True):
        for h in row:
            assert h.weights.dtype == torch.float32
            if h.tokens:
                target = torch.tensor([h.tokens + [tools.END] * h.finished])
                right = forced(model, ids[None, :length], torch.tensor([length]), target)
                assert h.log_prob == pytest.approx(float(right.log_probs.sum()), rel=0.03)


def test_float64_scores_are_not_rounded(tools, order):
    model = tools.real_model(order).double()
    source, lengths = tools.sources([4, 6, 3])
    for row, i in zip(Search(3)(model, source, lengths, end=tools.END), range(3), strict=True):
        [h] = row
        target = torch.tensor([h.tokens + [tools.END] * h.finished])
        with torch.no_grad():
            logits = model.logits(model(source[i : i + 1, : lengths[i]], lengths[i : i + 1], target).readouts)
        right = float(logits.log_softmax(-1).gather(-1, target.unsqueeze(-1)).sum())
        assert h.log_prob == pytest.approx(right, abs=1e-11)


def test_dropout_is_off_in_search_and_training_goes_on_after_it(tools, order):
    model = tools.real_model(order, dropout=0.5).train()
    source, lengths = tools.sources([4, 6])
    one, other = (Search(2)(model, source, lengths, end=tools.END) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        same(a, b, atol=0)
    assert model.training
    one[0][0].weights.add_(1)  # an ordinary tensor
    model(source, lengths, torch.tensor([[3, 2], [4, 2]])).readouts.sum().backward()


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float64])
def test_the_default_type_changes_nothing(tools, order, kind):
    # Lightning sets it for the whole validation under precision=bf16-true and 64-true.
    model = tools.real_model(order).to(kind)
    source, lengths = tools.sources([4, 1, 7])
    expected = Search(beam_size=3)(model, source, lengths, end=tools.END)
    before = torch.get_default_dtype()
    torch.set_default_dtype(kind)
    try:
        found = Search(beam_size=3)(model, source, lengths, end=tools.END)
    finally:
        torch.set_default_dtype(before)
    for one, other in zip(expected, found, strict=True):
        assert one[0].tokens == other[0].tokens and one[0].log_prob == other[0].log_prob
        assert one[0].weights.dtype == other[0].weights.dtype == torch.float32
        assert torch.equal(one[0].weights, other[0].weights)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"beam_size": 0}, "beam_size"),
        ({"beam_size": 2, "n_best": 3}, "n_best"),
        ({"n_best": 0}, "n_best"),
        ({"min_length": 5, "max_length": 5}, "min_length"),
        ({"min_length": -1}, "min_length"),
        ({"length_penalty": -0.5}, "length_penalty"),
        ({"max_length_factor": -1.0}, "max_length_factor"),
    ],
)
def test_impossible_settings_are_refused_in_one_line(given, named):
    with pytest.raises(UserError, match=f"search.{named}") as refused:
        Search(**given)
    assert "\n" not in str(refused.value)
