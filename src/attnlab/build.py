"""From plain settings to objects: the one module that calls `hydra.utils.instantiate`.

What the chosen options declare as without effect (`about.unused`) is dropped before anything is made, so a
constructor sees the options it has, and a model without attention is handed no scorer and no window.
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate

from attnlab.errors import UserError

if TYPE_CHECKING:
    import pytorch_lightning as pl

    from attnlab.data import Corpus, TranslationData
    from attnlab.loggers import Facts
    from attnlab.metrics import Metrics
    from attnlab.model import Seq2Seq
    from attnlab.optim import Recipe
    from attnlab.search import Search
    from attnlab.training import TranslationModule

Config = Mapping[str, Any]
OURS = frozenset({"threads", "compile", "matmul_precision"})
"""Options of `trainer` that are not Lightning's."""


def used(config: Config) -> dict[str, Any]:
    """A copy without the paths under `about.unused`."""
    kept = copy.deepcopy(dict(config))
    about = kept.get("about") or {}
    for paths in (about.get("unused") or {}).values():
        for path in paths:
            *above, name = path.split(".")
            node: Any = kept
            for key in above:
                node = node.get(key) or {}
            node.pop(name, None)
    return kept


def _make(node: Config, where: str, /, **given: Any) -> Any:
    """`instantiate`, with a fault of ours told as ours and not wrapped into Hydra's."""
    try:
        return instantiate(dict(node), _convert_="all", **given)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, UserError):
            raise cause from None
        if isinstance(cause, ValueError | TypeError):
            line = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
            raise UserError(f"{where}: {line}; see the option's file for what it takes") from error
        raise


def rehearse(config: Config, made: set[str] | None = None) -> None:
    """Makes every part once, with tiny vocabularies, and throws it away: no text is read, no folder made.

    What a constructor refuses is refused here before a run has left anything behind.

    Args:
        config: the settings of a cell.
        made: parts that need not be made again, of cells rehearsed before; this cell's are added.

    Raises:
        UserError: an option that a part does not take.
    """
    import pytorch_lightning  # sets its logger's level when it is imported: not after us

    from attnlab import threads
    from attnlab.loggers import Facts

    threads.set_up()  # the parts' first numbers start torch's threads

    small = SimpleNamespace(size=8, pad=0, start=1)
    sized = SimpleNamespace(source_tokenizer=small, target_tokenizer=small)
    facts = Facts(cell={}, cell_id="rehearsal", seed=0)
    lightning = logging.getLogger(pytorch_lightning.__name__)
    level = lightning.level
    lightning.setLevel(logging.ERROR)
    with warnings.catch_warnings(), TemporaryDirectory() as nowhere:
        warnings.simplefilter("ignore")  # the run itself says them
        parts: dict[tuple[str, ...], Callable[[], object]] = {
            ("metrics",): lambda: build_metrics(config),
            ("search",): lambda: build_search(config),
            ("data", "tokenizer", "about"): lambda: build_data(config),
            ("model", "encoder", "scorer", "window", "decoder", "about"): lambda: _sketch(config, sized),
            ("optim",): lambda: build_recipe(config),
            ("callbacks",): lambda: _validated(config),
            ("trainer", "callbacks", "optim"): lambda: build_trainer(config, Path(), []),
            ("logger",): lambda: build_loggers(config, Path(nowhere), facts),
        }
        try:
            for names, make in parts.items():
                said = repr([(name, config.get(name)) for name in names])
                if made is None or said not in made:
                    make()
                if made is not None:
                    made.add(said)
        finally:
            lightning.setLevel(level)


def _sketch(config: Config, data: Any) -> None:
    """Makes the model without its values where its parts allow that: large ones take a second to draw."""
    import torch

    try:
        with torch.device("meta"):
            build_model(config, data)
    except (RuntimeError, NotImplementedError):  # a part reads values while it is made
        build_model(config, data)


def build_corpus(config: Config) -> Corpus:
    """The text of a run, not yet read; needs no torch."""
    corpus: Corpus = _make(used(config)["data"], "data")
    return corpus


def build_data(config: Config, tokenizers: Path | None = None) -> TranslationData:
    """The data module of a run, not yet set up.

    Args:
        config: the run's settings.
        tokenizers: the `tokenizer/` of a finished run, whose tokenisers are used instead of learning any.
    """
    from attnlab.data import TranslationData

    config = used(config)
    corpus, recipe = _make(config["data"], "data"), _make(config["tokenizer"], "tokenizer")
    return TranslationData(corpus, recipe, seed_order=int(config["seed_order"]), tokenizers=tokenizers)


def build_model(config: Config, data: Any) -> Seq2Seq:
    """The network with its first parameters.

    Args:
        config: the run's settings.
        data: anything with `source_tokenizer` and `target_tokenizer`.
    """
    config = used(config)
    settings = {key: value for key, value in config["model"].items() if key != "readout"}
    parts = {
        name: None if config.get(name) is None else _make(config[name], name)
        for name in ("encoder", "scorer", "window", "decoder")
    }
    readout = _make(config["model"]["readout"], "model.readout")
    source, target = data.source_tokenizer, data.target_tokenizer
    model = _make({**settings, "_partial_": True}, "model")
    try:
        made: Seq2Seq = model(
            source.size,
            target.size,
            readout=readout,
            source_pad=source.pad,
            target_pad=target.pad,
            start=target.start,
            **parts,
        )
    except (ValueError, AssertionError) as error:
        told = str(error) or "an assertion of one of its parts failed; give other sizes"
        raise UserError(told.splitlines()[0]) from error
    except TypeError as error:  # a class of the user's own under an option of ours (docs/own_parts.md)
        line = str(error).splitlines()[0]
        if "__init__() " not in line:
            raise
        remedy = "leave an option out with ~GROUP.KEY, add one with +GROUP.KEY=VALUE"
        raise UserError(f"{line}; {remedy}") from error
    return made


def build_search(config: Config, **changes: Any) -> Search:
    """The search of the test sets; `changes` override its settings."""
    search: Search = _make({**config["search"], **changes}, "search")
    return search


def build_metrics(config: Config) -> Metrics:
    """The text metrics, for validation and test alike."""
    metrics: Metrics = _make(config["metrics"], "metrics")
    return metrics


def build_module(config: Config, model: Seq2Seq, data: Any, metrics: Metrics) -> TranslationModule:
    """The training module, with `val/bleu` as `callbacks` asks for it.

    Raises:
        UserError: the monitor is `val/bleu`, but no sentence is decoded.
    """
    from attnlab.training import TranslationModule, Validation

    options = config["callbacks"]
    sentences = _validated(config)
    validation = None
    if sentences != 0:
        beam = options["validation_beam_size"]
        search = build_search(config, beam_size=beam, n_best=1)

        def bleu(hypotheses: list[str], references: list[str]) -> float:
            return float(metrics.corpus_bleu(hypotheses, references)["score"])

        rows = data.rows(data.corpus.val)
        sources = rows["source"][:] if data.corpus.show_samples else None
        validation = Validation(
            search, data.target_tokenizer, rows["target"][:], bleu, sentences, sources=sources
        )
    return TranslationModule(model, build_recipe(config), validation, config)


def build_recipe(config: Config) -> Recipe:
    """Optimiser, schedule and label smoothing."""
    recipe: Recipe = _make(config["optim"], "optim")
    return recipe


def _validated(config: Config) -> int | None:
    """How many sentences `val/bleu` is over; None is all of them."""
    options = config["callbacks"]
    sentences: int | None = options["validation_sentences"]
    if sentences == 0 and options["monitor"] == "val/bleu":
        raise UserError(
            "callbacks.monitor=val/bleu with callbacks.validation_sentences=0: decode some, "
            "or monitor val/loss"
        )
    return sentences


def build_loggers(config: Config, folder: Path, facts: Facts) -> list[Any]:
    """`metrics.jsonl`, and the loggers chosen under `logger`.

    Raises:
        UserError: a logger does not take an option.
    """
    from attnlab.loggers import MetricsFile

    chosen = []
    for name, node in (config.get("logger") or {}).items():
        make = _make(node, f"logger.{name}")
        try:
            chosen.append(make(folder=folder, facts=facts))
        except (TypeError, ValueError) as error:
            raise UserError(f"logger.{name}: {str(error).splitlines()[0]}") from error
    return [MetricsFile(folder / "metrics.jsonl", fresh=False), *chosen]


def build_trainer(
    config: Config, folder: Path, loggers: Sequence[Any], more: Sequence[Any] = ()
) -> pl.Trainer:
    """Lightning's Trainer with the standard callbacks and `more`.

    Raises:
        UserError: Lightning refuses a setting.
    """
    from pytorch_lightning.utilities.exceptions import MisconfigurationException

    from attnlab import compiling
    from attnlab.callbacks import Bar, standard

    settings = {key: value for key, value in config["trainer"].items() if key not in OURS}
    compiling.form(config["trainer"].get("compile", "none"))
    compiling.check_precision(config["trainer"].get("matmul_precision", "highest"))
    options = config["callbacks"]
    names = ("monitor", "mode", "patience", "min_delta", "save_every")
    progress = bool(settings.get("enable_progress_bar", True))
    callbacks = standard(folder, progress=progress, **{name: options[name] for name in names})
    settings["enable_progress_bar"] = any(isinstance(callback, Bar) for callback in callbacks)
    make: Callable[..., pl.Trainer] = _make({**settings, "_partial_": True}, "trainer")
    try:
        return make(
            default_root_dir=folder,
            logger=list(loggers),
            callbacks=[*callbacks, *more],
        )
    except (MisconfigurationException, ValueError, TypeError) as error:
        raise UserError(f"trainer: {str(error).splitlines()[0]}") from error
