"""What the page is given: every field of it, plain, with links and samples that fit."""

import json
import math
import random
from pathlib import Path

import pytest

from attnlab.report import examples, load
from attnlab.report.evidence import evidence
from attnlab.report.payload import _rounded, link, payload

from .recorded import with_sentences

NUMBER, TEXT, LIST, OBJECT = (int, float), str, list, dict
RANGE = [NUMBER, NUMBER]


class Maybe:
    """Null, or this."""

    def __init__(self, kind):
        self.kind = kind


class Every:
    """An object of any keys, with these values."""

    def __init__(self, kind):
        self.kind = kind


ESTIMATE = {"mean": NUMBER, "sd": Maybe(NUMBER), "n": int, "ci": Maybe(RANGE)}
TEST = {
    "delta": NUMBER, "ci": RANGE, "p_bootstrap": NUMBER, "p_randomisation": NUMBER, "p_holm": NUMBER,
    "p_holm_bootstrap": NUMBER, "significant": bool, "one_seed": bool, "seeds": [int, int],
}  # fmt: skip
BUCKET = {
    "label": TEXT, "lo": int, "hi": Maybe(int), "centre": NUMBER, "n": int, "bleu": Maybe(NUMBER),
    "ci": Maybe(RANGE), "delta": Maybe(NUMBER), "delta_ci": Maybe(RANGE), "mark": Maybe(TEXT),
}  # fmt: skip
ROW = {
    "key": TEXT, "kind": TEXT, "controlled": bool, "name": TEXT, "axes": Every(Maybe(TEXT)),
    "origin": Maybe(TEXT), "factors": Every(Maybe(TEXT)), "settings": TEXT,
    "look": {"color": TEXT, "marker": TEXT, "dash": [..., NUMBER], "heavy": bool},
    "runs": [...,
        {"seed": TEXT, "bleu": NUMBER, "chrf": Maybe(NUMBER), "record": Maybe(TEXT), "updates": Maybe(NUMBER),
         "wall_s": Maybe(NUMBER), "commit": Maybe(TEXT), "dirty": Maybe(bool)}
    ],
    "failed": [..., TEXT], "interrupted": [..., TEXT], "missing": [..., TEXT],
    "bleu": Maybe(ESTIMATE), "chrf": Maybe(ESTIMATE), "metrics": Every({**ESTIMATE, "test": Maybe(TEST)}),
    "ter": Maybe(NUMBER), "perplexity": Maybe(NUMBER), "length_ratio": Maybe(NUMBER),
    "aer": Maybe({"predicted": Maybe(NUMBER), "input": Maybe(NUMBER)}), "entropy": Maybe(NUMBER),
    "overrides": Every({"bleu": Maybe(NUMBER), "delta": Maybe(NUMBER), "n": int}),
    "cost": {name: Maybe(NUMBER) for name in
             ("parameters", "attention", "tokens_per_s", "wall_s", "updates", "peak_memory")},
    "test": Maybe(TEST), "differs": [..., TEXT], "confounded": bool,
    "lengths": Every({"buckets": [..., BUCKET], "slope": Maybe({"value": NUMBER, "ci": Maybe(RANGE)})}),
    "curve": [..., [int, Maybe(NUMBER), Maybe(NUMBER)]], "config": OBJECT,
}  # fmt: skip
SAMPLE = {
    "index": int, "source": TEXT, "reference": TEXT, "gold": Maybe(TEXT),
    "rows": Every({"seed": TEXT, "hypothesis": TEXT, "source_pieces": [..., TEXT], "pieces": [..., TEXT],
                   "weights": Maybe([..., [..., NUMBER]])}),
}  # fmt: skip
COMPARISON = {
    "id": TEXT, "label": TEXT, "languages": TEXT, "n": int, "origin": TEXT, "fingerprint": TEXT,
    "signature": TEXT, "chrf_signature": Maybe(TEXT), "baseline": Maybe(TEXT), "level": NUMBER,
    "resamples": int, "trials": int, "seed": int, "varying": [..., TEXT], "constant": Every(TEXT),
    "note_on_tests": TEXT, "notes": [..., TEXT], "files": TEXT, "rows": [..., ROW],
    "tests": [..., {"metric": TEXT, "first": TEXT, "second": TEXT, "differs": [..., TEXT], **TEST}],
    "effects": Maybe({
        "terms": [..., {"factors": [..., TEXT], "df": int, "sum_sq": NUMBER, "F": Maybe(NUMBER),
                        "p": Maybe(NUMBER), "share": Maybe(NUMBER)}],
        "levels": [..., {"factors": [..., TEXT], "options": [..., TEXT], "effect": NUMBER,
                         "low": Maybe(NUMBER), "high": Maybe(NUMBER)}],
        "dropped": [..., TEXT], "n": int, "residual_df": int}),
    "figures": Every(TEXT), "effects_note": TEXT, "samples": [..., SAMPLE], "config_common": OBJECT,
}  # fmt: skip
PAGE = {
    "title": TEXT, "question": Maybe(TEXT), "version": TEXT, "axes": [..., TEXT],
    "palette": {"series": [..., TEXT], "baseline": TEXT, "outside": TEXT}, "notes": [..., TEXT],
    "unscored": [..., TEXT], "anonymous": bool, "anchors": [..., OBJECT], "comparisons": [..., COMPARISON],
}  # fmt: skip


def check(value, kind, where="page"):
    """Every field is there, none besides, each of its kind; a list `[..., kind]` may have any length."""
    if isinstance(kind, Maybe):
        if value is not None:
            check(value, kind.kind, where)
    elif isinstance(kind, Every):
        assert isinstance(value, dict), where
        for key, item in value.items():
            check(item, kind.kind, f"{where}.{key}")
    elif isinstance(kind, dict):
        assert isinstance(value, dict) and set(value) == set(kind), (where, set(value) ^ set(kind))
        for key, inner in kind.items():
            check(value[key], inner, f"{where}.{key}")
    elif isinstance(kind, list):
        assert isinstance(value, list), where
        kinds = [kind[1]] * len(value) if kind[0] is ... else kind
        assert len(kinds) == len(value), where
        for number, (item, inner) in enumerate(zip(value, kinds, strict=True)):
            check(item, inner, f"{where}[{number}]")
    else:
        assert isinstance(value, kind) and (kind is bool or not isinstance(value, bool)), (where, value)
        assert not isinstance(value, float) or math.isfinite(value), where


def sentence(index, words=4):
    pieces = [f"w{k}" for k in range(words)]
    return {
        "index": index, "source": " ".join(pieces), "reference": "r", "hypothesis": "h",
        "source_pieces": pieces, "pieces": ["h", "</s>"], "weights": [[0.25] * words] * 2, "gold": "0-0",
    }  # fmt: skip


@pytest.fixture
def page(measured, tmp_path):
    """The payload of a grid of two axes and two seeds with all that can lie beside a record."""

    def _page(anonymous=False, **options):
        runs = [
            with_sentences(0.5 + 0.1 * a + 0.02 * b, 100 * a + 10 * b + seed, seed=seed, scorer=s, decoder=d)
            for a, s in enumerate(("dot", "general"))
            for b, d in enumerate(("input_feeding", "post_combine"))
            for seed in (1, 2)
        ]
        for record, _ in runs:
            record["data"]["show_samples"] = True
            record["test"]["flickr"]["alignment"] = {"predicted": {"aer": 0.2}, "input": {"aer": 0.9}}
        top = measured(*runs)
        for number, path in enumerate(sorted(top.rglob("result.json"))):
            lines = [{"step": 10, "train/loss": 5.0}, {"step": 20, "val/loss": 2.0, "val/bleu": 3.123456}]
            text = "\n".join(map(json.dumps, lines))
            (path.parent / "metrics.jsonl").write_text(text + "\n{broken", encoding="utf-8")
            samples = json.dumps([sentence(0), sentence(3 + number % 2)])
            (path.parent / "test" / "flickr" / "samples.json").write_text(samples, encoding="utf-8")
        report = load([top])
        made = [evidence(one, samples=50, trials=50, **options) for one in report.comparisons]
        return payload(report, made, tmp_path / "report", anonymous=anonymous)

    return _page


def test_every_field_is_there_and_of_its_kind(page):
    found = page(pairs=True)
    check(found, PAGE)
    (comparison,) = found["comparisons"]
    assert len(comparison["tests"]) == 12 and {one["metric"] for one in comparison["tests"]} == {
        "bleu",
        "chrf",
    }
    assert {len(one["differs"]) for one in comparison["tests"]} == {
        1,
        2,
    }  # of all pairs, not the baseline's only
    assert comparison["effects"] is not None and comparison["varying"] == ["scorer", "decoder"]
    row = comparison["rows"][1]
    assert row["test"] is not None and row["lengths"]["source_pieces"]["slope"] is not None
    assert row["curve"] == [[20, 3.123456, 2.0]] and row["aer"] == {"predicted": 0.2, "input": 0.9}
    assert comparison["baseline"] == comparison["rows"][0]["key"]
    assert {one["look"]["color"] for one in comparison["rows"]} <= set(found["palette"]["series"])


def test_it_is_the_same_each_time_and_valid_json(page):
    first, second = (json.dumps(page(), allow_nan=False) for _ in range(2))
    assert first == second


def test_p_has_the_digits_to_be_rounded_once():
    assert _rounded({"p_holm": 0.0554842, "bleu": 0.12345678}) == {
        "p_holm": 0.0554842, "bleu": 0.123457
    }  # fmt: skip


def test_buckets_are_labelled_for_people(page):
    labels = [
        one["label"] for one in page()["comparisons"][0]["rows"][0]["lengths"]["source_words"]["buckets"]
    ]
    assert labels[0] == "≤10"


def test_floats_are_rounded_but_settings_are_as_they_are(page, tmp_path):
    found = page()

    def floats(value):
        if isinstance(value, dict):
            return [x for key, item in value.items() if not key.startswith("config") for x in floats(item)]
        if isinstance(value, list):
            return [x for item in value for x in floats(item)]
        return [value] if isinstance(value, float) else []

    assert all(round(value, 8) == value for value in floats(found))
    assert found["comparisons"][0]["config_common"]["optim.lr"] == 0.001


def test_a_row_leads_to_its_records(page, tmp_path):
    row = page()["comparisons"][0]["rows"][0]
    for run in row["runs"]:
        assert (tmp_path / "report" / run["record"]).resolve().is_file()
        assert not Path(run["record"]).is_absolute()


def test_an_anonymous_link_does_not_climb_to_the_root(tmp_path):
    near = link(tmp_path / "runs" / "result.json", tmp_path / "report", anonymous=True)
    assert near == "../runs/result.json"
    assert link(Path("/a/b/result.json"), tmp_path, anonymous=True) is None
    assert link(Path("/a/b/result.json"), tmp_path).endswith("/a/b/result.json")


def test_settings_are_told_apart_from_those_that_all_rows_share(make, save, tmp_path):
    report = load([save(make(scorer="a", settings={"lr": 0.1}), make(scorer="b"))])
    (one,) = payload(report, [evidence(one) for one in report.comparisons], tmp_path)["comparisons"]
    assert [row["config"] for row in one["rows"]] == [{"optim.lr": 0.1}, {"optim.lr": 0.001}]
    assert "optim.lr" not in one["config_common"]


def test_samples_are_the_same_sentences_of_every_row_and_only_where_they_may_be_shown(page, measured):
    (comparison,) = page()["comparisons"]
    assert [one["index"] for one in comparison["samples"]] == [0, 3]
    assert set(comparison["samples"][0]["rows"]) == {row["key"] for row in comparison["rows"]}
    assert comparison["samples"][0]["rows"][comparison["baseline"]]["seed"] == "1"
    record, statistics = with_sentences(0.5, 1)
    top = measured((record, statistics), under="closed")
    place = next(top.rglob("segments.npz")).parent
    (place / "samples.json").write_text(json.dumps([sentence(0)]), encoding="utf-8")
    assert examples.examples(load([top]).comparisons[0].rows) == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'[{"index": 0, "source": "\xe9"}]', "cannot be read (UnicodeDecodeError); remove it, and evaluate"),
        (b"{}", "holds no list of samples"),
        *(
            (
                json.dumps([sentence(0), sentence(3) | change]).encode(),
                "1 of 2 samples are not as a run writes",
            )
            for change in (
                {"weights": "x"},
                {"weights": [["x"]]},
                {"weights": [[math.nan]]},
                {"pieces": None},
                {"source": None},
                {"hypothesis": "\ud800"},
                {"index": True},
                {"gold": 5},
            )
        ),
    ],
)
def test_samples_that_the_page_could_not_show_are_left_out_and_told(measured, tmp_path, content, told):
    record, statistics = with_sentences(0.5, 1)
    record["data"]["show_samples"] = True
    top = measured((record, statistics))
    (next(top.rglob("segments.npz")).parent / "samples.json").write_bytes(content)
    report = load([top])
    made = [evidence(one, samples=0) for one in report.comparisons]
    (comparison,) = payload(report, made, tmp_path / "report")["comparisons"]
    assert [one["index"] for one in comparison["samples"]] == ([0] if told.startswith("1 of") else [])
    (note,) = [note for note in comparison["notes"] if "samples.json" in note]
    assert note.startswith("left out: ") and told in note and note in made[0].notes


def test_a_cell_that_is_no_text_has_samples_too(measured, tmp_path):
    record, statistics = with_sentences(0.5, 1)
    record["data"]["show_samples"] = True
    path = next((top := measured((record, statistics))).rglob("result.json"))
    (path.parent / "test" / "flickr" / "samples.json").write_text(json.dumps([sentence(0)]))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"cell_id": "\ud800"}))
    report = load([top])
    made = [evidence(one, samples=0) for one in report.comparisons]
    (comparison,) = payload(report, made, tmp_path / "report")["comparisons"]
    assert [one["index"] for one in comparison["samples"]] == [0]


def test_as_many_sentences_as_fit_and_at_least_one(page, tmp_path, monkeypatch):
    whole = page()["comparisons"][0]["samples"]
    size = len(json.dumps(whole[0], ensure_ascii=False).encode())
    for budget, count in [(1, 1), (size, 1), (3 * size, 2)]:
        monkeypatch.setattr(examples, "BUDGET", budget)
        monkeypatch.setattr(examples.examples, "__defaults__", (budget,))
        assert len(page()["comparisons"][0]["samples"]) == count


def test_one_seed_on_a_side_is_told_and_not_significant(measured, tmp_path):
    runs = [with_sentences(q, k, scorer=name) for k, (q, name) in enumerate([(0.5, "a"), (0.9, "b")])]
    report = load([measured(*runs)])
    made = [evidence(one, samples=50, trials=50) for one in report.comparisons]
    test = payload(report, made, tmp_path)["comparisons"][0]["rows"][1]["test"]
    assert test["one_seed"] and not test["significant"] and test["p_holm"] < 0.05


def test_text_stays_what_it_is(make, save, tmp_path):
    words = "".join(random.Random(1).choices("</>&\"' \u05d0\u4e2d", k=40)).strip()
    report = load([save(make(scorer=words, cell_id="x"), make(scorer="b"))])
    page = payload(report, [evidence(one) for one in report.comparisons], tmp_path)
    assert words in {row["axes"]["scorer"] for row in page["comparisons"][0]["rows"]}
