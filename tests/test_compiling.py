"""The forms of the loop over decoder steps: captured, compiled, and without a wait for the device."""

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric.utilities.apply_func import move_data_to_device
from torch import Tensor

from attnlab import compiling
from attnlab.attention import Memory
from attnlab.capturing import Recorder
from attnlab.data import Batch
from attnlab.errors import UserError
from attnlab.model import DecoderState, Seq2Seq

from .attention.grid import SCORERS, WINDOWS
from .looped import batch, captured, equal, outcome
from .model.models import ORDERS, READOUTS, build, spread

LOOPS = ["input_feeding", "post_combine_feeding"]


# One bucket of multiples of 8: of other sizes, with an empty source, and the largest last and first.
BATCHES = [
    ([5, 2, 4], [3, 6, 2]),
    ([7, 0], [2, 3]),
    ([8, 8, 1, 3, 2, 1, 7, 6], [8, 1, 2, 3, 4, 5, 6, 7]),
    ([2, 1], [1, 2]),
]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("order", LOOPS)
def test_a_captured_loop_gives_the_outputs_and_gradients_of_the_loop(order: str, window: str) -> None:
    for scorer in ("additive", "general", "location") if window == "global" else ("additive",):
        model = spread(build(order=order, window=window, scorer=scorer, layers=2))
        expected = [outcome(model, *batch(*sizes)) for sizes in BATCHES]
        loop = captured(model)
        outcome(model, *batch(*BATCHES[0]))  # seen once: not captured
        for sizes, (outputs, gradients) in zip(BATCHES, expected, strict=True):
            found, slopes = outcome(model, *batch(*sizes))
            equal(found, outputs, rtol=0, atol=1e-12)
            equal(slopes, gradients, rtol=0, atol=1e-11)
        assert loop.recorder.recorded == 2 and loop.recorder.played == 2 * len(BATCHES)


def test_a_size_is_captured_when_it_comes_again_and_only_so_many() -> None:
    model = spread(build(order="post_combine_feeding"))
    loop = captured(model, multiple=4, most=2)
    sizes = [([3], [2]), ([5], [2]), ([3], [5])]
    for count in (0, 2, 2):
        for lengths, targets in sizes:
            outcome(model, *batch(lengths, targets))
        assert len(loop.graphs) == count
    model.eval()  # another thing to capture, for which there is no room
    outcome(model, *batch(*sizes[0]))
    assert len(loop.graphs) == 2


def test_without_gradients_nothing_is_captured_or_played() -> None:
    model = spread(build(order="input_feeding"))
    loop = captured(model)
    with torch.no_grad():
        for _ in range(3):
            model(*batch([3], [2]))
    assert loop.recorder.recorded == 0


def test_a_forward_pass_before_the_last_ones_backward_pass_disturbs_nothing() -> None:
    model = spread(build(order="post_combine_feeding"))
    one, two = batch([3, 2], [2, 4], seed=1), batch([4, 1], [3, 2], seed=2)
    loop = captured(model)
    outcome(model, *one)
    outcome(model, *one)
    first, second = model(*one).readouts, model(*two).readouts
    assert loop.recorder.played == 3, "the second does not play what the first waits for"
    parameters = list(model.parameters())
    both = torch.autograd.grad(first.sum() + second.sum(), parameters, allow_unused=True)
    model.decoder.forward = loop.eager
    expected = torch.autograd.grad(
        model(*one).readouts.sum() + model(*two).readouts.sum(), parameters, allow_unused=True
    )
    equal(list(both), list(expected), rtol=0, atol=1e-11)


def test_a_forward_pass_that_is_dropped_is_not_waited_for() -> None:
    model = spread(build(order="input_feeding"))
    loop = captured(model)
    for _ in range(2):
        outcome(model, *batch([3], [2]))
    played = loop.recorder.played
    model(*batch([3], [2]))  # its outcome is thrown away
    outcome(model, *batch([3], [2]))
    assert loop.recorder.played == played + 3


def test_a_backward_pass_that_comes_too_late_is_refused() -> None:
    model = spread(build(order="input_feeding"))
    captured(model)
    for _ in range(2):
        outcome(model, *batch([3], [2]))
    late = model(*batch([3], [2])).readouts.sum()
    late.backward(retain_graph=True)
    outcome(model, *batch([3], [3]))
    with pytest.raises(RuntimeError, match="after the next batch"):
        late.backward()


def test_gradients_of_two_batches_add_up() -> None:
    model = spread(build(order="post_combine_feeding"))
    one, two = batch([3, 2], [2, 4], seed=1), batch([4, 1], [3, 2], seed=2)

    def accumulated() -> list[Any]:
        model.zero_grad()
        for sizes in (one, two):
            model(*sizes).readouts.square().sum().backward()
        return [None if p.grad is None else p.grad.clone() for p in model.parameters()]

    expected = accumulated()
    captured(model)
    for _ in range(2):
        outcome(model, *one)
    equal(accumulated(), expected, rtol=0, atol=1e-11)


def test_what_an_overflow_left_in_the_buffers_does_not_reach_the_next_batch() -> None:
    model = spread(build(order="post_combine_feeding", scorer="general"))
    expected = outcome(model, *batch([2], [2]))
    captured(model)
    for _ in range(2):
        outcome(model, *batch([6], [5]))
    with torch.no_grad():
        kept = model.source_embedding.weight.clone()
        model.source_embedding.weight.fill_(torch.nan)
    assert outcome(model, *batch([6], [5]))[0][0].isnan().all()
    with torch.no_grad():
        model.source_embedding.weight.copy_(kept)
    found = outcome(model, *batch([2], [2]))
    equal(found[0], expected[0], rtol=0, atol=1e-12)
    equal(found[1], expected[1], rtol=0, atol=1e-11)


def test_a_model_that_was_moved_is_captured_anew() -> None:
    model = spread(build(order="input_feeding"))
    loop = captured(model)
    for _ in range(2):
        outcome(model, *batch([3], [2]))
    assert len(loop.graphs) == 1
    model.float().double()
    found = outcome(model, *batch([3], [2]))
    assert not loop.graphs
    equal(found[1], outcome(model, *batch([3], [2]))[1], rtol=0, atol=1e-11)


def test_autocast_is_taken_into_the_capture_and_its_cache_is_not() -> None:
    model = build(order="post_combine_feeding")
    sizes = batch([5, 2], [3, 4])

    def trained() -> tuple[list[Any], list[Any]]:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return outcome(model, *sizes)

    expected = trained()
    loop = captured(model)
    trained()
    for _ in range(2):
        found = trained()
        equal(found[0], expected[0])
        equal(found[1], expected[1])
    assert loop.recorder.recorded == 2
    outcome(model, *sizes)
    outcome(model, *sizes)
    assert len(loop.graphs) == 2, "without autocast it is another loop"


def test_all_sizes_leave_the_parameters_gradients_in_one_place() -> None:
    model = spread(build(order="post_combine_feeding"))
    loop = captured(model, multiple=2)
    for lengths in ([2], [4]):
        for _ in range(2):
            outcome(model, *batch(lengths, [3]))
    assert len(loop.graphs) == 2
    one, two = ([slope.data_ptr() for slope in graph._slopes] for graph in loop.graphs.values())
    assert one == two and len(one) == len(list(model.decoder.parameters()))


def test_graphs_share_their_memory_and_leave_other_threads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    class Graph:
        def replay(self) -> None:
            asked.append({"replayed": self})

    def capture(graph: Graph, **options: Any) -> AbstractContextManager[None]:
        inspect.signature(real).bind(graph, **options)
        asked.append(options)
        return nullcontext()

    real = torch.cuda.graph
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", capture)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 7))
    recorder = Recorder()
    for number in (1.0, 2.0):
        play, found = recorder.record(lambda number=number: (torch.tensor(number),))
        assert found == (torch.tensor(number),)
        play()
    assert [one for one in asked if "pool" in one] == [
        {"pool": (0, 7), "capture_error_mode": "thread_local"}
    ] * 2
    assert sum("replayed" in one for one in asked) == 2


def test_dropout_draws_the_same_whether_a_loop_is_captured_or_not() -> None:
    model = spread(build(order="post_combine_feeding", layers=2, dropout=0.3))
    sizes = batch([5, 2], [3, 4])

    def drawn() -> list[Any]:
        torch.manual_seed(7)
        for _ in range(3):
            outcome(model, *sizes)
        return [torch.rand(3)]

    expected = drawn()
    captured(model, multiple=1)
    equal(drawn(), expected, rtol=0, atol=0)


# --- compiled ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled(repository: Path) -> dict[str, Any]:
    """What `compiled_steps` found, in a process of its own: here shapes are checked, and that cannot be traced."""
    command = [sys.executable, "-m", "tests.compiled_steps"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", ["readout fed, additive", "context fed, GRU", "inductor, captured"])
def test_a_compiled_step_gives_the_outputs_and_gradients_of_the_step(
    case: str, compiled: dict[str, Any]
) -> None:
    found = compiled[case]
    if "skipped" in found:
        pytest.skip(found["skipped"])
    assert found["graphs"] > 0
    assert found["outputs"] < 1e-11 and found["gradients"] < 1e-11


@pytest.mark.slow
def test_a_step_is_compiled_once_for_all_sizes_and_all_later_steps(compiled: dict[str, Any]) -> None:
    assert compiled["readout fed, additive"]["graphs"] <= 3  # the first step, the second, all others


@pytest.mark.slow
def test_a_local_window_s_step_is_left_as_it_is(compiled: dict[str, Any]) -> None:
    assert compiled["local window"] == {"outputs": 0, "gradients": 0, "graphs": 0}


@pytest.mark.slow
def test_search_and_validation_run_the_step_as_it_stands(compiled: dict[str, Any]) -> None:
    assert compiled["without gradients"]["graphs"] == 0


# --- what is refused ---------------------------------------------------------------------------------------


def test_an_order_without_a_loop_is_left_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    model = build(order="post_combine")
    with caplog.at_level("INFO", logger="attnlab"):
        assert compiling.apply(model.decoder, "cuda_graph") is None
    assert "forward" not in vars(model.decoder) and "no loop over steps" in caplog.text


def test_the_default_form_changes_nothing() -> None:
    model = build(order="input_feeding")
    before = dict(vars(model.decoder))
    assert compiling.apply(model.decoder, "none") is None
    assert vars(model.decoder) == before


def test_a_form_keeps_the_names_of_the_parameters() -> None:
    model = build(order="input_feeding")
    names = list(model.state_dict())
    compiling.apply(model.decoder, "compile_cuda_graph", backend="eager")
    assert list(model.state_dict()) == names


@pytest.mark.parametrize(
    ("name", "device", "world", "words"),
    [
        ("fast", "cpu", 1, "trainer.compile=fast: must be one of none, compile"),
        ("cuda_graph", "cpu", 1, "the run is on cpu: use trainer.compile=none"),
        ("compile_cuda_graph", "cuda", 2, "the run has 2: use trainer.compile=compile"),
    ],
)
def test_a_form_that_cannot_run_is_refused_in_one_line(
    name: str, device: str, world: int, words: str
) -> None:
    with pytest.raises(UserError) as raised:
        compiling.check(name, torch.device(device), world)
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_without_a_compiler_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UserError, match=r"no-such-compiler is not on the PATH: .*, or trainer.compile=none"):
        compiling.check("compile", torch.device("cpu"))
    monkeypatch.setattr(compiling, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="triton, which is not installed"):
        compiling.check("compile", torch.device("cuda"))


def test_single_precision_is_single_precision_unless_asked_for_less() -> None:
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    try:
        compiling.precision("highest")
        assert torch.get_float32_matmul_precision() == "highest" and not torch.backends.cudnn.allow_tf32
        compiling.precision("high")
        assert torch.get_float32_matmul_precision() == "high" and torch.backends.cudnn.allow_tf32
        with pytest.raises(UserError, match=r"matmul_precision=low: must be one of highest, high"):
            compiling.precision("low")
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


# --- no wait for the device --------------------------------------------------------------------------------


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> torch.device:
    """A device without values: what reads one, or a shape that depends on one, fails there as on no other.

    Autocast does not know it, and takes the CPU's settings.
    """
    known = torch.device("meta")

    def cpu(kind: str) -> str:
        return "cpu" if kind == known.type else kind

    for name in ("autocast", "is_autocast_enabled", "get_autocast_dtype"):
        real = getattr(torch, name)
        monkeypatch.setattr(
            torch, name, lambda kind, *rest, real=real, **more: real(cpu(kind), *rest, **more)
        )
    return known


def walked(model: Seq2Seq, place: torch.device, size: int = 4) -> None:
    """Memory, a whole target and its backward pass, as a GPU would go through them."""
    decoder = model.decoder.to(place)
    made = partial(torch.zeros, device=place)
    states = made(3, 6, size).requires_grad_()
    final = tuple(made(decoder.layers, 3, size) for _ in range(2))
    memory, state = decoder.prepare(states, final, made(3, dtype=torch.int64))
    assert isinstance(memory, Memory) and isinstance(state, DecoderState)
    readouts, attended = decoder(made(3, 5, 3), memory, state)
    (readouts.sum() + attended.weights.sum()).backward()
    if decoder.asks:  # a fixed vector is the final state alone
        assert states.grad is not None and states.grad.device == place


def test_lightning_moves_what_the_device_reads_and_leaves_what_the_host_reads() -> None:
    numbers = torch.arange(2)
    batch = Batch(numbers, numbers[:, None], numbers, numbers[:, None], numbers)
    moved = move_data_to_device(batch, torch.device("meta"))
    assert isinstance(moved, Batch)
    where = {name: getattr(moved, name).device.type for name in Batch._fields}
    assert where["source"] == where["target"] == "meta"
    assert where["index"] == where["source_lengths"] == "cpu"


@pytest.mark.parametrize("order", ORDERS)
def test_no_order_under_any_window_asks_for_a_value_on_the_device(order: str, nowhere: torch.device) -> None:
    for window in WINDOWS:
        walked(build(order=order, window=window, layers=2), nowhere)


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("window", ["global", "local_p"])
def test_no_scorer_asks_for_a_value_on_the_device(scorer: str, window: str, nowhere: torch.device) -> None:
    walked(build(order="post_combine_feeding", scorer=scorer, window=window), nowhere)


@pytest.mark.parametrize("readout", READOUTS)
def test_no_readout_asks_for_a_value_on_the_device(readout: str, nowhere: torch.device) -> None:
    walked(build(order="input_feeding", readout=readout), nowhere)


@pytest.mark.parametrize(
    "wait",
    [
        lambda lengths: lengths.max().item(),
        lambda lengths: lengths.cpu(),
        lambda lengths: lengths[lengths > 0],
        lambda lengths: bool((lengths > 0).all()),
    ],
    ids=["item", "cpu", "mask", "bool"],
)
def test_a_wait_would_be_seen(wait: Callable[[Tensor], Any], nowhere: torch.device) -> None:
    model = build(order="input_feeding")
    positions = model.decoder.attention.window.positions

    def waiting(query: Tensor, lengths: Tensor, steps: Tensor) -> Any:
        wait(lengths)
        return positions(query, lengths, steps)

    model.decoder.attention.window.positions = waiting
    with pytest.raises((RuntimeError, NotImplementedError), match=r"meta"):
        walked(model, nowhere)
