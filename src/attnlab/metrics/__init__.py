"""Scores, length buckets, links and attention statistics. Pure: no files, no plots, no torch."""

from attnlab.metrics.alignment import (
    CREDITS,
    agreement,
    arg_max_links,
    counts,
    links,
    merge,
    rates,
    threshold_links,
)
from attnlab.metrics.attention import attention_statistics
from attnlab.metrics.bleu import Bleu, corpus_bleu, corpus_chrf, corpus_ter, perplexity
from attnlab.metrics.length import buckets, centre, label, words
from attnlab.metrics.links import FORMATS, Gold, Link, format_links, parse, read_gold, transpose
from attnlab.metrics.metrics import Metrics
from attnlab.metrics.symmetrise import SYMMETRISERS, symmetrise

__all__ = [
    "CREDITS",
    "FORMATS",
    "SYMMETRISERS",
    "Bleu",
    "Gold",
    "Link",
    "Metrics",
    "agreement",
    "arg_max_links",
    "attention_statistics",
    "buckets",
    "centre",
    "corpus_bleu",
    "corpus_chrf",
    "corpus_ter",
    "counts",
    "format_links",
    "label",
    "links",
    "merge",
    "parse",
    "perplexity",
    "rates",
    "read_gold",
    "symmetrise",
    "threshold_links",
    "transpose",
    "words",
]
