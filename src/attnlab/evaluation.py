"""Scores decoded test sets: hypotheses, links, attention, and the files beside the record.

Rank 0 has all sentences in the set's order (`decoding.decode`), scores and writes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attnlab import metrics as measures
from attnlab import ranks, samples, segments
from attnlab.bars import bar
from attnlab.decoding import Sentence, decode
from attnlab.gold import agree, columns
from attnlab.loading import load
from attnlab.loggers.base import Example
from attnlab.metrics.attention import means_of, rows_of, sentence_means, sharpness_by_length
from attnlab.metrics.scoring import chrf_statistics
from attnlab.search import Search
from attnlab.segments import Segments

__all__ = ["Scored", "Sentence", "decode", "evaluate_set", "load", "score", "write"]

log = logging.getLogger(__name__)


@dataclass
class Scored:
    """A scored test set: the record's part, and what is written beside it."""

    result: dict[str, Any]
    hypotheses: list[str]
    links: list[frozenset[tuple[int, int]]]
    examples: list[Example]
    segments: Segments
    samples: list[dict[str, Any]] | None


def score(
    sentences: Sequence[Sentence],
    rows: Mapping[str, Sequence[str]],
    *,
    source_tokenizer: Any,
    target_tokenizer: Any,
    scorer: measures.Metrics,
    search: Mapping[str, Any],
    attends: bool,
    show: bool,
    hypotheses: Sequence[str],
    examples: int = 16,
) -> Scored:
    """Scores decoded sentences.

    Args:
        sentences: those of `decode`.
        rows: the raw columns `source`, `target` and, where known, `alignment`.
        source_tokenizer: the source side's.
        target_tokenizer: the target side's.
        scorer: the text metrics.
        search: the search's settings, for the record.
        attends: whether the model has attention at all.
        show: whether sentences may be handed to loggers and written as samples (`data.show_samples`).
        hypotheses: the detokenised text of each sentence.
        examples: how many sentences are handed to the loggers, the first of the set.
    """
    sources, references = list(rows["source"][:]), list(rows["target"][:])
    texts = list(hypotheses)
    result = scorer.score(sources, texts, references)
    tokens = sum(len(sentence.reference) + 1 for sentence in sentences)
    result["search"] = dict(search)
    result["perplexity"] = measures.perplexity(sum(s.loss for s in sentences), tokens)
    result["truncated"] = sum(not sentence.finished for sentence in sentences)
    result["alignment"] = result["attention"] = None
    links: list[frozenset[tuple[int, int]]] = [frozenset() for _ in sentences]
    pieces = [source_tokenizer.words_of(line) for line in sources]
    counts = searched = None
    if attends:
        merged = [
            measures.merge(columns(s.weights, known), known, target_tokenizer.words(s.tokens))
            for s, known in zip(sentences, pieces, strict=True)
        ]
        links = [measures.arg_max_links(matrix) for matrix in merged]
        searched, read = rows_of(merged), None
        result["attention"] = means_of(searched)
        if "alignment" in rows:
            result["alignment"], counts, read = agree(
                sentences, sources, references, list(rows["alignment"][:]), source_tokenizer, target_tokenizer
            )
            result["attention"]["references"] = means_of(read)
        words = [measures.words(line) for line in sources]
        result["attention"]["by_source_length"] = sharpness_by_length(
            searched, words, scorer.length_edges, read
        )
    shown = [
        Example(
            source_tokenizer.pieces(s.source),
            [*target_tokenizer.pieces(s.tokens), "</s>"][: len(s.weights)],
            s.weights,
        )
        for s in sentences[:examples]
        if show and attends and s.weights.size and s.weights.shape[1] == len(s.source)
    ]
    kept = Segments(
        bleu=scorer.bleu.statistics(texts, references),
        chrf=None if scorer.chrf is None else chrf_statistics(texts, references, **scorer.chrf),
        source_words=np.array([measures.words(line) for line in sources]),
        reference_words=np.array([measures.words(line) for line in references]),
        source_pieces=np.array([len(known) for known in pieces]),
        reference_pieces=np.array([len(s.reference) for s in sentences]),
        alignment=counts,
        entropy=None if searched is None else sentence_means(searched, "entropy_normalised"),
        max_weight=None if searched is None else sentence_means(searched, "max_weight"),
        bleu_signature=scorer.bleu.signature,
        chrf_signature=None if scorer.chrf is None else result["chrf"]["signature"],
    )
    some = None
    if show:
        some = samples.collect(sentences, texts, rows, source_tokenizer, target_tokenizer, attends)
    return Scored(result, texts, links, shown, kept, some)


def text_of(
    sentence: Sentence, source: str, search: Search, source_tokenizer: Any, target_tokenizer: Any
) -> str:
    """The hypothesis as one line of detokenised text; an empty source gives an empty line."""
    from attnlab.text import detokenised

    return detokenised(
        sentence.tokens,
        sentence.weights,
        source=source,
        source_tokenizer=source_tokenizer,
        target_tokenizer=target_tokenizer,
        replace_unknown=search.replace_unknown,
    )


def write(
    folder: Path,
    scored: Scored,
    sentences: Sequence[Sentence],
    source_tokenizer: Any,
    target_tokenizer: Any,
    matrices: int | None = None,
) -> None:
    """Writes what lies beside the record into `folder`.

    `hyp.txt` and `align.txt` have one line a sentence; `segments.npz` and `samples.json` are those of the
    modules of these names, the second only where sentences may be shown. `attention.safetensors` holds a
    float16 tensor [rows, S] for each sentence under its number in five digits; its metadata has, under the
    same keys, the two lists of pieces as JSON.

    Args:
        folder: `test/<set>` of the run folder.
        scored: texts, links, statistics and samples.
        sentences: the decoded sentences.
        source_tokenizer: the source side's.
        target_tokenizer: the target side's.
        matrices: how many sentences' attention is kept; None keeps all, 0 writes no file.
    """
    from safetensors.numpy import save

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hyp.txt").write_text(
        "".join(f"{line}\n" for line in scored.hypotheses), encoding="utf-8", newline="\n"
    )
    lines = [measures.format_links(links) for links in scored.links]
    (folder / "align.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    segments.write(folder, scored.segments)
    if scored.samples is None:
        (folder / samples.NAME).unlink(missing_ok=True)  # of an attempt that was allowed to show them
    else:
        samples.write(folder, scored.samples)
    kept = list(sentences if matrices is None else sentences[:matrices])
    path = folder / "attention.safetensors"
    if not kept:
        path.unlink(missing_ok=True)  # of an attempt that kept some
        return
    tensors = {f"{s.index:05d}": np.ascontiguousarray(s.weights, dtype=np.float16) for s in kept}
    pieces = {
        f"{s.index:05d}": json.dumps(
            [source_tokenizer.pieces(s.source), target_tokenizer.pieces(s.tokens)], ensure_ascii=False
        )
        for s in kept
    }
    path.write_bytes(save(tensors, metadata=pieces))  # `save_file` makes it private, whatever the umask


def evaluate_set(
    name: str,
    folder: Path,
    *,
    model: Any,
    data: Any,
    search: Search,
    search_settings: Mapping[str, Any],
    scorer: measures.Metrics,
    device: torch.device,
    matrices: int | None = None,
    progress: bool = False,
    label: str | None = None,
) -> Scored | None:
    """Decodes one test set, scores it and writes its files into `folder`; None on ranks other than 0.

    `progress` shows a bar named `label`, by default as the set, where there is a terminal.
    """
    rows = data.rows(name)
    source, target = data.source_tokenizer, data.target_tokenizer
    attends = model.decoder.attention is not None
    gold = attends and "alignment" in rows.column_names
    batches = data.test_dataloader(name)
    with bar(label or name, len(rows), progress and ranks.rank() == 0) as tell:
        sentences = decode(
            *(model, batches, search),
            end=target.end,
            device=device,
            gold=gold,
            tell=lambda count: tell(count * ranks.world()),  # the other ranks are about as far
        )
    if sentences is None:
        return None
    if len(sentences) != len(rows):
        raise RuntimeError(f"test set {name}: {len(sentences)} sentences decoded, {len(rows)} in the set")
    told = scorer.case_warning(data.corpus.lowercase)
    if told and name == data.corpus.test[0]:  # once an evaluation
        log.warning(told)
    columns = {column: rows[column][:] for column in rows.column_names}
    texts = [
        text_of(sentence, line, search, source, target)
        for sentence, line in zip(sentences, columns["source"], strict=True)
    ]
    scored = score(
        sentences,
        columns,
        source_tokenizer=source,
        target_tokenizer=target,
        scorer=scorer,
        search=search_settings,
        attends=attends,
        show=data.corpus.show_samples,
        hypotheses=texts,
    )
    lengths = torch.tensor([len(sentence.source) for sentence in sentences])
    unreachable = model.beyond_reach(lengths)
    scored.result["unreachable"] = unreachable
    if unreachable:
        log.warning(
            "test set %s: %d source positions beyond the scorer's reach have weight 0", name, unreachable
        )
    write(folder, scored, sentences, source, target, matrices)
    return scored
