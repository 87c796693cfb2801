"""The clock inside a profiled run: loaded by `sitecustomize` before anything else (see whole_run.py).

Every function in `WATCHED` is wrapped as soon as its module has been imported, and each real import is timed.
Time belongs to the innermost stage that is open, so the stages add up to the life of the process.
"""

import atexit
import functools
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

IMPORTS = "start: imports"
WATCHED = {
    "hydra._internal.utils": {"_run_hydra": "start: composition"},
    "attnlab.sweep.gate": {"BeforeRun.on_run_start": "start: checks"},
    "attnlab.build": {
        "rehearse": "start: rehearsal of the parts",
        "build_data": "build: data module, metrics, search",
        "build_metrics": "build: data module, metrics, search",
        "build_search": "build: data module, metrics, search",
        "build_model": "build: model",
        "build_module": "build: training module",
        "build_trainer": "build: trainer and loggers",
        "build_loggers": "build: trainer and loggers",
    },
    "attnlab.run": {
        "run_cell": "rest of the run",
        "_take_up": "rest of the run",
        "_restore": "test: best weights",
    },
    "attnlab.data.corpus": {"Corpus.split": "data: read", "Corpus.fingerprint": "data: read"},
    "attnlab.data.recipes": {
        f"{kind}.train": "data: learn tokenisers" for kind in ("Words", "BPE", "Unigram")
    },
    "attnlab.data.encoded": {"encode": "data: encode", "overlap": "data: overlap"},
    "attnlab.data.datamodule": {
        "TranslationData.describe": "data: rest",
        "TranslationData.setup": "data: rest",
        "TranslationData.train_dataloader": "data: rest",
    },
    "pytorch_lightning.trainer.trainer": {"Trainer.fit": "training: loop"},
    "pytorch_lightning.trainer.call": {"_call_callback_hooks": "{}: callbacks"},
    "pytorch_lightning.loops.fetchers": {
        "_PrefetchDataFetcher.__next__": "{}: wait for the loader",
        "_DataFetcher.__iter__": "{}: wait for the loader",
    },
    "pytorch_lightning.strategies.strategy": {
        "Strategy.backward": "training: backward",
        "Strategy.batch_to_device": "{}: wait for the loader",
    },
    "pytorch_lightning.loops.evaluation_loop": {"_EvaluationLoop.run": "validation: loop"},
    "attnlab.training": {
        "TranslationModule.training_step": "training: forward",
        "TranslationModule.configure_gradient_clipping": "training: clipping",
        "TranslationModule.optimizer_zero_grad": "training: optimiser",
        "TranslationModule.flush": "{}: logging",
        "TranslationModule._emit": "{}: logging",
        "TranslationModule.validation_step": "validation: loss",
    },
    "attnlab.validation": {"Validation.add": "validation: search", "Validation.finish": "validation: BLEU"},
    "attnlab.checkpoints": {"Checkpoints._save": "checkpoints"},
    "attnlab.evaluation": {"evaluate_set": "test: scoring", "write": "test: files"},
    "attnlab.decoding": {"decode": "test: decoding, rest"},
    "attnlab.search.beam": {"Search.__call__": "{}: search"},
    "attnlab.search.forced": {"forced": "test: references by force"},
    "attnlab.results": {"build": "record", "write": "record"},
}
"""Of each module the functions and their stages; `{}` is the phase: training, validation or test."""

QUIET = "start: rehearsal of the parts"
"""Inside it only imports are told apart."""


class Clock:
    """Seconds and calls of each stage."""

    def __init__(self, began: float) -> None:
        self.began, self.since = began, began
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self.memory: dict[str, int] = {}
        self.stack = ["start: command and interpreter"]
        self.marks: dict[str, float] = {}
        self.main = threading.get_ident()

    def phase(self) -> str:
        """What the innermost stage belongs to."""
        groups = [name.partition(":")[0] for name in self.stack]
        return next((g for g in reversed(groups) if g in ("training", "validation", "test")), "training")

    def ours(self) -> bool:
        """Whether this is the thread that the clock belongs to."""
        return threading.get_ident() == self.main and QUIET not in self.stack

    def _add(self) -> None:
        now = time.perf_counter()
        name = self.stack[-1]
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.since
        self.since = now

    def enter(self, name: str) -> None:
        self._add()
        self.stack.append(name)
        self.calls[name] = self.calls.get(name, 0) + 1

    def leave(self) -> None:
        self._add()
        group = self.stack.pop().partition(":")[0]
        if group not in (name.partition(":")[0] for name in self.stack):
            self.memory[group] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def mark(self, name: str) -> None:
        """The first time that something happens."""
        self.marks.setdefault(name, time.perf_counter() - self.began)

    def timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """The function as a stage."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if not self.ours():
                return function(*args, **kwargs)
            self.enter(stage.format(self.phase()))
            try:
                return function(*args, **kwargs)
            finally:
                self.leave()

        return wrapped

    def write(self, path: Path) -> None:
        self._add()
        told = {key: getattr(self, key) for key in ("seconds", "calls", "memory", "marks")}
        told["ended"] = time.perf_counter()
        path.write_text(json.dumps(told), encoding="utf-8")


def watch(clock: Clock, module: Any, functions: dict[str, str]) -> None:
    """Wraps functions and methods of a module that has just been imported."""
    for path, stage in functions.items():
        *owners, name = path.split(".")
        owner = module
        for part in owners:
            owner = getattr(owner, part)
        setattr(owner, name, clock.timed(getattr(owner, name), stage))


def optimiser(clock: Clock, module: Any) -> None:
    """The optimiser's own time: its step without the closure, which is a forward and a backward pass."""
    cls = module.TranslationModule
    make = cls.configure_optimizers

    def configure(self: Any) -> Any:
        made = make(self)
        step = clock.timed(made.step, "training: optimiser")

        def marked(*args: Any, **kwargs: Any) -> Any:
            clock.mark("first step begins")
            result = step(*args, **kwargs)
            clock.mark("first step is done")
            return result

        # torch's schedulers look for this attribute on a bound method
        made.step = functools.wraps(made.step)(marked)
        return made

    cls.configure_optimizers = configure


def install() -> None:
    """Starts the clock and watches the imports."""
    began, folder = float(os.environ["ATTNLAB_PROFILE_BEGAN"]), Path(os.environ["ATTNLAB_PROFILE_FOLDER"])
    clock = Clock(began)
    bootstrap: Any = sys.modules["_frozen_importlib"]
    load = bootstrap._find_and_load

    def find_and_load(name: str, import_: Any) -> Any:
        if threading.get_ident() != clock.main:
            return load(name, import_)
        outer = clock.stack[-1] != IMPORTS
        if outer:
            clock.enter(IMPORTS)
        try:
            module = load(name, import_)
        finally:
            if outer:
                clock.leave()
        functions = WATCHED.get(name)
        if functions is not None and not hasattr(module, "_profiled"):
            module._profiled = True
            watch(clock, module, functions)
            if name == "attnlab.training":
                optimiser(clock, module)
        return module

    bootstrap._find_and_load = find_and_load
    atexit.register(lambda: clock.write(folder / f"{os.getpid()}.json"))
