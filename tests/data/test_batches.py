import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.batches import BatchSampler, Collate, cut, level
from attnlab.data.encoded import Encoded


def sampler(lengths, *, tokens=None, sentences=None, **options):
    lengths = np.asarray(lengths)
    return BatchSampler(lengths, lengths, tokens=tokens, sentences=sentences, **options)


def ranks_of(lengths, count, **options):
    return [sampler(lengths, ranks=count, rank=rank, **options) for rank in range(count)]


def mixed(count, seed=0):
    return np.random.default_rng(seed).integers(1, 61, count)


def test_no_batch_exceeds_the_budget_with_its_padding():
    """Pitfall H17: 1000 tokens over mixed lengths."""
    source, target = mixed(500, 1), mixed(500, 2)
    found = BatchSampler(source, target, tokens=1000, sentences=None, seed=1)
    for batch in found:
        assert len(batch) * max(source[batch].max(), target[batch].max()) <= 1000
    assert sorted(i for batch in found for i in batch) == list(range(500))


def test_a_pair_beyond_the_budget_is_a_batch_of_its_own_and_counted():
    found = sampler([5, 2000, 5, 7], tokens=1000, seed=1)
    assert [1] in list(found)
    assert found.oversized == 1
    assert sorted(i for batch in found for i in batch) == [0, 1, 2, 3]


def test_both_limits_hold_together():
    lengths = mixed(300)
    for batch in sampler(lengths, tokens=400, sentences=8, seed=1):
        assert len(batch) <= 8 and len(batch) * lengths[batch].max() <= 400


def test_batches_hold_pairs_of_like_length():
    """Padding: below 5 % where a random batch of these lengths would waste about half."""
    lengths = mixed(2000)
    found = list(sampler(lengths, sentences=32, seed=1))
    padded = sum(len(batch) * lengths[batch].max() for batch in found)
    assert padded < 1.05 * lengths.sum()


def test_each_epoch_has_its_own_order_and_the_same_number_of_batches():
    found = sampler(mixed(400), tokens=500, seed=1)
    plans = [found.plan(epoch) for epoch in range(3)]
    assert plans[0] != plans[1] != plans[2]
    assert {len(plan) for plan in plans} == {len(found)}
    assert {frozenset(map(frozenset, plan)) for plan in plans}.__len__() == 3  # other neighbours too
    assert [found.plan(epoch) for epoch in range(3)] == plans
    assert sampler(mixed(400), tokens=500, seed=2).plan(0) != plans[0]


def test_the_epoch_is_the_one_that_was_set():
    found = sampler(mixed(100), tokens=500, seed=1)
    found.sampler.set_epoch(4)  # the way Lightning does it
    assert list(found) == found.plan(4)


def test_a_resumed_epoch_goes_on_where_it_was():
    found = sampler(mixed(100), tokens=500, seed=1)
    found.skip = 3
    assert list(found) == found.plan(0)[3:]
    assert list(found) == found.plan(0)


@given(st.integers(0, 40), st.integers(1, 5), st.integers(1, 9), st.booleans())
def test_ranks_share_each_pair_out_once_and_take_as_many_steps(count, ranks, sentences, training):
    """Pitfalls B14, B15, C2, over many sizes."""
    lengths = mixed(count)
    found = ranks_of(lengths, ranks, sentences=sentences, seed=1 if training else None)
    batches = [list(each) for each in found]
    seen = sorted(i for each in batches for batch in each for i in batch)
    assert [len(each) for each in batches] == [len(each) for each in found]
    assert len(set(seen)) == len(seen), "a pair came twice"
    if training:
        assert len({len(each) for each in batches}) == 1, "ranks take different numbers of steps"
        assert len(seen) + found[0].dropped == count
        assert found[0].dropped < ranks
        assert (
            found[0].dropped == 0 or count < ranks or sentences == 1 or len(seen) == len(batches[0]) * ranks
        )
    else:
        assert seen == list(range(count))
        if count >= ranks:
            assert min(map(len, batches)) >= 1, "a rank without a batch would skip the collectives"


def test_seven_batches_on_two_ranks_become_eight():
    """Pitfall B15."""
    found = ranks_of([10] * 28, 2, sentences=4, seed=1)
    assert [len(each) for each in found] == [4, 4]
    assert found[0].dropped == 0
    assert sorted(i for each in found for batch in each for i in batch) == list(range(28))


def test_single_pairs_that_cannot_be_halved_are_left_out_and_counted():
    found = ranks_of([10] * 7, 2, sentences=1, seed=1)
    assert [len(each) for each in found] == [3, 3]
    assert found[0].dropped == 1


def test_the_ranks_of_a_step_hold_like_lengths():
    lengths = mixed(1000)
    first, second = ranks_of(lengths, 2, tokens=500, seed=1)
    for a, b in zip(first, second, strict=True):
        assert abs(lengths[a].max() - lengths[b].max()) <= 10


def test_all_ranks_hold_one_plan():
    """Pitfall B16."""
    found = ranks_of(mixed(200), 3, tokens=300, seed=5)
    assert found[0].plan(2) == found[1].plan(2) == found[2].plan(2)


def test_evaluation_goes_from_long_to_short_in_the_same_order_always():
    lengths = mixed(50)
    found = sampler(lengths, sentences=8)
    longest = [lengths[batch].max() for batch in found]
    assert longest == sorted(longest, reverse=True)
    found.set_epoch(3)
    assert list(found) == list(sampler(lengths, sentences=8))


def test_cut_and_level_by_hand():
    batches = cut(np.array([2, 2, 3, 5, 9]), tokens=9, sentences=None)
    assert [batch.tolist() for batch in batches] == [[0, 1, 2], [3], [4]]
    assert [batch.tolist() for batch in level(batches, 2)] == [[0], [1, 2], [3], [4]]
    assert cut(np.array([], dtype=int), 9, None) == []


def test_collate_pads_each_side_with_its_own_mark():
    ids = lambda *values: np.array(values, dtype=np.int32)  # noqa: E731
    batch = Collate(7, 9)([(4, ids(1, 2, 3), ids(5)), (0, ids(), ids(6, 5))])
    assert batch.index.tolist() == [4, 0]
    assert batch.source.tolist() == [[1, 2, 3], [7, 7, 7]]
    assert batch.source_lengths.tolist() == [3, 0]
    assert batch.target.tolist() == [[5, 9], [6, 5]]
    assert batch.target_lengths.tolist() == [1, 2]
    assert {str(part.dtype) for part in batch} == {"torch.int64"}


def test_a_loader_asks_for_a_batch_at_once_and_gets_what_one_pair_after_another_gives():
    sides = {"source": [[4, 5, 6], [], [7], [8, 9]], "target": [[3], [4, 3], [5, 6, 3], [3]]}
    arrays = {"rows": np.array([0, 2, 3, 9])}
    for side, rows in sides.items():
        arrays[side] = np.array([i for row in rows for i in row], dtype=np.int32)
        arrays[f"{side}_ends"] = np.cumsum([0, *map(len, rows)])
    pairs = Encoded(arrays, {})
    for places in ([2, 0, 1], [3], [1], [1, 1, 3], [0, 1, 2, 3]):
        slow, fast = Collate(7, 9)([pairs[k] for k in places]), Collate(7, 9)(pairs.__getitems__(places))
        for one, other in zip(slow, fast, strict=True):
            assert one.dtype == other.dtype
            assert one.tolist() == other.tolist()
        for row, k in enumerate(places):
            source, target = sides["source"][k], sides["target"][k]
            assert fast.source[row].tolist() == source + [7] * (fast.source.shape[1] - len(source))
            assert fast.target[row].tolist() == target + [9] * (fast.target.shape[1] - len(target))


def test_a_batch_of_blank_sources_has_a_column():
    empty = np.array([], dtype=np.int32)
    batch = Collate(0, 0)([(0, empty, np.array([3], dtype=np.int32))])
    assert batch.source.shape == (1, 1)


@pytest.mark.parametrize("limit", [{"tokens": 100}, {"sentences": 3}])
def test_no_pairs_give_no_batches(limit):
    assert list(sampler([], seed=1, **limit)) == []


def test_rows_and_lengths_stay_on_the_host_which_reads_them():
    batch = Collate(0, 0)([(0, np.array([4]), np.array([4, 3])), (1, np.array([4, 5]), np.array([3]))])
    moved = batch.to("meta")
    assert {name: part.device.type for name, part in moved._asdict().items()} == {
        "index": "cpu",
        "source": "meta",
        "source_lengths": "cpu",
        "target": "meta",
        "target_lengths": "cpu",
    }
