"""A finished run, ready to translate, align and attend: `attnlab.load(folder)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from pickle import UnpicklingError
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import torch
from omegaconf.errors import OmegaConfBaseException
from torch import Tensor
from yaml import YAMLError

from attnlab import build, metrics
from attnlab.data.batches import Collate, cut
from attnlab.data.tokenizer import Tokenizer
from attnlab.errors import UserError
from attnlab.search import Hypothesis, forced
from attnlab.text import detokenised

PARTS = ("data", "encoder", "decoder", "model", "search", "metrics")
"""What the settings of a run have at least."""


def read_config(folder: Path) -> dict[str, Any]:
    """The settings of a run.

    Raises:
        UserError: the folder holds no run, or its settings cannot be read.
    """
    from omegaconf import OmegaConf

    path = folder / "config.yaml"
    if not path.is_file():
        raise UserError(
            f"{folder}: no run is here (config.yaml is missing); give the folder that ends in seed<k>"
        )
    try:
        config = OmegaConf.to_container(OmegaConf.load(path), resolve=True)
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:
        raise UserError(f"{path}: cannot be read ({_line(error)}); train the run again") from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: these are no settings of a run; train the run again")
    return cast("dict[str, Any]", config)


def _line(error: Exception) -> str:
    """An error of a library in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def load(folder: Path | str, device: str | None = None) -> Loaded:
    """The best checkpoint of a run with its tokenisers and search.

    Args:
        folder: the run folder, `.../seed<k>`.
        device: such as `cpu` or `cuda:1`; by default the first GPU, or the CPU.

    Raises:
        UserError: the folder holds no run, none with a checkpoint that can be read, or no such device.
    """
    folder = Path(folder)
    config = read_config(folder)
    path = folder / "checkpoints" / "best.ckpt"
    if not path.is_file():
        raise UserError(f"{path} is missing: the run was never validated; train it again with rerun=true")
    lacking = [part for part in PARTS if part not in config]
    if lacking:
        raise UserError(f"{folder}/config.yaml: no settings of a run, for {', '.join(lacking)} is missing")
    source, target = (Tokenizer.load(folder / "tokenizer" / f"{side}.json") for side in ("source", "target"))
    model = build.build_model(config, SimpleNamespace(source_tokenizer=source, target_tokenizer=target))
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        state, step = checkpoint["state_dict"], int(checkpoint["global_step"])
        prefix = "model."
        model.load_state_dict(
            {key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)}
        )
    except (OSError, EOFError, RuntimeError, ValueError, KeyError, TypeError, UnpicklingError) as error:
        raise UserError(
            f"{path}: no checkpoint of this run can be read from it ({_line(error)}); "
            "copy it again, or train the run again with rerun=true"
        ) from error
    try:
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        model.to(place)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        raise UserError(f"--device {device}: {_line(error)}; give cpu, or a device that is here") from error
    return Loaded(model.eval(), source, target, config, folder, place, step)


class Loaded:
    """A trained model with what turns text into ids and back.

    Attributes:
        model: the `Seq2Seq`, in evaluation mode.
        source_tokenizer, target_tokenizer: the run's.
        config: its settings.
        folder: where it lies.
        step: updates behind the checkpoint.
    """

    def __init__(
        self,
        model: Any,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        config: dict[str, Any],
        folder: Path,
        device: torch.device,
        step: int,
    ):
        self.model, self.config, self.folder, self.device = model, config, folder, device
        self.step = step
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer

    def translate(self, lines: Sequence[str], **search: Any) -> list[str]:
        """One line of text for each source line; a blank one gives an empty one.

        Args:
            lines: source sentences, one a string, without line ends.
            search: settings that replace the run's own, such as `beam_size=1`.
        """
        return [best[0][0] for best in self.n_best(lines, **{**search, "n_best": 1})]

    def n_best(self, lines: Sequence[str], **search: Any) -> list[list[tuple[str, float]]]:
        """For each source line its `n_best` translations with their scores, best first."""
        searching = build.build_search(self.config, **search)
        ids = self._source(lines)
        found: list[list[tuple[str, float]]] = [[] for _ in lines]
        for rows, batch in self._batches(ids, [[] for _ in ids], searching.beam_size):
            hypotheses = searching(
                self.model, batch.source, batch.source_lengths, end=self.target_tokenizer.end
            )
            for row, best in zip(rows, hypotheses, strict=True):
                found[row] = [
                    (self._text(lines[row], h, searching.replace_unknown), h.score)
                    for h in best
                    if not h.missing
                ]
        return found

    def align(
        self, sources: Sequence[str], targets: Sequence[str], credit: str = "predicted"
    ) -> list[list[tuple[int, int]]]:
        """Word links `(i, j)` from 0 between given translations, by forced decoding and arg-max.

        Args:
            sources: source lines.
            targets: as many target lines.
            credit: which token a row of weights belongs to, a key of `metrics.CREDITS`.

        Raises:
            UserError: the numbers of lines differ, or the model has no attention.
        """
        self._needs_attention()
        if len(sources) != len(targets):
            raise UserError(
                f"{len(sources)} source lines and {len(targets)} target lines: the counts must be equal"
            )
        found: list[list[tuple[int, int]]] = [[] for _ in sources]
        source_tokenizer, target_tokenizer = self.source_tokenizer, self.target_tokenizer
        for row, weights in self._forced(sources, targets):
            words = source_tokenizer.words_of(sources[row]), target_tokenizer.words_of(targets[row])
            links = metrics.links(weights[:, : len(words[0])], *words, credit)
            found[row] = sorted(links, key=lambda link: (link[1], link[0]))
        return found

    def attend(self, source: str, target: str | None = None) -> tuple[list[str], list[str], np.ndarray]:
        """The attention of one sentence pair; without a target that of the model's own translation.

        Returns:
            S source pieces, the target pieces with the end mark behind them, and weights [T+1, S].

        Raises:
            UserError: the model has no attention.
        """
        self._needs_attention()
        if target is None:
            target = self.translate([source])[0]
        ((_, weights),) = self._forced([source], [target])
        (source_ids,), (target_ids,) = self._source([source]), self.target_tokenizer.encode([target])
        ends = [*target_ids, self.target_tokenizer.end]
        return self.source_tokenizer.pieces(source_ids), self.target_tokenizer.pieces(ends), weights

    def _text(self, line: str, hypothesis: Hypothesis, replace_unknown: bool) -> str:
        return detokenised(
            hypothesis.tokens,
            hypothesis.weights,
            source=line,
            source_tokenizer=self.source_tokenizer,
            target_tokenizer=self.target_tokenizer,
            replace_unknown=replace_unknown,
        )

    def _source(self, lines: Sequence[str]) -> list[list[int]]:
        ids = self.source_tokenizer.encode(list(lines))
        closed = bool(self.config["data"].get("source_eos"))
        return [[*row, self.source_tokenizer.end] if closed and row else row for row in ids]

    def _forced(self, sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[int, np.ndarray]]:
        ids = self._source(sources)
        ends = [[*row, self.target_tokenizer.end] for row in self.target_tokenizer.encode(list(targets))]
        for rows, batch in self._batches(ids, ends):
            weights = (
                forced(self.model, batch.source, batch.source_lengths, batch.target).weights.cpu().numpy()
            )
            for place, row in enumerate(rows):
                yield row, weights[place, : len(ends[row]), : len(ids[row])]

    def _batches(
        self, source: Sequence[list[int]], target: Sequence[list[int]], beam: int = 1
    ) -> Iterator[tuple[list[int], Any]]:
        """Batches of about 16,000 positions, of sentences of about one length."""
        sides = np.array([max(len(s), len(t)) for s, t in zip(source, target, strict=True)], dtype=np.int64)
        order = np.argsort(sides, kind="stable")
        collate = Collate(self.source_tokenizer.pad, self.target_tokenizer.pad)
        for places in cut(sides[order], max(1, 16_000 // beam), None):
            rows = order[places].tolist()
            batch = collate([(row, np.asarray(source[row]), np.asarray(target[row])) for row in rows])
            yield rows, type(batch)(*(self._here(part) for part in batch))

    def _here(self, part: Tensor) -> Tensor:
        return part.to(self.device)

    def _needs_attention(self) -> None:
        if self.model.decoder.attention is None:
            raise UserError(f"{self.folder}: this model has no attention, so it has no alignment to show")
