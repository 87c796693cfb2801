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
from attnlab.metrics.bootstrap import Difference, difference, draws, interval
from attnlab.metrics.effects import Effects, Level, Term, effects
from attnlab.metrics.length import buckets, centre, label, words
from attnlab.metrics.links import FORMATS, Gold, Link, format_links, parse, read_gold, recognise, transpose
from attnlab.metrics.metrics import Metrics
from attnlab.metrics.scoring import Score, bleu_score, chrf_score, chrf_statistics, mean_score, score_of
from attnlab.metrics.seeds import Spread, spread
from attnlab.metrics.significance import Test, compare, holm, randomisation
from attnlab.metrics.slope import Bucket, BucketDifference, Slope, by_length, difference_by_length, slope
from attnlab.metrics.symmetrise import SYMMETRISERS, symmetrise

__all__ = [
    "CREDITS",
    "FORMATS",
    "SYMMETRISERS",
    "Bleu",
    "Bucket",
    "BucketDifference",
    "Difference",
    "Effects",
    "Gold",
    "Level",
    "Link",
    "Metrics",
    "Score",
    "Slope",
    "Spread",
    "Term",
    "Test",
    "agreement",
    "arg_max_links",
    "attention_statistics",
    "bleu_score",
    "buckets",
    "by_length",
    "centre",
    "chrf_score",
    "chrf_statistics",
    "compare",
    "corpus_bleu",
    "corpus_chrf",
    "corpus_ter",
    "counts",
    "difference",
    "difference_by_length",
    "draws",
    "effects",
    "format_links",
    "holm",
    "interval",
    "label",
    "links",
    "mean_score",
    "merge",
    "parse",
    "perplexity",
    "randomisation",
    "rates",
    "read_gold",
    "recognise",
    "score_of",
    "slope",
    "spread",
    "symmetrise",
    "threshold_links",
    "transpose",
    "words",
]
