"""What a loaded run can do: translate, align and attend; `attnlab.load(folder)` makes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch

from attnlab import build, metrics
from attnlab.data.batches import Batch, Collate, cut
from attnlab.data.tokenizer import Tokenizer
from attnlab.errors import UserError
from attnlab.search import Hypothesis, forced, ready
from attnlab.text import detokenised

Ranked = list[tuple[str, float]]
Links = list[tuple[int, int]]
Attended = tuple[list[str], list[str], np.ndarray]


class Loaded:
    """A trained model with what turns text into ids and back.

    `translate`, `n_best`, `align` and `attend` take a sentence as a string and give its result, or a list of
    sentences and give a list of results in the same order. Anything else is a UserError.

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

    @overload
    def translate(self, lines: str, **search: Any) -> str: ...
    @overload
    def translate(self, lines: Iterable[str], **search: Any) -> list[str]: ...
    def translate(self, lines: str | Iterable[str], **search: Any) -> str | list[str]:
        """The translation of a source sentence, or of each of a list; a blank one gives an empty one.

        Args:
            lines: a source sentence without line end, which gives a string; or a list of them, which gives a
                list.
            search: settings that replace the run's own, such as `beam_size=1`.

        Raises:
            UserError: neither a string nor a list of strings, or no such setting.
        """
        given, one = _sentences(lines, "lines")
        found = [best[0][0] for best in self.n_best(given, **{**search, "n_best": 1})]
        return found[0] if one else found

    @overload
    def n_best(self, lines: str, **search: Any) -> Ranked: ...
    @overload
    def n_best(self, lines: Iterable[str], **search: Any) -> list[Ranked]: ...
    def n_best(self, lines: str | Iterable[str], **search: Any) -> Ranked | list[Ranked]:
        """The `n_best` translations of a source sentence with their scores, best first; or a list of such.

        Args and errors as for `translate`.
        """
        given, one = _sentences(lines, "lines")
        found = self._ranked(given, **search)
        return found[0] if one else found

    def _ranked(self, lines: list[str], **search: Any) -> list[Ranked]:
        accepted = [name for name in self.config["search"] if not name.startswith("_")]
        for name in search:
            if name not in accepted:
                raise UserError(f"{name}: no setting of the search; there are: {', '.join(accepted)}")
        searching = build.build_search(self.config, **search)
        ids = self.source_ids(lines)
        found: list[list[tuple[str, float]]] = [[] for _ in lines]
        with ready(self.model):
            for rows, batch in self.batches(ids, beam=searching.beam_size):
                hypotheses = searching(
                    self.model, batch.source, batch.source_lengths, end=self.target_tokenizer.end
                )
                for row, best in zip(rows, hypotheses, strict=True):
                    found[row] = [
                        (self.text(lines[row], h, searching.replace_unknown), h.score)
                        for h in best
                        if not h.missing
                    ]
        return found

    @overload
    def align(self, sources: str, targets: str, credit: str = "predicted") -> Links: ...  # type: ignore[overload-overlap]
    @overload
    def align(
        self, sources: Iterable[str], targets: Iterable[str], credit: str = "predicted"
    ) -> list[Links]: ...
    def align(
        self, sources: str | Iterable[str], targets: str | Iterable[str], credit: str = "predicted"
    ) -> Links | list[Links]:
        """Word links `(i, j)` from 0 between given translations, by forced decoding and arg-max.

        Args:
            sources: a source sentence, which gives its links; or a list, which gives a list of such.
            targets: its translation; or a list of as many.
            credit: which token a row of weights belongs to, a key of `metrics.CREDITS`.

        Raises:
            UserError: neither two strings nor two lists of strings, the numbers of lines differ, no such
                credit, or the model has no attention.
        """
        self._needs_attention()
        if credit not in metrics.CREDITS:
            raise UserError(f"credit={credit!r}: there are: {', '.join(metrics.CREDITS)}")
        given, wanted, one = _pairs(sources, targets)
        found = self._links(given, wanted, credit)
        return found[0] if one else found

    def _links(self, sources: list[str], targets: list[str], credit: str) -> list[Links]:
        found: list[Links] = [[] for _ in sources]
        source_tokenizer, target_tokenizer = self.source_tokenizer, self.target_tokenizer
        for row, weights in self._forced(sources, targets):
            words = source_tokenizer.words_of(sources[row]), target_tokenizer.words_of(targets[row])
            links = metrics.links(weights[:, : len(words[0])], *words, credit)
            found[row] = sorted(links, key=lambda link: (link[1], link[0]))
        return found

    @overload
    def attend(self, source: str, target: str | None = None) -> Attended: ...  # type: ignore[overload-overlap]
    @overload
    def attend(self, source: Iterable[str], target: Iterable[str] | None = None) -> list[Attended]: ...
    def attend(
        self, source: str | Iterable[str], target: str | Iterable[str] | None = None
    ) -> Attended | list[Attended]:
        """The attention of a sentence pair; without a target that of the model's own translation.

        Args:
            source: a source sentence; or a list, which gives a list of results.
            target: its translation; or a list of as many.

        Returns:
            S source pieces, the target pieces with the end mark behind them, and weights [T+1, S]; or a list
            of such.

        Raises:
            UserError: neither strings nor lists of strings, the numbers of lines differ, or the model has no
                attention.
        """
        self._needs_attention()
        sources, one = _sentences(source, "source")
        if target is None:
            target = self.translate(sources[0] if one else sources)
        sources, targets, one = _pairs(sources[0] if one else sources, target)
        found = self._attended(sources, targets)
        return found[0] if one else found

    def _attended(self, sources: list[str], targets: list[str]) -> list[Attended]:
        weights = dict(self._forced(sources, targets))
        ids = zip(self.source_ids(sources), self.target_tokenizer.encode(targets), strict=True)
        pieces_of = self.source_tokenizer.pieces, self.target_tokenizer.pieces
        return [
            (pieces_of[0](s), pieces_of[1]([*t, self.target_tokenizer.end]), weights[row])
            for row, (s, t) in enumerate(ids)
        ]

    def unknown(self, lines: Sequence[str]) -> tuple[int, int]:
        """How many source pieces of the lines are unknown to the model, and how many there are."""
        rows = self.source_tokenizer.encode(list(lines))
        return sum(row.count(self.source_tokenizer.unk) for row in rows), sum(map(len, rows))

    def source_ids(self, lines: Sequence[str]) -> list[list[int]]:
        """Of source lines what the model reads, with the end mark where its training had one there."""
        ids = self.source_tokenizer.encode(list(lines))
        closed = bool(self.config["data"].get("source_eos"))
        return [[*row, self.source_tokenizer.end] if closed and row else row for row in ids]

    def batches(
        self, source: Sequence[list[int]], target: Sequence[list[int]] | None = None, beam: int = 1
    ) -> Iterator[tuple[list[int], Batch]]:
        """Batches of about 16,000 positions, of sentences of about one length, where the model is.

        Args:
            source: ids of each sentence.
            target: ids of its translation, the end mark among them; None for one that is to be searched.
            beam: hypotheses a sentence, each of which takes as many positions.

        Yields:
            Places in the lists, and their batch.
        """
        target = [[] for _ in source] if target is None else target
        sides = np.array([max(len(s), len(t)) for s, t in zip(source, target, strict=True)], dtype=np.int64)
        order = np.argsort(sides, kind="stable")
        collate = Collate(self.source_tokenizer.pad, self.target_tokenizer.pad)
        for places in cut(sides[order], max(1, 16_000 // beam), None):
            rows = order[places].tolist()
            batch = collate([(row, np.asarray(source[row]), np.asarray(target[row])) for row in rows])
            yield rows, batch.to(self.device)

    def text(self, line: str, hypothesis: Hypothesis, replace_unknown: bool) -> str:
        """One line of text of what a search has found.

        Args:
            line: the source.
            hypothesis: what was found.
            replace_unknown: put source words in the place of unknown ones, see `text.detokenised`.
        """
        return detokenised(
            hypothesis.tokens,
            hypothesis.weights,
            source=line,
            source_tokenizer=self.source_tokenizer,
            target_tokenizer=self.target_tokenizer,
            replace_unknown=replace_unknown,
        )

    def _forced(self, sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[int, np.ndarray]]:
        ids = self.source_ids(sources)
        ends = [[*row, self.target_tokenizer.end] for row in self.target_tokenizer.encode(list(targets))]
        for rows, batch in self.batches(ids, ends):
            weights = (
                forced(self.model, batch.source, batch.source_lengths, batch.target).weights.cpu().numpy()
            )
            for place, row in enumerate(rows):
                yield row, weights[place, : len(ends[row]), : len(ids[row])]

    def _needs_attention(self) -> None:
        if self.model.decoder.attention is None:
            raise UserError(f"{self.folder}: this model has no attention, so it has no alignment to show")


def _sentences(given: Any, name: str) -> tuple[list[str], bool]:
    """A list of strings, and whether it was one string that stood alone.

    Raises:
        UserError: anything else; a string is a sequence of strings too, and would give letters.
    """
    if isinstance(given, str):
        return [given], True
    kind = type(given).__name__
    if isinstance(given, Iterable) and not isinstance(given, bytes | dict):
        lines = list(given)
        wrong = [type(line).__name__ for line in lines if not isinstance(line, str)]
        if not wrong:
            return lines, False
        kind = f"{kind} with {wrong[0]}"
    raise UserError(f"{name}: give a sentence as a string, or a list of strings; this is {kind}")


def _pairs(sources: Any, targets: Any) -> tuple[list[str], list[str], bool]:
    """Two lists of one length, and whether they were two strings that stood alone."""
    (given, one), (wanted, other) = _sentences(sources, "source"), _sentences(targets, "target")
    if one != other:
        kinds = "a string and the target a list" if one else "a list and the target a string"
        raise UserError(f"the source is {kinds}: give two strings, or two lists of strings")
    if len(given) != len(wanted):
        raise UserError(f"{len(given)} source lines and {len(wanted)} target lines: the counts must be equal")
    return given, wanted, one
