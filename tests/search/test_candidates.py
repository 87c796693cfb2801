"""The best continuations, against a sort of all of them."""

import inspect
from pathlib import Path

import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from attnlab.search import Search
from attnlab.search.candidates import candidates, largest

CONF = Path(__file__).parents[2] / "conf" / "search"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3000), st.integers(1, 12))
def test_the_largest_are_those_that_topk_finds(seed, size, k):
    torch.manual_seed(seed)
    x = torch.randperm(3 * size)[: 2 * size].reshape(2, 1, size).float()
    values, places = largest(x, min(k, size))
    right = x.topk(min(k, size))
    assert torch.equal(values, right.values) and torch.equal(places, right.indices)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([4, 7, 40, 2000]),
    queries=st.integers(1, 4),
    count=st.integers(1, 9),
    banned=st.sampled_from([(), (0,), (0, 1), (2, 0, 1)]),
)
def test_candidates_are_the_best_of_all_continuations(seed, size, queries, count, banned):
    torch.manual_seed(seed)
    logits, total = 5 * torch.randn(2, queries, size, dtype=torch.float64), -torch.rand(2, queries).double()
    total[0, -1] = -torch.inf
    scores = total.unsqueeze(-1) + logits.log_softmax(-1)
    scores[..., list(banned)] = -torch.inf
    score, slot, token = candidates(logits.clone(), total, count, banned)

    assert score.shape == slot.shape == token.shape == (2, count)
    for b in range(2):
        every = sorted(scores[b].flatten().tolist(), reverse=True)[:count]
        every += [-torch.inf] * (count - len(every))
        assert score[b].tolist() == pytest.approx(every)
        real = score[b] > -torch.inf
        torch.testing.assert_close(scores[b, slot[b, real], token[b, real]], score[b, real])
        pairs = list(zip(slot[b, real].tolist(), token[b, real].tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize("turned", [False, True], ids=["rows", "turned"])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("shift", [0, 1000, -1000])
@pytest.mark.parametrize("size", [9, 2003])
def test_any_type_layout_and_size_of_the_logits_gives_the_same(size, shift, kind, turned):
    torch.manual_seed(size + shift)
    logits, total = (5 * torch.randn(3, 4, size) + shift).to(kind), -torch.rand(3, 4)
    wide = logits.double()
    scores = total.double().unsqueeze(-1) + wide - wide.logsumexp(-1, keepdim=True)
    scores[..., [0, 1]] = -torch.inf
    given = logits.flatten(0, 1).T.contiguous().T.unflatten(0, (3, 4)) if turned else logits
    score, slot, token = candidates(given, total, 7, [0, 1])
    right = scores.flatten(1).topk(7).values
    assert score.dtype == torch.promote_types(kind, torch.float32)
    torch.testing.assert_close(score.double(), right, atol=1e-3 if shift else 1e-5, rtol=0)
    picked = scores[torch.arange(3).unsqueeze(-1), slot, token]
    torch.testing.assert_close(picked, right, atol=1e-3 if shift else 1e-5, rtol=0)


class Passes(TorchDispatchMode):
    """Counts the elements that operations read, and those of the largest result."""

    def __init__(self):
        super().__init__()
        self.read, self.largest = 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if not func.is_view:
            indexed = func.overloadpacket in (torch.ops.aten.index, torch.ops.aten.gather)
            self.read += 0 if indexed else sum(a.numel() for a in args if isinstance(a, torch.Tensor))
            self.largest = max(self.largest, out.numel() if isinstance(out, torch.Tensor) else 0)
        return out


def test_the_logits_are_read_twice_and_never_copied(monkeypatch):
    monkeypatch.setattr("attnlab.search.candidates.CHUNK", 4000)
    logits, total = torch.randn(8, 5, 4000), torch.zeros(8, 5)
    with Passes() as passes:
        candidates(logits, total, 10, [0, 1, 2])
    # the exponentials, made and summed part by part, and the maxima of the groups with what is made of them
    assert passes.read < 3.5 * logits.numel()
    assert passes.largest < logits.numel() / 10


def test_the_beam_file_lists_every_option_with_the_defaults_of_the_constructor():
    listed = yaml.safe_load((CONF / "beam.yaml").read_text())["search"]
    assert listed.pop("_target_") == "attnlab.search.Search"
    assert listed == {name: p.default for name, p in inspect.signature(Search).parameters.items()}


def test_the_greedy_file_is_the_beam_file_with_one_hypothesis():
    file = yaml.safe_load((CONF / "greedy.yaml").read_text())
    assert file["defaults"] == ["beam", "_self_"]
    assert file["search"] == {"beam_size": 1}
