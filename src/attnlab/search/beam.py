"""Beam search, batched over sentences and hypotheses; a beam of 1 is greedy search."""

import torch
from jaxtyping import Int
from torch import Tensor

from attnlab.errors import UserError
from attnlab.search.candidates import candidates
from attnlab.search.hypothesis import Hypothesis, Model
from attnlab.search.modes import evaluating
from attnlab.search.penalty import Penalty, as_penalty
from attnlab.search.ready import ready
from attnlab.search.trace import Step, Trace

LEAVE = 8
"""Finished sentences leave the batch once they are a LEAVE-th of it: leaving costs a copy of the memory."""


class Search:
    """Beam search.

    At each step the 2k best continuations over all hypotheses are looked at: an end mark among the first k
    finishes a hypothesis, and the k best others go on, so the beam stays full. A sentence is done when

    - no hypothesis that goes on can still beat its n-th best finished one, whatever follows (exact: a
      log-probability only falls, and the penalty is largest at the limit); or
    - k of its hypotheses have finished; or
    - the limit is reached: what goes on then is cut, and returned only where nothing finished.

    The pad and start ids are never emitted. What a sentence gets does not depend on the
    others, but for the rounding of products with other numbers of rows.

    Args:
        beam_size: k; 1 is greedy search.
        length_penalty: GNMT's alpha (0: plain sums), or a function of the number of tokens such as
            `Average()`; see `search.penalty`.
        n_best: hypotheses returned a sentence, at most `beam_size`.
        min_length: tokens before the end mark, at least.
        max_length: tokens with the end mark, at most, for any sentence.
        max_length_factor: a sentence of S source tokens is cut at factor * S + offset tokens.
        max_length_offset: see `max_length_factor`.
        replace_unknown: a wish that whoever turns ids into text reads (`search.replace_unknown`), with the
            function of the same name; search itself returns ids.
    """

    def __init__(
        self,
        beam_size: int = 5,
        length_penalty: float | int | Penalty = 1.0,
        n_best: int = 1,
        min_length: int = 0,
        max_length: int = 500,
        max_length_factor: float | int = 2.0,
        max_length_offset: int = 10,
        replace_unknown: bool = False,
    ) -> None:
        if beam_size < 1:
            raise UserError(f"search.beam_size is {beam_size}: give at least 1")
        if n_best < 1:
            raise UserError(f"search.n_best is {n_best}: give at least 1")
        if n_best > beam_size:
            raise UserError(
                f"search.n_best is {n_best}, but search.beam_size is {beam_size}: "
                f"give search.beam_size={n_best}, or a smaller search.n_best"
            )
        if not 0 <= min_length < max_length:
            raise UserError(
                f"search.min_length is {min_length} and search.max_length {max_length}: "
                "the first must be at least 0 and less than the second, which counts the end mark"
            )
        if max_length_factor < 0:
            raise UserError(f"search.max_length_factor is {max_length_factor}: give at least 0")
        self.beam_size = beam_size
        self.penalty = as_penalty(length_penalty)
        self.n_best = n_best
        self.min_length = min_length
        self.max_length = max_length
        self.max_length_factor = max_length_factor
        self.max_length_offset = max_length_offset
        self.replace_unknown = replace_unknown

    def limit(self, length: int) -> int:
        """The most tokens for a source of `length` tokens; more than `min_length`, whatever the rule says."""
        rule = int(self.max_length_factor * length + self.max_length_offset)
        return max(min(rule, self.max_length), self.min_length + 1)

    def __call__(
        self, model: Model, source: Int[Tensor, "B S"], lengths: Int[Tensor, " B"], *, end: int
    ) -> list[list[Hypothesis]]:
        """Translates a batch.

        Args:
            model: a `Seq2Seq`; dropout is off while it is searched.
            source: padded ids, on the model's device.
            lengths: real tokens of each sentence; one of 0 gets an empty hypothesis without asking the model.
            end: the target vocabulary's end mark.

        Returns:
            For each sentence, in order, `n_best` hypotheses, best first; where fewer exist the rest is
            `missing`.
        """
        sizes = lengths.tolist()
        asked = [i for i, size in enumerate(sizes) if size]
        rest = [Hypothesis.nothing(0)] * (self.n_best - 1)
        results = [[Hypothesis.empty(), *rest] for _ in sizes]
        if not asked:
            return results
        sizes = [sizes[i] for i in asked]
        limits = [self.limit(size) for size in sizes]
        if len(asked) < len(results):
            source, lengths = source[asked], lengths[asked]
        with evaluating(model), torch.inference_mode(), ready(model):
            trace = self._search(model, source[:, : max(sizes)], lengths, limits, end)
        with torch.no_grad():
            found = trace.hypotheses(sizes, limits, self.penalty, self.n_best)
        for i, hypotheses in zip(asked, found, strict=True):
            results[i] = hypotheses
        return results

    def _search(
        self,
        model: Model,
        source: Int[Tensor, "B S"],
        lengths: Int[Tensor, " B"],
        limits: list[int],
        end: int,
    ) -> Trace:
        beam, device = self.beam_size, source.device
        memory, state = model.encode(source, lengths)
        trace = Trace(len(limits))
        rows = torch.arange(len(limits), device=device)
        tokens = torch.full((len(limits), 1), model.start, device=device)
        alive = torch.zeros(len(limits), 1, dtype=torch.float32, device=device)
        best: Tensor | None = None
        ends = torch.zeros(len(limits), dtype=torch.int64, device=device)  # how many finished
        done = torch.zeros(len(limits), dtype=torch.bool, device=device)
        limit = torch.tensor(limits, device=device)
        largest = torch.tensor([self.penalty(n) for n in limits], dtype=torch.float32, device=device)
        # greedy search is done when the best is an end mark, so it needs no second candidate
        count = 2 * beam if beam > 1 else 1

        for t in range(1, max(limits) + 1):
            readout, attended, state = model.step(tokens, state, memory)
            banned = [model.pad, model.start] + [end] * (t <= self.min_length)
            score, slot, token = candidates(model.logits(readout), alive, count, banned)

            is_end = token == end
            ended = score.masked_fill(~is_end | done.unsqueeze(1), -torch.inf)[:, :beam]
            alive, pick = score.masked_fill(is_end, -torch.inf).topk(beam)
            parents, tokens = slot.gather(1, pick), token.gather(1, pick)
            trace.add(
                rows,
                Step(ended, slot[:, :beam], alive, parents, tokens, attended.weights, attended.first),
            )

            finals = ended / self.penalty(t)
            best = (finals if best is None else torch.cat([best, finals], 1)).topk(self.n_best).values
            ends = ends + (ended > -torch.inf).sum(1)
            # none alive: -inf >= -inf, done as well
            done = done | (ends >= beam) | (best[:, -1] >= alive[:, 0] / largest) | (limit <= t)

            left = len(rows) - int(done.sum())
            if not left:
                break
            if left * LEAVE <= len(rows) * (LEAVE - 1):
                keep = (~done).nonzero().squeeze(1)
                memory, state, parents = memory.select(keep), state.select(keep), parents[keep]
                rows, tokens, alive, best = rows[keep], tokens[keep], alive[keep], best[keep]
                ends, done, limit, largest = ends[keep], done[keep], limit[keep], largest[keep]
            state = state.expand(beam) if t == 1 else state.reorder(parents) if beam > 1 else state
        return trace
