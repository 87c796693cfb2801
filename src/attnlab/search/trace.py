"""The record of a search while it runs, and the hypotheses read back from it.

Each step leaves back-pointers and the weights it computed, by reference; no history is copied or reordered
while the search runs. A hypothesis that ends at step t by extending slot p is read backwards: its row t of
weights is the one of slot p at step t; its token t - 1 and the slot before stand where slot p was filled.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnlab.attention import Attended
from attnlab.search.hypothesis import Hypothesis
from attnlab.search.penalty import Penalty


class Step(NamedTuple):
    """One step of R sentences still searched: Q hypotheses were asked (1 at the first step), k went on."""

    ended: Float[Tensor, "R k"]  # log-probability of those that ended here, -inf elsewhere
    ended_from: Int[Tensor, "R k"]  # the slot that each of them extended
    alive: Float[Tensor, "R k"]  # log-probability of those that went on, best first
    parents: Int[Tensor, "R k"]  # the slot that each of them extended
    tokens: Int[Tensor, "R k"]  # and with what
    weights: Float[Tensor, "R Q N"]
    first: Int[Tensor, "R Q"] | None


class Trace:
    """All steps of one search.

    Args:
        sentences: B, those that were searched at the start.
    """

    def __init__(self, sentences: int) -> None:
        self.sentences = sentences
        self._parts: list[tuple[Tensor, list[Step]]] = []

    def add(self, rows: Int[Tensor, " R"], step: Step) -> None:
        """Notes a step of the sentences `rows`; the same tensor object until sentences leave."""
        if not self._parts or self._parts[-1][0] is not rows:
            self._parts.append((rows, []))
        self._parts[-1][1].append(step)

    def hypotheses(
        self, lengths: list[int], limits: list[int], penalty: Penalty, n_best: int
    ) -> list[list[Hypothesis]]:
        """The n best of each sentence, best first: finished ones, or where none finished those that were cut.

        Equal scores: the shorter first, then the one in front in the beam.
        """
        ended = self._all("ended", -np.inf)
        steps, sentences, beam = ended.shape
        everyone, ranks = np.arange(sentences)[:, None], np.arange(n_best)[None]

        factors = np.array([penalty(t + 1) for t in range(steps)])
        scores = (ended / factors[:, None, None]).transpose(1, 0, 2).reshape(sentences, -1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n_best]
        last, rank = order // beam, order % beam  # [B, n]: where each of them ended
        log_prob = ended[last, everyone, rank]
        slot = self._all("ended_from", 0)[last, everyone, rank]
        finished = log_prob > -np.inf

        parents, tokens = self._all("parents", 0), self._all("tokens", 0)
        alive = self._all("alive", -np.inf)
        cut = ~finished[:, :1] & (np.array(limits)[:, None] <= steps)  # [B, 1]
        at = np.minimum(np.array(limits)[:, None], steps) - 1
        last = np.where(cut, at, last)
        log_prob = np.where(cut, alive[at, everyone, ranks], log_prob)
        slot = np.where(cut, parents[at, everyone, ranks], slot)
        score = log_prob / factors[last]

        slots = np.zeros((steps, sentences, n_best), dtype=np.int64)
        emitted = np.zeros_like(slots)
        current = np.zeros_like(slot)
        for t in reversed(range(steps)):
            current = np.where(last == t, slot, current)
            slots[t] = current
            if t:
                emitted[t - 1] = tokens[t - 1][everyone, current]
                current = parents[t - 1][everyone, current]
        emitted[at, everyone, ranks] = np.where(
            cut, tokens[at, everyone, ranks], emitted[at, everyone, ranks]
        )
        weights = self._weights(torch.from_numpy(slots), max(lengths))

        def one(b: int, j: int) -> Hypothesis:
            if log_prob[b, j] == -np.inf:
                return Hypothesis.nothing(lengths[b])
            rows = int(last[b, j]) + 1
            done = bool(finished[b, j])
            return Hypothesis(
                tokens=emitted[: rows - done, b, j].tolist(),
                score=float(score[b, j]),
                log_prob=float(log_prob[b, j]),
                finished=done,
                weights=weights[:rows, b, j, : lengths[b]].clone(),
            )

        return [[one(b, j) for j in range(n_best)] for b in range(sentences)]

    def _all(self, name: str, fill: float | int) -> np.ndarray:
        """One field over all steps and sentences [T, B, k], `fill` where a sentence had left."""
        parts = []
        for rows, steps in self._parts:
            stacked = torch.stack([getattr(step, name) for step in steps])
            full = stacked.new_full((len(steps), self.sentences, stacked.shape[-1]), fill)
            full[:, rows] = stacked
            parts.append(full)
        return torch.cat(parts).cpu().numpy()

    def _weights(self, slots: Int[Tensor, "T B n"], length: int) -> Float[Tensor, "T B n S"]:
        """The rows of weights of the slots that were followed, over all source positions, on the CPU."""
        # Not the default type: Lightning changes that for `precision=bf16-true` and `64-true`.
        out = torch.zeros(*slots.shape, length, dtype=torch.float32)
        t = 0
        for rows, steps in self._parts:
            here = slots[:, rows.cpu()].to(rows.device)
            for step in steps:
                index = here[t]
                wide = index.unsqueeze(-1).expand(-1, -1, step.weights.shape[-1])
                chosen = step.weights.gather(1, wide)
                first = None if step.first is None else step.first.gather(1, index)
                dense = Attended(chosen.new_zeros(*index.shape, 0), chosen, first).dense(length)
                out[t, rows.cpu()] = dense.float().cpu()
                t += 1
        return out
