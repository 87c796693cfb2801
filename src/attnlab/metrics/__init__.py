"""Scores, length buckets, links and attention statistics. Pure: no files, no plots, no torch."""

from attnlab.metrics.alignment import (
    CREDITS,
    Gold,
    agreement,
    arg_max_links,
    format_links,
    links,
    merge,
    parse,
)
from attnlab.metrics.attention import attention_statistics
from attnlab.metrics.bleu import Bleu, corpus_bleu, corpus_chrf, corpus_ter, perplexity
from attnlab.metrics.length import buckets, centre, label, words
from attnlab.metrics.metrics import Metrics

__all__ = [
    "CREDITS",
    "Bleu",
    "Gold",
    "Metrics",
    "agreement",
    "arg_max_links",
    "attention_statistics",
    "buckets",
    "centre",
    "corpus_bleu",
    "corpus_chrf",
    "corpus_ter",
    "format_links",
    "label",
    "links",
    "merge",
    "parse",
    "perplexity",
    "words",
]
