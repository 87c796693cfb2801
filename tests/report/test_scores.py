"""Segment scores of other metrics: read whole or refused, and tested as BLEU is."""

import csv as csv_module
import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from attnlab.errors import UserError
from attnlab.metrics import bootstrap, significance
from attnlab.metrics.scoring import mean_score
from attnlab.metrics.slope import slope
from attnlab.report import compare
from attnlab.report.evidence import evidence
from attnlab.report.scores import attach_scores, read_scores, score_evidence
from attnlab.report.table import to_console, to_csv
from attnlab.segments import Segments

N = 40
COUNTS = [10, 20, 6, 4, 0]  # of the buckets up to 10, 20, 30, 40 and the rest
LENGTHS = np.repeat([5, 15, 25, 35], COUNTS[:4])
DOT, GENERAL = "bilstm-dot-post_combine-global", "bilstm-general-post_combine-global"


@pytest.fixture
def comparison(make):
    records = [make(scorer="dot", seed=seed, counts=COUNTS) for seed in (1, 2)]
    records.append(make(scorer="general", seed=1, counts=COUNTS))
    made = compare([(Path(f"runs/{k}"), record) for k, record in enumerate(records)]).comparisons[0]
    for row in made.rows:
        row.segments = {
            run.seed: Segments(
                np.zeros((N, 10)),
                None,
                LENGTHS,
                LENGTHS + 1,
                LENGTHS * 2,
                LENGTHS * 2,
                *[None] * 3,
                "b",
                None,
            )
            for run in row.runs
        }
    return made


def table(*systems, header="system\tsegment\tscore"):
    rows = [f"{name}\t{k}\t{score:.6f}" for name, scores in systems for k, score in enumerate(scores)]
    return "\n".join([header, *rows, ""])


def saved(tmp_path, text, name="comet.tsv"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def drawn(seed, mean=0.5):
    return np.round(np.random.default_rng(seed).normal(mean, 0.1, N), 6)


EVERY = [(f"{DOT}/seed1", drawn(1)), (f"{DOT}/seed2", drawn(2)), (GENERAL, drawn(3, 0.8))]


def attached(comparison, tmp_path, systems=EVERY, name="comet.tsv"):
    return attach_scores(comparison, read_scores(saved(tmp_path, table(*systems), name)))


@pytest.mark.parametrize("name", ["comet.tsv", "comet.tsv.gz", "comet.txt"])
def test_the_metric_is_called_as_the_file_and_the_scores_are_in_the_segments_order(tmp_path, name):
    lines = table(("a", [0.5, -1, 2e-3])).splitlines()
    shuffled = "\n".join([lines[0], lines[3], lines[1], lines[2]])
    scores = read_scores(saved(tmp_path, shuffled, name))
    assert scores.metric == "comet"
    np.testing.assert_array_equal(scores.table["a"][""], [0.5, -1, 0.002])
    assert scores.lines["a", ""] == [3, 4, 2]


def test_columns_may_stand_in_any_order(tmp_path):
    scores = read_scores(saved(tmp_path, "score\tsystem\tsegment\n1.5\ta b/seed3\t0\n"))
    assert scores.table["a b"]["3"].tolist() == [1.5]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: must name the columns"),
        ("system,segment,score\n", "line 1: must name the columns system, segment, score"),
        ("system\tsegment\tscore\n", "holds no scores"),
        ("system\tsegment\tscore\na\t0\n", "line 2: 2 fields instead of 3"),
        ("system\tsegment\tscore\n\t0\t1\n", "line 2: no system"),
        ("system\tsegment\tscore\na\t0\t1\na\tone\t1\n", "line 3: segment 'one' is no whole number"),
        ("system\tsegment\tscore\na\t-1\t1\n", "line 2: segment '-1' is no whole number"),
        ("system\tsegment\tscore\na\t0\thigh\n", "line 2: score 'high' is no finite number"),
        ("system\tsegment\tscore\na\t0\tnan\n", "line 2: score 'nan' is no finite number"),
        ("system\tsegment\tscore\na\t0\t1e308\n", "line 2: score '1e308' is no finite number that can be"),
        ("system\tsegment\tscore\na\t0\t-1e308\n", "line 2: score '-1e308' is no finite number"),
        ("system\tsegment\tscore\na\t0\t1_0\n", "line 2: score '1_0' is no finite number"),
        ("system\tsegment\tscore\na\t0\t1\nb\t0\t1\na\t0\t2\n", "line 4: segment 0 of a stands in line 2"),
        ("system\tsegment\tscore\na\t0\t1\na\t2\t1\n", "segment 1 of a is missing"),
        ("system\tsegment\tscore\na/seed4\t1\t1\n", "segment 0 of a/seed4 is missing"),
    ],
)
def test_a_file_that_is_not_whole_is_refused_with_the_place(tmp_path, text, told):
    path = saved(tmp_path, text)
    with pytest.raises(UserError) as error:
        read_scores(path)
    assert str(error.value).startswith(str(path)) and told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["bleu.tsv", "chrF.tsv.gz", ".tsv"])
def test_a_name_that_is_taken_or_none_is_refused(tmp_path, name):
    with pytest.raises(UserError, match="name the file after another metric"):
        read_scores(saved(tmp_path, table(("a", [1.0])), name))


@pytest.mark.parametrize(
    ("systems", "told"),
    [
        ([(GENERAL, drawn(1)[:-1])], f"segment 39 of {GENERAL} is missing"),
        ([(GENERAL, [*drawn(1), 1.0])], f"line 42: segment 40 of {GENERAL}, but flickr, de-en has 40"),
        ([("moses", drawn(1))], f"'moses' is no row of flickr, de-en; there are {DOT}; {GENERAL}"),
        ([(DOT, drawn(1))], f"{DOT} has 2 seeds; write which one, such as {DOT}/seed1"),
        ([(f"{DOT}/seed7", drawn(1))], "the row has no such seed; it has 1 2"),
        (
            [(f"{DOT}/seed1", drawn(1)), ("dot/seed1", drawn(1))],
            "seed 1 of dot is there",
        ),
    ],
)
def test_scores_that_do_not_fit_the_comparison_are_refused(comparison, tmp_path, systems, told):
    with pytest.raises(UserError) as error:
        attached(comparison, tmp_path, systems)
    assert told in str(error.value) and "\n" not in str(error.value)
    assert all(not row.scores for row in comparison.rows)


def test_a_name_of_two_rows_is_refused(comparison, tmp_path):
    for row in comparison.rows:
        row.cell_id, row.origin = "same", row.cell["scorer"]
    with pytest.raises(UserError, match=r"'same' is the name of 2 rows; write one of same@dot; same@general"):
        attached(comparison, tmp_path, [("same/seed1", drawn(1))])


def test_a_metric_is_attached_once_and_what_lacks_scores_is_named(comparison, tmp_path):
    notes = attached(comparison, tmp_path, EVERY[:1])
    assert notes == [
        "comet: no scores for seed 2 of dot",
        "comet: no scores for general",
    ]
    with pytest.raises(UserError, match="a metric 'comet' already"):
        attached(comparison, tmp_path)


def test_rows_without_scores_are_named_as_in_the_table_and_in_one_line(make, tmp_path):
    records = [make(scorer=name, counts=COUNTS) for name in ("dot", "general", "additive")]
    made = compare([(Path(f"runs/{k}"), record) for k, record in enumerate(records)]).comparisons[0]
    assert attached(made, tmp_path, [("dot", drawn(1))]) == ["comet: no scores for additive; general"]


def test_the_terminal_shows_the_metric(comparison, tmp_path):
    attached(comparison, tmp_path)
    out = io.StringIO()
    to_console(comparison, evidence(comparison, samples=0), Console(file=out, width=60))
    (title,) = [line for line in out.getvalue().splitlines() if "BLEU  " in line and "seeds" in line]
    assert "comet" in title and "TER" not in title


def test_rows_may_be_called_by_what_tells_them_apart(comparison, tmp_path):
    assert attached(comparison, tmp_path, [("dot/seed1", drawn(1)), ("dot/seed2", drawn(2))]) != []
    dot = next(row for row in comparison.rows if row.key == DOT)
    np.testing.assert_array_equal(dot.scores["comet"]["2"], drawn(2))


def test_evidence_is_that_of_the_statistics_for_means_of_segments(comparison, tmp_path):
    assert attached(comparison, tmp_path) == []
    dot = comparison.rows[0]
    options = {"samples": 200, "trials": 300, "level": 0.9, "seed": 3}
    measure = score_evidence(comparison, baseline=dot, **options)["comet"]

    # Means and deviations by hand.
    means = [values.mean() for _, values in EVERY[:2]]
    estimate = measure.rows[DOT]
    assert estimate.mean == pytest.approx(np.mean(means)) and estimate.n == 2
    assert estimate.deviation == pytest.approx(np.std(means, ddof=1))
    assert measure.rows[GENERAL].deviation is None

    # Everything else as each row alone has it.
    stats = {
        DOT: np.stack([np.stack([values, np.ones(N)], -1) for _, values in EVERY[:2]]),
        GENERAL: np.stack([EVERY[2][1], np.ones(N)], -1)[None],
    }
    score, draw = mean_score(), {"samples": 200, "level": 0.9, "seed": 3}
    for key, each in stats.items():
        limits = bootstrap.interval(each, score, **draw)
        assert (measure.rows[key].low, measure.rows[key].high) == pytest.approx(limits)
    (test,) = significance.compare(stats, score, baseline=DOT, **options)
    assert measure.tests == [test] and measure.against == {GENERAL: test}
    assert test.delta == pytest.approx(measure.rows[GENERAL].mean - estimate.mean) and test.delta > 0.2

    # Buckets over the words of the source: as many sentences as there are, their plain means.
    buckets = measure.lengths[GENERAL]["source_words"].buckets
    assert [bucket.n for bucket in buckets] == COUNTS
    assert buckets[0].score == pytest.approx(EVERY[2][1][:10].mean())
    assert buckets[1].delta == pytest.approx(
        EVERY[2][1][10:30].mean() - np.mean([v[10:30].mean() for _, v in EVERY[:2]])
    )
    assert buckets[-1].mark == "empty" and buckets[-1].score is None
    line = slope(stats[GENERAL], LENGTHS, score, [10, 20, 30, 40], **draw)
    assert measure.lengths[GENERAL]["source_words"].slope.value == line.value


@pytest.mark.parametrize("shift", [-3.0, 500.0])
def test_a_metric_may_have_any_range(comparison, tmp_path, shift):
    attached(comparison, tmp_path, [(name, scores + shift) for name, scores in EVERY])
    measure = score_evidence(comparison, baseline=comparison.rows[0], samples=100, trials=50)["comet"]
    for found in measure.rows.values():
        assert found.low < found.mean < found.high
    bucket = measure.lengths[GENERAL]["source_words"].buckets[1]
    assert bucket.low < bucket.score < bucket.high


def test_the_same_seed_gives_the_same_numbers_and_no_draws_give_none(comparison, tmp_path):
    attached(comparison, tmp_path)
    first, second = (score_evidence(comparison, pairs=True, samples=50, trials=50) for _ in range(2))
    assert repr(first) == repr(second)
    bare = score_evidence(comparison, baseline=comparison.rows[0], samples=0)["comet"]
    assert bare.tests == [] and bare.rows[DOT].low is None and bare.rows[DOT].mean


def test_rows_without_sentence_statistics_have_no_buckets(comparison, tmp_path):
    attached(comparison, tmp_path)
    comparison.rows[0].segments = {}
    measure = score_evidence(comparison, baseline=comparison.rows[0], samples=50, trials=50)["comet"]
    assert set(measure.lengths) == {GENERAL}
    assert measure.lengths[GENERAL]["source_words"].buckets[0].delta is None


def test_a_metric_is_not_called_as_a_column_of_the_table(comparison, tmp_path):
    own = csv_module.DictReader(io.StringIO(to_csv(comparison, evidence(comparison, samples=0)))).fieldnames
    for name in own:
        with pytest.raises(UserError, match="another"):
            path = saved(tmp_path, table((f"{GENERAL}/seed1", drawn(1))), f"{name}.tsv")
            attach_scores(comparison, read_scores(path))
